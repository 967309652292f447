/*
 * The hook as a C program sees it: what it hears of each call, from several threads, and when what it was given is
 * freed. What is told when is for rheo-core's own tests. Returns non-zero at the first deviation.
 */

#include <pthread.h>
#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == RHEO_OK)

enum { THREADS = 4, APPENDS = 1000 };

/* What a hook keeps: how much it heard by name, and of what came last. Threads come at once. */
struct heard {
    pthread_mutex_t lock;
    uint64_t counts[RHEO_TELEMETRY_GROUP_RESET + 1];
    uint64_t failed;
    uint64_t timed;
    rheo_status error;
    char text[64];
    rheo_instance *calls_back;
    int freed;
};

static void hear(const rheo_telemetry_event *event, void *context) {
    struct heard *heard = context;
    rheo_telemetry_name name = rheo_telemetry_event_name(event);
    rheo_bytes group = rheo_telemetry_event_group(event);
    uint32_t partition = 7;
    uint64_t nanos = 7;
    bool has_partition = rheo_telemetry_event_partition(event, &partition);

    CHECK(name >= RHEO_TELEMETRY_APPEND && name <= RHEO_TELEMETRY_GROUP_RESET);
    CHECK(has_partition == (name == RHEO_TELEMETRY_GROUP_FRONTIER) && partition == 0);
    CHECK(has_partition == rheo_telemetry_event_partition(event, NULL));

    pthread_mutex_lock(&heard->lock);
    heard->counts[name] += rheo_telemetry_event_count(event);
    heard->failed += rheo_telemetry_event_failed(event);
    heard->timed += rheo_telemetry_event_duration(event, &nanos);
    heard->error = rheo_telemetry_event_error(event);
    snprintf(heard->text, sizeof heard->text, "%s %.*s %.*s", rheo_telemetry_name_text(name),
             RHEO_PRINT(rheo_telemetry_event_stream(event)), RHEO_PRINT(group));
    rheo_instance *calls_back = heard->calls_back;
    heard->calls_back = NULL;
    pthread_mutex_unlock(&heard->lock);
    /* No lock of the library's is held. */
    if (calls_back != NULL)
        OK(rheo_instance_create_stream(calls_back, RHEO_TEXT("from-the-hook"), NULL, NULL));
}

static void forget(void *context) {
    ((struct heard *)context)->freed++;
}

static void *append_many(void *db) {
    for (int i = 0; i < APPENDS; i++)
        OK(rheo_instance_append(db, RHEO_TEXT("orders"), "x", 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, NULL));
    return NULL;
}

static void a_hook_hears_of_the_work(void) {
    struct heard heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    rheo_options *options;
    rheo_instance *db;
    OK(rheo_options_new(&options, NULL));
    OK(rheo_options_set_telemetry(options, hear, &heard, forget, true, NULL));
    OK(rheo_instance_open(RHEO_TEXT("memory:"), options, &db, NULL));
    rheo_options_free(options);
    CHECK(heard.freed == 0);

    heard.calls_back = db;
    OK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL));
    CHECK(heard.counts[RHEO_TELEMETRY_STREAM_CREATE] == 2);
    OK(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, NULL));
    CHECK(strcmp(heard.text, "group.create orders billing") == 0);

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, append_many, db) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(heard.counts[RHEO_TELEMETRY_APPEND] == THREADS * APPENDS && heard.timed == THREADS * APPENDS);
    CHECK(strcmp(heard.text, "append orders ") == 0 && heard.error == RHEO_OK);

    rheo_lease_list *leases;
    OK(rheo_lease_list_new(&leases, NULL));
    OK(rheo_instance_fetch(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, leases, NULL));
    const rheo_lease *lease = rheo_lease_list_get(leases, 0);
    OK(rheo_instance_ack(db, lease, NULL));
    CHECK(rheo_instance_ack(db, lease, NULL) == RHEO_ERROR_STALE_LEASE);
    CHECK(heard.counts[RHEO_TELEMETRY_LEASE] == 10 && heard.counts[RHEO_TELEMETRY_ACK] == 1 && heard.failed == 1);
    CHECK(heard.error == RHEO_ERROR_STALE_LEASE && strcmp(heard.text, "ack orders billing") == 0);
    rheo_lease_list_free(leases);

    rheo_lag *lag;
    OK(rheo_instance_lag(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, 0, &lag, NULL));
    CHECK(heard.counts[RHEO_TELEMETRY_GROUP_FRONTIER] == 1);
    rheo_lag_free(lag);

    /* What was made from the instance keeps it, and so the hook. */
    rheo_stream *orders;
    OK(rheo_instance_stream(db, RHEO_TEXT("orders"), &orders, NULL));
    rheo_instance_free(db);
    CHECK(heard.freed == 0);
    OK(rheo_stream_append(orders, "x", 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, NULL));
    CHECK(heard.counts[RHEO_TELEMETRY_APPEND] == THREADS * APPENDS + 1);
    rheo_stream_free(orders);
    CHECK(heard.freed == 1);
}

static void a_context_is_freed_once(void) {
    struct heard first = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct heard second = {.lock = PTHREAD_MUTEX_INITIALIZER};
    rheo_error *error;
    CHECK(rheo_options_set_telemetry(NULL, hear, &first, forget, true, &error) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(first.freed == 0);
    rheo_error_free(error);

    rheo_options *options;
    OK(rheo_options_new(&options, NULL));
    OK(rheo_options_set_telemetry(options, hear, &first, forget, false, NULL));
    OK(rheo_options_set_telemetry(options, hear, &second, forget, false, NULL));
    CHECK(first.freed == 1 && second.freed == 0);
    OK(rheo_options_set_telemetry(options, NULL, &first, forget, false, NULL));
    CHECK(first.freed == 2 && second.freed == 1);

    OK(rheo_options_set_telemetry(options, hear, &second, NULL, false, NULL));
    rheo_instance *db;
    OK(rheo_instance_open(RHEO_TEXT("memory:"), options, &db, NULL));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL));
    append_many(db);
    CHECK(second.counts[RHEO_TELEMETRY_APPEND] == APPENDS && second.timed == 0);
    rheo_instance_free(db);
    rheo_options_free(options);
    CHECK(first.freed == 2 && second.freed == 1);
}

int main(void) {
    a_hook_hears_of_the_work();
    a_context_is_freed_once();
    return 0;
}
