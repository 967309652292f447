/*
 * The C library from C: one pass through every noun of rheo.h, with the results checked, and handles freed in the most
 * awkward order. Returns non-zero at the first deviation.
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A call that has to succeed; `error` is its last argument. */
#define OK(call) succeeded((call), &error, #call, __LINE__)

static void succeeded(rheo_status status, rheo_error **error, const char *call, int line) {
    if (status != RHEO_OK || *error != NULL) {
        fprintf(stderr, "%s:%d: %s\n  gave %s: %.*s\n", __FILE__, line, call, rheo_status_name(status),
                RHEO_PRINT(rheo_error_message(*error)));
        exit(1);
    }
}

/* A call that has to fail with this status; `error` is its last argument. */
#define FAILS(expected, call) failed((expected), (call), &error, #call, __LINE__)

static void failed(rheo_status expected, rheo_status status, rheo_error **error, const char *call, int line) {
    if (status != expected || rheo_error_code(*error) != expected || rheo_error_message(*error).len == 0) {
        fprintf(stderr, "%s:%d: %s\n  gave %d, not %d\n", __FILE__, line, call, (int)status, (int)expected);
        exit(1);
    }
    rheo_error_free(*error);
    *error = NULL;
}

static bool is(rheo_bytes bytes, const char *text) {
    return bytes.data != NULL && bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static rheo_instance *open_with_manual_clock(const char *name) {
    rheo_error *error = NULL;
    rheo_options *options;
    rheo_instance *db;
    OK(rheo_options_new(&options, &error));
    OK(rheo_options_set_clock_start(options, 1000000, &error));
    OK(rheo_options_set(options, RHEO_TEXT("default_lease_ms"), RHEO_TEXT("500"), &error));
    if (name != NULL)
        OK(rheo_options_set_name(options, RHEO_TEXT(name), &error));
    OK(rheo_instance_open(RHEO_TEXT("memory:"), options, &db, &error));
    rheo_options_free(options);
    return db;
}

static void versions_and_features(void) {
    CHECK(strcmp(rheo_version(), RHEO_VERSION) == 0);
    CHECK(rheo_abi_version() == RHEO_ABI_VERSION && RHEO_ABI_MATCHES());
    CHECK(rheo_has_feature(RHEO_TEXT("memory")) && !rheo_has_feature(RHEO_TEXT("punch-cards")));
    CHECK(strcmp(rheo_status_name(RHEO_ERROR_STALE_LEASE), "stale_lease") == 0);
    CHECK(rheo_status_settle_class(RHEO_ERROR_STALE_LEASE) == RHEO_SETTLE_LOST);
    CHECK(rheo_status_retriable(RHEO_ERROR_AMBIGUOUS) == RHEO_RETRIABLE_WITH_SAME_ID);
}

static void instances(void) {
    rheo_error *error = NULL;
    rheo_instance *db = open_with_manual_clock("smoke"), *again, *same;
    rheo_options *options;
    OK(rheo_options_new(&options, &error));
    OK(rheo_options_set_name(options, RHEO_TEXT("smoke"), &error));
    FAILS(RHEO_ERROR_ALREADY_EXISTS, rheo_instance_open(RHEO_TEXT("memory:"), options, &again, &error));
    CHECK(again == NULL);
    rheo_options_free(options);
    FAILS(RHEO_ERROR_UNSUPPORTED, rheo_instance_open(RHEO_TEXT("redis://nowhere"), NULL, &again, &error));

    OK(rheo_instance_get(RHEO_TEXT("smoke"), &same, &error));
    CHECK(is(rheo_instance_name(same), "smoke"));
    OK(rheo_instance_get(RHEO_TEXT("nobody"), &again, &error));
    CHECK(again == NULL);

    int64_t now;
    OK(rheo_instance_ping(db, &error));
    OK(rheo_instance_ensure_indexes(db, &error));
    OK(rheo_instance_advance_clock(db, 5, NULL, &error));
    OK(rheo_instance_now(same, &now, &error));
    CHECK(now == 1005000);

    rheo_capabilities *capabilities;
    bool fencing;
    OK(rheo_instance_capabilities(db, &capabilities, &error));
    OK(rheo_capabilities_guarantee(capabilities, RHEO_TEXT("lease_fencing"), &fencing, &error));
    CHECK(fencing);
    FAILS(RHEO_ERROR_INVALID_ARGUMENT, rheo_capabilities_guarantee(capabilities, RHEO_TEXT("luck"), &fencing, &error));
    size_t known = 0;
    for (size_t i = 0; i < rheo_capabilities_mechanisms_len(capabilities); i++) {
        rheo_bytes name = rheo_capabilities_mechanism_name(capabilities, i);
        bool used;
        OK(rheo_capabilities_mechanism(capabilities, (const char *)name.data, name.len, &used, &error));
        known++;
    }
    CHECK(known == 8 && rheo_capabilities_guarantees_len(capabilities) == 11);
    CHECK(is(rheo_capabilities_guarantee_name(capabilities, 0), "durable"));
    rheo_capabilities_free(capabilities);

    OK(rheo_instance_close(db, &error));
    OK(rheo_instance_close(same, &error));
    CHECK(rheo_instance_is_closed(same));
    FAILS(RHEO_ERROR_CLOSED, rheo_instance_ping(same, &error));
    rheo_instance_free(db);
    rheo_instance_free(same);
}

static void log_and_queries(void) {
    rheo_error *error = NULL;
    rheo_instance *db = open_with_manual_clock(NULL);
    rheo_stream_options *stream_options;
    OK(rheo_stream_options_new(&stream_options, &error));
    OK(rheo_stream_options_set_partition_count(stream_options, 4, &error));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), stream_options, &error));
    FAILS(RHEO_ERROR_ALREADY_EXISTS, rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, &error));
    OK(rheo_stream_options_set_partition_count(stream_options, 70000, &error));
    FAILS(RHEO_ERROR_INVALID_PARTITION_COUNT,
          rheo_instance_create_stream(db, RHEO_TEXT("more"), stream_options, &error));
    rheo_stream_options_free(stream_options);

    rheo_stream *orders;
    OK(rheo_instance_stream(db, RHEO_TEXT("orders"), &orders, &error));
    CHECK(is(rheo_stream_name(orders), "orders"));
    rheo_append_options *options;
    OK(rheo_append_options_new(&options, &error));
    OK(rheo_append_options_set_id(options, RHEO_TEXT("first"), &error));
    OK(rheo_append_options_set_key(options, RHEO_TEXT("foobar"), &error));
    OK(rheo_append_options_set_type(options, RHEO_TEXT("placed"), &error));
    OK(rheo_append_options_set_metadata(options, RHEO_TEXT("{\"producer\":\"c\"}"), &error));
    OK(rheo_append_options_set_timestamp(options, -5, &error));
    for (int time = 0; time < 2; time++) {
        rheo_position position;
        rheo_event *event;
        OK(rheo_stream_append(orders, RHEO_TEXT("{\"total\":12}"), RHEO_ENCODING_JSON, options, &position, &event,
                              &error));
        CHECK(position.partition == 2 && position.sequence == 1 && position.deduplicated == (time == 1));
        CHECK(is(rheo_event_id(event), "first") && is(rheo_event_stream(event), "orders"));
        CHECK(rheo_event_partition(event) == 2 && rheo_event_sequence(event) == 1);
        CHECK(is(rheo_event_key(event), "foobar") && is(rheo_event_type(event), "placed"));
        CHECK(is(rheo_event_metadata(event), "{\"producer\":\"c\"}") && rheo_event_timestamp(event) == -5);
        CHECK(is(rheo_event_payload(event), "{\"total\":12}") && rheo_event_encoding(event) == RHEO_ENCODING_JSON);
        CHECK(rheo_event_deduplicated(event) == (time == 1));
        rheo_event_free(event);
    }

    /* The rest as a batch; appended twice, for without ids it is appended again. */
    rheo_batch *batch;
    rheo_event_list *events;
    OK(rheo_batch_new(&batch, &error));
    OK(rheo_event_list_new(&events, &error));
    rheo_append_options_clear(options, NULL);
    OK(rheo_append_options_set_partition(options, 2, &error));
    OK(rheo_batch_add(batch, RHEO_TEXT("{\"total\":1}"), RHEO_ENCODING_JSON, NULL, &error));
    OK(rheo_batch_add(batch, NULL, 0, RHEO_ENCODING_BYTES, NULL, &error));
    CHECK(rheo_batch_len(batch) == 2);
    OK(rheo_stream_append_batch(orders, batch, options, events, &error));
    OK(rheo_instance_append_batch(db, RHEO_TEXT("orders"), batch, options, NULL, &error));
    CHECK(rheo_event_list_len(events) == 2 && rheo_event_list_get(events, 2) == NULL);
    const rheo_event *last = rheo_event_list_get(events, 1);
    CHECK(rheo_event_sequence(last) == 3 && rheo_event_payload(last).len == 0 && rheo_event_payload(last).data != NULL);
    CHECK(rheo_event_key(last).data == NULL && rheo_event_id(last).len == 36);
    CHECK(rheo_event_id(last).data == rheo_event_id(last).data);
    rheo_event *kept, *found;
    OK(rheo_event_clone(last, &kept, &error));
    OK(rheo_batch_clear(batch, &error));
    CHECK(rheo_batch_len(batch) == 0);
    rheo_batch_free(batch);
    rheo_append_options_free(options);

    OK(rheo_stream_read(orders, 2, 1, 100, events, &error));
    CHECK(rheo_event_list_len(events) == 4);
    FAILS(RHEO_ERROR_INVALID_PARTITION, rheo_stream_read(orders, 4, 0, 100, events, &error));
    CHECK(rheo_event_list_len(events) == 0);
    OK(rheo_stream_get_event(orders, (const char *)rheo_event_id(kept).data, rheo_event_id(kept).len, &found, &error));
    CHECK(found != NULL && rheo_event_sequence(found) == 3);
    rheo_event_free(found);
    OK(rheo_instance_get_event(db, RHEO_TEXT("orders"), RHEO_TEXT("none"), &found, &error));
    CHECK(found == NULL);

    rheo_query *query;
    OK(rheo_query_new(&query, &error));
    OK(rheo_query_set_where(query, RHEO_TEXT("{\"total\":{\"gte\":1}}"), &error));
    OK(rheo_query_add_order_by(query, RHEO_ORDER_FIELD_SEQUENCE, RHEO_DIRECTION_DESC, &error));
    OK(rheo_stream_query(orders, query, events, &error));
    CHECK(rheo_event_list_len(events) == 3 && rheo_event_sequence(rheo_event_list_get(events, 0)) == 4);
    rheo_query_free(query);

    /* Pages of two, each with the cursor that lies in the list that it fills. */
    OK(rheo_query_new(&query, &error));
    OK(rheo_query_set_limit(query, 2, &error));
    size_t seen = 0;
    rheo_bytes cursor = {NULL, 0};
    do {
        OK(rheo_stream_query_page(orders, query, (const char *)cursor.data, cursor.len, events, &error));
        seen += rheo_event_list_len(events);
        cursor = rheo_event_list_next_cursor(events);
    } while (cursor.data != NULL);
    CHECK(seen == 5);

    rheo_event_iterator *iterator;
    const rheo_event *next;
    OK(rheo_instance_query_stream(db, RHEO_TEXT("orders"), query, &iterator, &error));
    for (seen = 0;; seen++) {
        OK(rheo_event_iterator_next(iterator, &next, &error));
        if (next == NULL)
            break;
        CHECK(rheo_event_sequence(next) == seen + 1);
    }
    CHECK(seen == 5);
    rheo_query_free(query);

    rheo_trim_options *trim;
    uint64_t removed;
    OK(rheo_trim_options_new(&trim, &error));
    OK(rheo_trim_options_set_before_sequence_in(trim, 2, 3, &error));
    OK(rheo_stream_trim(orders, trim, &removed, &error));
    CHECK(removed == 2);
    rheo_trim_options_free(trim);

    rheo_stream_info *info;
    rheo_partition_info partition;
    OK(rheo_stream_get_info(orders, &info, &error));
    CHECK(rheo_stream_info_len(info) == 4 && is(rheo_stream_info_stream(info), "orders"));
    OK(rheo_stream_info_get(info, 2, &partition, &error));
    CHECK(partition.first_sequence == 3 && partition.high_watermark == 5 && partition.held_by.data == NULL);
    FAILS(RHEO_ERROR_INVALID_ARGUMENT, rheo_stream_info_get(info, 4, &partition, &error));
    rheo_stream_info_free(info);

    rheo_name_list *names;
    OK(rheo_instance_list_streams(db, &names, &error));
    CHECK(rheo_name_list_len(names) == 1 && is(rheo_name_list_get(names, 0), "orders"));
    CHECK(rheo_name_list_get(names, 1).data == NULL);

    /* The instance first, and what lives on it afterwards. */
    rheo_instance_free(db);
    CHECK(!rheo_instance_is_closed(rheo_stream_instance(orders)));
    rheo_event_list_free(events);
    CHECK(is(rheo_event_stream(kept), "orders"));
    OK(rheo_stream_delete(orders, true, &error));
    rheo_stream_free(orders);
    rheo_event_iterator_free(iterator);
    CHECK(rheo_event_sequence(kept) == 3);
    rheo_event_free(kept);
    rheo_name_list_free(names);
}

