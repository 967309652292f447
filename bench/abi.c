/* Measures the C library: the same work as the engine's cases in rheo-core/benches/ratios.rs, through the real shared
 * library. Prints the median over the rounds, in nanoseconds for one event, and with `_cold` behind the name the time
 * in memory that the process had not touched before; bench/run.py sets them against the engine and against Redis.
 *
 *     abi [ROUNDS]
 *
 * In the rounds memory is warmed and reused, as there: freed memory is kept, and each stream is deleted before the
 * next.
 */
#define _POSIX_C_SOURCE 200809L

#include "rheo.h"
#include "rounds.h"

#include <malloc.h>
#include <pthread.h>
#include <string.h>

enum { EVENTS = 200000, BATCH = 100 };

static rheo_instance *db;
/* The stream that is measured, and its handles. */
static const char *name;
static size_t name_len;
static rheo_stream *orders;
static rheo_group *billing;
static rheo_batch *batch;
static rheo_fetch_options *fetch_one;
static rheo_fetch_options *fetch_hundred;
static rheo_lease_list *leases;
static rheo_results *results;
static rheo_consumer_options *by_hundred;
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

static void append_by_name(int events) {
    for (int event = 0; event < events; event++) {
        CHECK(rheo_instance_append(db, name, name_len, payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, NULL, NULL,
                                   &error));
    }
}

static void append_bound(int events) {
    for (int event = 0; event < events; event++) {
        CHECK(rheo_stream_append(orders, payload, sizeof payload, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    }
}

static void append_batch(int events) {
    for (int event = 0; event < events; event += BATCH) {
        CHECK(rheo_stream_append_batch(orders, batch, NULL, NULL, &error));
    }
}

static void fetch_ack_by_name(int events) {
    for (int event = 0; event < events; event++) {
        CHECK(rheo_instance_fetch(db, name, name_len, RHEO_TEXT("billing"), fetch_one, leases, &error));
        CHECK(rheo_instance_ack(db, rheo_lease_list_get(leases, 0), &error));
    }
}

static void fetch_ack_bound(int events) {
    for (int event = 0; event < events; event++) {
        CHECK(rheo_group_fetch(billing, fetch_one, leases, &error));
        CHECK(rheo_instance_ack(db, rheo_lease_list_get(leases, 0), &error));
    }
}

static void fetch_ack_hundred(int events) {
    for (int event = 0; event < events; event += BATCH) {
        CHECK(rheo_group_fetch(billing, fetch_hundred, leases, &error));
        CHECK(rheo_instance_ack_list(db, leases, results, &error));
        if (rheo_results_failed(results) != 0) {
            fputs("a lease was not acked\n", stderr);
            exit(EXIT_FAILURE);
        }
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
/* Only a handler changes it, and there is one at a time. */
static int left;

static rheo_status do_nothing(rheo_work *work, void *unused) {
    (void)unused;
    left -= (int)rheo_work_len(work);
    if (left == 0) {
        pthread_mutex_lock(&lock);
        pthread_cond_signal(&ended);
        pthread_mutex_unlock(&lock);
    }
    return RHEO_OK;
}

/* From the start of a consumer to the settle of the last event. */
static void consume(int events, const rheo_consumer_options *options) {
    rheo_consumer *consumer;
    pthread_mutex_lock(&lock);
    left = events;
    CHECK(rheo_group_consumer(billing, options, do_nothing, NULL, NULL, &consumer, &error));
    pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
    CHECK(rheo_consumer_close(consumer, 30000, &error));
    rheo_consumer_free(consumer);
}

static void consume_one_by_one(int events) {
    consume(events, NULL);
}

static void consume_hundred(int events) {
    consume(events, by_hundred);
}

static struct bench benches[] = {
    {"c_append_by_name", EVENTS, false, append_by_name, 0, {0}},
    {"c_append_bound", EVENTS, false, append_bound, 0, {0}},
    {"c_append_batch_100", EVENTS, false, append_batch, 0, {0}},
    {"c_fetch_ack_by_name", EVENTS, true, fetch_ack_by_name, 0, {0}},
    {"c_fetch_ack_bound", EVENTS, true, fetch_ack_bound, 0, {0}},
    {"c_fetch_100_ack_many", EVENTS, true, fetch_ack_hundred, 0, {0}},
    {"c_consumer", EVENTS, true, consume_one_by_one, 0, {0}},
    {"c_consumer_batch_100", EVENTS, true, consume_hundred, 0, {0}},
};

static void free_handles(void) {
    rheo_stream_free(orders);
    rheo_group_free(billing);
    orders = NULL;
    billing = NULL;
}

static void set_up(const char *stream, const struct bench *bench) {
    free_handles();
    name = stream;
    name_len = strlen(name);
    CHECK(rheo_instance_create_stream(db, name, name_len, NULL, &error));
    CHECK(rheo_instance_create_group(db, name, name_len, RHEO_TEXT("billing"), NULL, &error));
    CHECK(rheo_instance_stream(db, name, name_len, &orders, &error));
    CHECK(rheo_instance_group(db, name, name_len, RHEO_TEXT("billing"), &billing, &error));
    if (bench->filled) {
        append_batch(bench->events);
    }
}

static void take_down(const char *stream) {
    free_handles();
    CHECK(rheo_instance_delete_stream(db, RHEO_TEXT(stream), true, &error));
}

static void keep_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
}

int main(int argc, char **argv) {
    int rounds = rounds_from(argc > 1 ? argv[1] : "9");
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
    CHECK(rheo_consumer_options_new(&by_hundred, &error));
    CHECK(rheo_consumer_options_set_batch_size(by_hundred, BATCH, &error));

    measure(benches, sizeof benches / sizeof *benches, rounds, set_up, take_down, keep_memory);

    rheo_consumer_options_free(by_hundred);
    rheo_results_free(results);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(fetch_hundred);
    rheo_fetch_options_free(fetch_one);
    rheo_batch_free(batch);
    rheo_instance_free(db);
    return EXIT_SUCCESS;
}
