/* Measures what a consumer costs that has nothing to do: how soon an idle one is woken by an append, how many threads two
 * hundred of them have besides their handlers', and how much time of the processor idle ones and a thousand idle producers
 * use. Prints a name and a value in each line: nanoseconds, a number of threads, and millionths of a core.
 *
 *     consumers [APPENDS]
 */
#define _POSIX_C_SOURCE 200809L

#include "rheo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONSUMERS = 200, PRODUCERS = 1000, WARM_UP = 500, IDLE_SECONDS = 3 };

static rheo_instance *db;

#define OK(call) check((call), #call)

static void check(rheo_status status, const char *call) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%s: %s\n", call, rheo_status_name(status));
        exit(EXIT_FAILURE);
    }
}

static int64_t nanos(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pause_for(int64_t for_nanos) {
    struct timespec time = {for_nanos / 1000000000, for_nanos % 1000000000};
    nanosleep(&time, NULL);
}

/* When the handler was entered; 0 until then. */
static _Atomic int64_t entered;

static rheo_status note(rheo_work *work, void *unused) {
    (void)work, (void)unused;
    entered = nanos(CLOCK_MONOTONIC);
    return RHEO_OK;
}

static int compare(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static rheo_consumer *start(void) {
    rheo_consumer *consumer;
    OK(rheo_instance_consumer(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, note, NULL, NULL, &consumer, NULL));
    return consumer;
}

static void stop(rheo_consumer *consumer) {
    OK(rheo_consumer_close(consumer, 30000, NULL));
    rheo_consumer_free(consumer);
}

/* From before the append to the handler's entry. Between two appends the consumer has time to fall asleep. */
static void measure_wake_up(int appends) {
    int64_t *samples = calloc((size_t)appends, sizeof *samples);
    rheo_consumer *consumer = start();
    char payload[128];
    memset(payload, 'x', sizeof payload);
    for (int at = -WARM_UP; at < appends; at++) {
        pause_for(500000);
        entered = 0;
        int64_t begin = nanos(CLOCK_MONOTONIC);
        OK(rheo_instance_append(db, RHEO_TEXT("orders"), payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, NULL, NULL,
                                NULL));
        while (entered == 0)
            pause_for(50000); /* not spinning: the handler may need this core */
        if (at >= 0)
            samples[at] = entered - begin;
    }
    stop(consumer);
    qsort(samples, (size_t)appends, sizeof *samples, compare);
    static const struct {
        const char *name;
        double share;
    } percentiles[] = {{"50", 0.5}, {"90", 0.9}, {"99", 0.99}, {"99.9", 0.999}};
    for (size_t at = 0; at < sizeof percentiles / sizeof *percentiles; at++)
        printf("wake_up_p%s\t%lld\n", percentiles[at].name,
               (long long)samples[(int)(percentiles[at].share * (appends - 1))]);
    printf("wake_up_max\t%lld\n", (long long)samples[appends - 1]);
    free(samples);
}

static int threads(void) {
    char line[200];
    int count = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        sscanf(line, "Threads: %d", &count);
    if (status != NULL)
        fclose(status);
    return count;
}

/* What the process uses of a core while nothing is to be done, in millionths. */
static double idle_use(void) {
    pause_for(200000000); /* what has just been started comes to rest */
    int64_t used = nanos(CLOCK_PROCESS_CPUTIME_ID), begin = nanos(CLOCK_MONOTONIC);
    pause_for((int64_t)IDLE_SECONDS * 1000000000);
    used = nanos(CLOCK_PROCESS_CPUTIME_ID) - used;
    return (double)used / (double)(nanos(CLOCK_MONOTONIC) - begin) * 1e6;
}

int main(int argc, char **argv) {
    int appends = argc > 1 ? atoi(argv[1]) : 5000;
    if (appends < 1000) {
        fprintf(stderr, "appends: 1000 or more, for the rarest percentile\n");
        return EXIT_FAILURE;
    }
    OK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, NULL));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL));
    OK(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, NULL));
    measure_wake_up(appends);

    static rheo_consumer *consumers[CONSUMERS];
    for (int n = 0; n < CONSUMERS; n++)
        consumers[n] = start();
    printf("consumers_200_use\t%.1f\n", idle_use());
    printf("consumers_200_threads\t%d\n", threads() - 1 - CONSUMERS); /* this one and the handlers' */
    for (int n = 0; n < CONSUMERS; n++)
        stop(consumers[n]);

    static rheo_producer *producers[PRODUCERS];
    for (int n = 0; n < PRODUCERS; n++)
        OK(rheo_instance_producer(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &producers[n], NULL));
    printf("producers_1000_use\t%.1f\n", idle_use());
    for (int n = 0; n < PRODUCERS; n++)
        rheo_producer_free(producers[n]);
    rheo_instance_free(db);
    return EXIT_SUCCESS;
}