static void append_numbers(const rheo_instance *db, int count) {
    rheo_error *error = NULL;
    for (int i = 0; i < count; i++) {
        char payload[16];
        int len = snprintf(payload, sizeof payload, "%d", i);
        OK(rheo_instance_append(db, RHEO_TEXT("work"), payload, (size_t)len, RHEO_ENCODING_JSON, NULL, NULL, NULL,
                                &error));
    }
}

static void delivery(void) {
    rheo_error *error = NULL;
    rheo_instance *db = open_with_manual_clock(NULL);
    OK(rheo_instance_create_stream(db, RHEO_TEXT("work"), NULL, &error));
    rheo_group_options *group_options;
    OK(rheo_group_options_new(&group_options, &error));
    OK(rheo_group_options_set_max_attempts(group_options, 2, &error));
    OK(rheo_group_options_set_ordering(group_options, RHEO_ORDERING_NONE, &error));
    OK(rheo_instance_create_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), group_options, &error));
    rheo_group_options_free(group_options);
    append_numbers(db, 8);

    rheo_group *group;
    rheo_lease_list *leases;
    rheo_results *results;
    rheo_fetch_options *options;
    OK(rheo_instance_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), &group, &error));
    CHECK(is(rheo_group_name(group), "group") && is(rheo_group_stream_name(group), "work"));
    OK(rheo_lease_list_new(&leases, &error));
    OK(rheo_results_new(&results, &error));
    OK(rheo_fetch_options_new(&options, &error));
    OK(rheo_fetch_options_set_limit(options, 5, &error));
    OK(rheo_fetch_options_set_consumer_id(options, RHEO_TEXT("me"), &error));
    OK(rheo_group_fetch(group, options, leases, &error));
    CHECK(rheo_lease_list_len(leases) == 5 && rheo_lease_list_get(leases, 5) == NULL);

    const rheo_lease *lease = rheo_lease_list_get(leases, 0);
    CHECK(rheo_lease_id(lease).len == 32 && rheo_lease_attempt(lease) == 1 && rheo_lease_ms(lease) == 500);
    CHECK(is(rheo_lease_stream(lease), "work") && is(rheo_lease_group(lease), "group"));
    CHECK(is(rheo_lease_consumer_id(lease), "me") && rheo_lease_receipt(lease).len == 32);
    CHECK(rheo_lease_expires_at(lease) == rheo_lease_leased_at(lease) + 500000);
    CHECK(is(rheo_event_payload(rheo_lease_event(lease)), "0"));
    CHECK(rheo_lease_token(lease).data == rheo_lease_token(lease).data);

    /* One of each settle: by lease, by token, by a lease that outlives its list. */
    int64_t expires_at, lease_ms = 2000;
    OK(rheo_instance_renew(db, lease, &lease_ms, &expires_at, &error));
    CHECK(expires_at == 1000000 + 2000000);
    rheo_group *stranger;
    OK(rheo_instance_group(db, RHEO_TEXT("work"), RHEO_TEXT("stranger"), &stranger, &error));
    FAILS(RHEO_ERROR_STALE_LEASE, rheo_group_ack(stranger, lease, &error));
    rheo_group_free(stranger);
    OK(rheo_group_ack(group, lease, &error));
    FAILS(RHEO_ERROR_STALE_LEASE, rheo_instance_ack(rheo_group_instance(group), lease, &error));
    rheo_bytes token = rheo_lease_token(rheo_lease_list_get(leases, 1));
    OK(rheo_instance_retry_token(db, (const char *)token.data, token.len, RHEO_TEXT("busy"), 100, &error));
    FAILS(RHEO_ERROR_INVALID_ARGUMENT, rheo_instance_ack_token(db, RHEO_TEXT("rheo1.nonsense"), &error));
    rheo_lease *kept;
    OK(rheo_lease_clone(rheo_lease_list_get(leases, 2), &kept, &error));
    /* Neither NULL nor bad UTF-8 keeps a settle from being done. */
    OK(rheo_instance_reject(db, rheo_lease_list_get(leases, 3), "bad \xff", 5, &error));
    OK(rheo_instance_release(db, rheo_lease_list_get(leases, 4), &error));

    OK(rheo_group_fetch(group, options, leases, &error));
    CHECK(rheo_lease_list_len(leases) == 4 &&
          rheo_event_sequence(rheo_lease_event(rheo_lease_list_get(leases, 0))) == 5);
    CHECK(rheo_lease_attempt(rheo_lease_list_get(leases, 0)) == 1);
    OK(rheo_instance_reject(db, kept, NULL, 0, &error));

    /* Many: an array with one lease twice, then the whole list. */
    const rheo_lease *twice[] = {rheo_lease_list_get(leases, 0), rheo_lease_list_get(leases, 0)};
    OK(rheo_instance_ack_many(db, twice, 2, results, &error));
    CHECK(rheo_results_len(results) == 2 && rheo_results_failed(results) == 1);
    CHECK(rheo_results_status(results, 0) == RHEO_OK && rheo_results_error(results, 0) == NULL);
    CHECK(rheo_results_status(results, 1) == RHEO_ERROR_STALE_LEASE);
    CHECK(rheo_error_settle_class(rheo_results_error(results, 1)) == RHEO_SETTLE_LOST);
    rheo_error *copy;
    CHECK(rheo_error_clone(rheo_results_error(results, 1), &copy) == RHEO_OK);
    OK(rheo_instance_renew_list(db, leases, NULL, results, &error));
    CHECK(rheo_results_len(results) == 4 && rheo_results_failed(results) == 1);
    CHECK(rheo_results_expires_at(results, 0) == 0 && rheo_results_expires_at(results, 1) == 1500000);
    CHECK(is(rheo_error_name(copy), "stale_lease") && rheo_error_cause(copy).data == NULL);
    CHECK(rheo_error_retriable(copy) == RHEO_RETRIABLE_NO);
    rheo_error_free(copy);
    OK(rheo_instance_ack_list(db, leases, results, &error));
    CHECK(rheo_results_failed(results) == 1);

    /* The second attempt of the retried one is its last. */
    OK(rheo_instance_advance_clock(db, 100, NULL, &error));
    OK(rheo_instance_fetch(db, RHEO_TEXT("work"), RHEO_TEXT("group"), NULL, leases, &error));
    CHECK(rheo_lease_list_len(leases) == 1 && rheo_lease_attempt(rheo_lease_list_get(leases, 0)) == 2);
    OK(rheo_instance_retry_list(db, leases, RHEO_TEXT("again"), 0, results, &error));
    CHECK(rheo_results_failed(results) == 0);

    rheo_dead_letter_list *letters;
    OK(rheo_group_dead_letters(group, NULL, &letters, &error));
    CHECK(rheo_dead_letter_list_len(letters) == 3 && rheo_dead_letter_list_get(letters, 3) == NULL);
    const rheo_dead_letter *letter = rheo_dead_letter_list_get(letters, 2);
    CHECK(rheo_event_sequence(rheo_dead_letter_event(letter)) == 4 && is(rheo_dead_letter_group(letter), "group"));
    CHECK(is(rheo_dead_letter_reason(letter), "bad \xef\xbf\xbd") && rheo_dead_letter_attempt(letter) == 1);
    CHECK(rheo_dead_letter_dead_lettered_at(letter) == 1000000);

    rheo_group_info *info;
    int64_t oldest = 1;
    OK(rheo_group_get_info(group, NULL, 0, &info, &error));
    CHECK(rheo_group_info_dead_letter_count(info) == 3 && rheo_group_info_inflight_count(info) == 0);
    CHECK(rheo_group_info_available_count(info) == 0 && rheo_group_info_delayed_count(info) == 0);
    CHECK(!rheo_group_info_oldest_unsettled_at(info, &oldest) && oldest == 0);
    CHECK(rheo_group_info_max_attempts(info) == 2 && rheo_group_info_max_deliveries(info) == 0);
    CHECK(rheo_group_info_ordering(info) == RHEO_ORDERING_NONE && rheo_lag_total(rheo_group_info_lag(info)) == 0);
    rheo_group_info_free(info);

    uint64_t count;
    rheo_bytes id = rheo_event_id(rheo_dead_letter_event(letter));
    OK(rheo_group_discard_dead_letters(group, &id, 1, &count, &error));
    CHECK(count == 1);
    rheo_replay_options *replay;
    OK(rheo_replay_options_new(&replay, &error));
    FAILS(RHEO_ERROR_INVALID_REPLAY_OPTS, rheo_group_replay(group, replay, &count, &error));
    id = rheo_event_id(rheo_dead_letter_event(rheo_dead_letter_list_get(letters, 0)));
    OK(rheo_replay_options_add_event_id(replay, (const char *)id.data, id.len, &error));
    OK(rheo_group_replay(group, replay, &count, &error));
    CHECK(count == 1);
    rheo_replay_options_free(replay);
    OK(rheo_group_discard_all_dead_letters(group, &count, &error));
    CHECK(count == 1);

    rheo_lag *lag;
    rheo_partition_lag partition;
    OK(rheo_group_lag(group, NULL, 0, &lag, &error));
    OK(rheo_lag_get(lag, 0, &partition, &error));
    CHECK(rheo_lag_len(lag) == 1 && partition.frontier == 1 && partition.high_watermark == 8 && partition.lag == 7);
    rheo_lag_free(lag);

    rheo_update_options *update;
    OK(rheo_update_options_new(&update, &error));
    OK(rheo_update_options_set_max_deliveries(update, 9, &error));
    OK(rheo_group_update(group, update, &error));
    rheo_update_options_free(update);
    rheo_reset_options *reset;
    OK(rheo_reset_options_new(&reset, &error));
    FAILS(RHEO_ERROR_CONFIRM_REQUIRED, rheo_group_reset(group, reset, &error));
    OK(rheo_reset_options_set_confirm(reset, true, &error));
    OK(rheo_reset_options_set_start_after(reset, 6, &error));
    OK(rheo_group_reset(group, reset, &error));
    rheo_reset_options_free(reset);
    OK(rheo_group_fetch(group, options, leases, &error));
    CHECK(rheo_lease_list_len(leases) == 2);

    /* The instance and the group first; the lease's bytes stay. */
    rheo_instance_free(db);
    rheo_group_free(group);
    CHECK(is(rheo_event_payload(rheo_lease_event(rheo_lease_list_get(leases, 0))), "6"));
    rheo_lease_list_free(leases);
    CHECK(is(rheo_event_payload(rheo_lease_event(kept)), "2"));
    rheo_lease_free(kept);
    rheo_dead_letter_list_free(letters);
    rheo_results_free(results);
    rheo_fetch_options_free(options);
}

