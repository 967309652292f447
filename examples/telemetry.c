/*
 * Telemetry: a hook that counts what an instance does, by name, with the time that the spans took.
 *
 * The hook runs on the thread of each operation, so on several at once: what it changes is atomic. It sees names and
 * numbers, never payloads. docs/telemetry.md lists all events.
 *
 * prints: append: 3 events
 * prints: fetch: 3 events
 * prints: ack: 2 events, 1 failed
 * prints: all spans were timed: yes
 */

#include <rheo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 64 };

struct metrics {
    atomic_ullong count[NAMES], failed[NAMES], nanos[NAMES];
};

static void hear(const rheo_telemetry_event *event, void *context) {
    struct metrics *metrics = context;
    rheo_telemetry_name name = rheo_telemetry_event_name(event);
    uint64_t nanos;
    if (name >= NAMES)
        return; /* of a library newer than this program */
    atomic_fetch_add(&metrics->count[name], rheo_telemetry_event_count(event));
    atomic_fetch_add(&metrics->failed[name], rheo_telemetry_event_failed(event));
    if (rheo_telemetry_event_duration(event, &nanos))
        atomic_fetch_add(&metrics->nanos[name], nanos);
}

static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%s\n", rheo_status_name(status));
        exit(1);
    }
}

int main(void) {
    struct metrics *metrics = calloc(1, sizeof *metrics);
    rheo_options *options;
    rheo_instance *db;
    rheo_lease_list *leases;
    ok(rheo_options_new(&options, NULL));
    /* The library frees the metrics when nothing calls the hook any more. With false instead of true spans are not
     * timed, which makes the hook cheaper. */
    ok(rheo_options_set_telemetry(options, hear, metrics, free, true, NULL));
    ok(rheo_instance_open(RHEO_TEXT("memory:"), options, &db, NULL));

    ok(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL));
    ok(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, NULL));
    for (int i = 0; i < 3; i++)
        ok(rheo_instance_append(db, RHEO_TEXT("orders"), "1", 1, RHEO_ENCODING_JSON, NULL, NULL, NULL, NULL));
    ok(rheo_lease_list_new(&leases, NULL));
    ok(rheo_instance_fetch(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, leases, NULL));
    ok(rheo_instance_ack(db, rheo_lease_list_get(leases, 0), NULL));
    ok(rheo_instance_ack(db, rheo_lease_list_get(leases, 1), NULL));
    if (rheo_instance_ack(db, rheo_lease_list_get(leases, 0), NULL) != RHEO_ERROR_STALE_LEASE)
        return 1; /* settled twice: the fence holds */

    printf("append: %llu events\n", atomic_load(&metrics->count[RHEO_TELEMETRY_APPEND]));
    printf("fetch: %llu events\n", atomic_load(&metrics->count[RHEO_TELEMETRY_FETCH]));
    printf("ack: %llu events, %llu failed\n", atomic_load(&metrics->count[RHEO_TELEMETRY_ACK]),
           atomic_load(&metrics->failed[RHEO_TELEMETRY_ACK]));
    printf("all spans were timed: %s\n", atomic_load(&metrics->nanos[RHEO_TELEMETRY_FETCH]) > 0 ? "yes" : "no");
    rheo_lease_list_free(leases);
    rheo_instance_free(db);
    rheo_options_free(options);
    return 0;
}
