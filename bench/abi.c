/* Measures the C library: the same work as the engine's cases in rheo-core/benches/ratios.rs, through the real shared
 * library. Prints the median over the rounds, in nanoseconds for one event; bench/run.py sets it against the engine.
 *
 *     abi [ROUNDS]
 *
 * Memory is warmed and reused, as there: freed memory is kept, and each round's stream is deleted before the next.
 */
#define _POSIX_C_SOURCE 200809L

#include "rheo.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVENTS = 200000, BATCH = 100, MOST_ROUNDS = 99 };

static rheo_instance *db;
static rheo_stream *orders;
static rheo_group *billing;
static rheo_batch *batch;
static rheo_fetch_options *fetch_one;
static rheo_fetch_options *fetch_hundred;
static rheo_lease_list *leases;
static rheo_results *results;
static char payload[128];

static void check(rheo_status status, rheo_error *error) {
    if (status == RHEO_OK) {
        return;
    }
    rheo_bytes message = rheo_error_message(error);
    fprintf(stderr, "%s: %.*s\n", rheo_status_name(status), RHEO_PRINT(message));
    exit(EXIT_FAILURE);
}

/* Calls a function whose last argument is the error. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        rheo_error *error = NULL;                                                                                      \
        check((call), error);                                                                                          \
    } while (0)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void fresh_stream(void) {
    CHECK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, &error));
    CHECK(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &error));
    CHECK(rheo_instance_stream(db, RHEO_TEXT("orders"), &orders, &error));
    CHECK(rheo_instance_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), &billing, &error));
}

static void drop_stream(void) {
    rheo_stream_free(orders);
    rheo_group_free(billing);
    CHECK(rheo_instance_delete_stream(db, RHEO_TEXT("orders"), true, &error));
}

static void append_by_name(void) {
    for (int event = 0; event < EVENTS; event++) {
        CHECK(rheo_instance_append(db, RHEO_TEXT("orders"), payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, NULL,
                                   NULL, &error));
    }
}

static void append_bound(void) {
    for (int event = 0; event < EVENTS; event++) {
        CHECK(rheo_stream_append(orders, payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    }
}

static void append_batch(void) {
    for (int event = 0; event < EVENTS; event += BATCH) {
        CHECK(rheo_stream_append_batch(orders, batch, NULL, NULL, &error));
    }
}

static void fetch_ack_by_name(void) {
    for (int event = 0; event < EVENTS; event++) {
        CHECK(rheo_instance_fetch(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), fetch_one, leases, &error));
        CHECK(rheo_instance_ack(db, rheo_lease_list_get(leases, 0), &error));
    }
}

static void fetch_ack_bound(void) {
    for (int event = 0; event < EVENTS; event++) {
        CHECK(rheo_group_fetch(billing, fetch_one, leases, &error));
        CHECK(rheo_instance_ack(db, rheo_lease_list_get(leases, 0), &error));
    }
}

static void fetch_ack_hundred(void) {
    for (int event = 0; event < EVENTS; event += BATCH) {
        CHECK(rheo_group_fetch(billing, fetch_hundred, leases, &error));
        CHECK(rheo_instance_ack_list(db, leases, results, &error));
        if (rheo_results_failed(results) != 0) {
            fputs("a lease was not acked\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
}

struct bench {
    const char *name;
    void (*run)(void);
    bool filled;
    double samples[MOST_ROUNDS];
};

static struct bench benches[] = {
    {"c_append_by_name", append_by_name, false, {0}},  {"c_append_bound", append_bound, false, {0}},
    {"c_append_batch_100", append_batch, false, {0}},  {"c_fetch_ack_by_name", fetch_ack_by_name, true, {0}},
    {"c_fetch_ack_bound", fetch_ack_bound, true, {0}}, {"c_fetch_100_ack_many", fetch_ack_hundred, true, {0}},
};

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 9;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "rounds: 1 to %d\n", MOST_ROUNDS);
        return EXIT_FAILURE;
    }
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    memset(payload, 'x', sizeof payload);
    CHECK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    CHECK(rheo_batch_new(&batch, &error));
    for (int event = 0; event < BATCH; event++) {
        CHECK(rheo_batch_add(batch, payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, &error));
    }
    CHECK(rheo_fetch_options_new(&fetch_one, &error));
    CHECK(rheo_fetch_options_set_limit(fetch_one, 1, &error));
    CHECK(rheo_fetch_options_new(&fetch_hundred, &error));
    CHECK(rheo_fetch_options_set_limit(fetch_hundred, BATCH, &error));
    CHECK(rheo_lease_list_new(&leases, &error));
    CHECK(rheo_results_new(&results, &error));

    size_t count = sizeof benches / sizeof *benches;
    /* The first round touches memory for the first time and does not count. */
    for (int round = 0; round <= rounds; round++) {
        for (size_t index = 0; index < count; index++) {
            fresh_stream();
            if (benches[index].filled) {
                append_batch();
            }
            double started = now();
            benches[index].run();
            double nanos = (now() - started) / EVENTS;
            if (round > 0) {
                benches[index].samples[round - 1] = nanos;
            }
            drop_stream();
        }
    }
    for (size_t index = 0; index < count; index++) {
        qsort(benches[index].samples, (size_t)rounds, sizeof(double), compare);
        printf("%s\t%.1f\n", benches[index].name, benches[index].samples[rounds / 2]);
    }

    rheo_results_free(results);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(fetch_hundred);
    rheo_fetch_options_free(fetch_one);
    rheo_batch_free(batch);
    rheo_instance_free(db);
    return EXIT_SUCCESS;
}