/* A fetch that would wait for an hour, in a thread of its own. */
struct wait {
    const rheo_group *group;
    const rheo_interrupt *interrupt;
    rheo_status status;
    size_t fetched;
};

static void *waits(void *argument) {
    struct wait *wait = argument;
    rheo_error *error = NULL;
    rheo_fetch_options *options;
    rheo_lease_list *leases;
    OK(rheo_fetch_options_new(&options, &error));
    OK(rheo_fetch_options_set_wait_ms(options, 3600000, &error));
    OK(rheo_fetch_options_set_interrupt(options, wait->interrupt, &error));
    OK(rheo_lease_list_new(&leases, &error));
    wait->status = rheo_group_fetch(wait->group, options, leases, NULL);
    wait->fetched = rheo_lease_list_len(leases);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(options);
    return NULL;
}

static void waiting(void) {
    rheo_error *error = NULL;
    rheo_instance *db;
    rheo_group *group;
    rheo_interrupt *interrupt;
    pthread_t thread;
    OK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("work"), NULL, &error));
    OK(rheo_instance_create_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), NULL, &error));
    OK(rheo_instance_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), &group, &error));
    OK(rheo_interrupt_new(&interrupt, &error));

    /* An append, an interrupt and a close each end the wait, whether it has begun or not. */
    struct wait wait = {group, interrupt, -1, 99};
    CHECK(pthread_create(&thread, NULL, waits, &wait) == 0);
    append_numbers(db, 1);
    CHECK(pthread_join(thread, NULL) == 0 && wait.status == RHEO_OK && wait.fetched == 1);

    CHECK(pthread_create(&thread, NULL, waits, &wait) == 0);
    OK(rheo_interrupt_fire(interrupt, &error));
    CHECK(pthread_join(thread, NULL) == 0 && wait.status == RHEO_OK && wait.fetched == 0);
    CHECK(rheo_interrupt_is_fired(interrupt));
    OK(rheo_interrupt_reset(interrupt, &error));

    CHECK(pthread_create(&thread, NULL, waits, &wait) == 0);
    OK(rheo_instance_close(db, &error));
    CHECK(pthread_join(thread, NULL) == 0 && wait.status == RHEO_ERROR_CLOSED && wait.fetched == 0);
    rheo_interrupt_free(interrupt);
    rheo_group_free(group);
    rheo_instance_free(db);
}

/* Everything that lives on an instance, freed in many orders; what is left is read after each free. */
static void frees_in_any_order(void) {
    enum { KINDS = 10 };
    for (int order = 0; order < 2 * KINDS; order++) {
        rheo_error *error = NULL;
        rheo_instance *db = open_with_manual_clock(NULL);
        OK(rheo_instance_create_stream(db, RHEO_TEXT("work"), NULL, &error));
        OK(rheo_instance_create_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), NULL, &error));
        append_numbers(db, 3);
        rheo_stream *stream;
        rheo_group *group;
        rheo_lease_list *leases;
        rheo_event_list *events;
        rheo_lease *lease;
        rheo_event *event;
        rheo_dead_letter_list *letters;
        rheo_event_iterator *iterator;
        const rheo_event *next;
        rheo_results *results;
        OK(rheo_instance_stream(db, RHEO_TEXT("work"), &stream, &error));
        OK(rheo_instance_group(db, RHEO_TEXT("work"), RHEO_TEXT("group"), &group, &error));
        OK(rheo_lease_list_new(&leases, &error));
        OK(rheo_group_fetch(group, NULL, leases, &error));
        OK(rheo_lease_clone(rheo_lease_list_get(leases, 1), &lease, &error));
        OK(rheo_event_clone(rheo_lease_event(lease), &event, &error));
        OK(rheo_event_list_new(&events, &error));
        OK(rheo_stream_read(stream, 0, 0, 9, events, &error));
        OK(rheo_instance_reject(db, rheo_lease_list_get(leases, 0), NULL, 0, &error));
        OK(rheo_group_dead_letters(group, NULL, &letters, &error));
        OK(rheo_stream_query_stream(stream, NULL, &iterator, &error));
        OK(rheo_event_iterator_next(iterator, &next, &error));
        OK(rheo_results_new(&results, &error));
        OK(rheo_instance_ack_list(db, leases, results, &error));
        for (int i = 0; i < KINDS; i++) {
            int which = order < KINDS ? (order + i) % KINDS : (2 * KINDS + order - i) % KINDS;
            /* A handle that is freed becomes NULL, which is fine wherever something is only read. */
            switch (which) {
            case 0:
                rheo_instance_free(db), db = NULL;
                break;
            case 1:
                rheo_stream_free(stream), stream = NULL;
                break;
            case 2:
                rheo_group_free(group), group = NULL;
                break;
            case 3:
                rheo_lease_list_free(leases), leases = NULL;
                break;
            case 4:
                rheo_event_list_free(events), events = NULL;
                break;
            case 5:
                rheo_lease_free(lease), lease = NULL;
                break;
            case 6:
                rheo_event_free(event), event = NULL;
                break;
            case 7:
                rheo_dead_letter_list_free(letters), letters = NULL;
                break;
            case 8:
                rheo_event_iterator_free(iterator), iterator = NULL;
                break;
            case 9:
                rheo_results_free(results), results = NULL;
                break;
            }
            CHECK(db == NULL || rheo_instance_ping(db, NULL) == RHEO_OK);
            CHECK(stream == NULL || rheo_instance_ping(rheo_stream_instance(stream), NULL) == RHEO_OK);
            CHECK(group == NULL || is(rheo_group_name(group), "group"));
            CHECK(leases == NULL || is(rheo_event_payload(rheo_lease_event(rheo_lease_list_get(leases, 2))), "2"));
            CHECK(events == NULL || is(rheo_event_payload(rheo_event_list_get(events, 2)), "2"));
            CHECK(lease == NULL || rheo_lease_token(lease).len > 0);
            CHECK(event == NULL || rheo_event_id(event).len == 36);
            const rheo_dead_letter *letter = rheo_dead_letter_list_get(letters, 0);
            CHECK(letters == NULL || is(rheo_event_payload(rheo_dead_letter_event(letter)), "0"));
            CHECK(iterator == NULL || rheo_event_iterator_next(iterator, &next, NULL) == RHEO_OK);
            CHECK(results == NULL || rheo_error_message(rheo_results_error(results, 0)).len > 0);
        }
    }
}

static void forking(void) {
    rheo_error *error = NULL;
    rheo_instance *db;
    OK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    pid_t child = fork();
    CHECK(child >= 0);
    /* The child does not free its handle only because valgrind minds that what is behind it stays. */
    if (child == 0)
        _exit(rheo_instance_ping(db, NULL) == RHEO_ERROR_FORKED ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(rheo_instance_ping(db, &error));
    rheo_instance_free(db);
}

int main(void) {
    versions_and_features();
    instances();
    log_and_queries();
    delivery();
    waiting();
    frees_in_any_order();
    forking();
    return 0;
}
