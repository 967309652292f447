/*
 * What a C program can get wrong, and what it gets for it: NULL, bad UTF-8, unknown enum values, lengths that overflow,
 * absurd limits, payloads over the limit, a lease of another store, a forged token, a handle used after close. Each
 * gives a named error and loses nothing. (The test of rheo-ffi calls every function with every kind of garbage; here it
 * is seen from C, under valgrind.) Returns non-zero at the first deviation.
 */

#include <limits.h>
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

/* A call that has to answer with this status, and with an error that says the same and something more. */
#define GIVES(expected, call)                                                                                          \
    do {                                                                                                               \
        rheo_error *error = (rheo_error *)(uintptr_t)1;                                                                \
        rheo_status status = (call);                                                                                   \
        if (status != (expected) || rheo_error_code(error) != (expected) ||                                            \
            ((expected) == RHEO_OK) != (rheo_error_message(error).len == 0)) {                                         \
            fprintf(stderr, "%s:%d: %s\n  gave %d, not %d\n", __FILE__, __LINE__, #call, (int)status,                  \
                    (int)(expected));                                                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
        rheo_error_free(error);                                                                                        \
    } while (0)

#define OK(call) GIVES(RHEO_OK, call)
#define INVALID(call) GIVES(RHEO_ERROR_INVALID_ARGUMENT, call)

/* No handle: the readers give nothing, the frees do nothing, the rest says invalid_argument. */
static void null_handles(void) {
    CHECK(rheo_event_id(NULL).data == NULL && rheo_event_sequence(NULL) == 0 && rheo_lease_event(NULL) == NULL);
    CHECK(rheo_lease_list_len(NULL) == 0 && rheo_lease_list_get(NULL, 0) == NULL);
    CHECK(rheo_results_error(NULL, 0) == NULL && rheo_error_code(NULL) == RHEO_OK && rheo_lag_total(NULL) == 0);
    CHECK(rheo_status_name(12345) == NULL && !rheo_has_feature(NULL, SIZE_MAX));
    rheo_error_free(NULL);
    rheo_options_free(NULL);
    rheo_instance_free(NULL);
    rheo_stream_free(NULL);
    rheo_group_free(NULL);
    rheo_batch_free(NULL);
    rheo_event_free(NULL);
    rheo_lease_free(NULL);
    rheo_lease_list_free(NULL);
    rheo_results_free(NULL);
    INVALID(rheo_instance_open(RHEO_TEXT("memory:"), NULL, NULL, &error));
    INVALID(rheo_instance_ping(NULL, &error));
    INVALID(rheo_stream_append(NULL, "x", 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    INVALID(rheo_group_fetch(NULL, NULL, NULL, &error));
    INVALID(rheo_lease_list_new(NULL, &error));
    /* Without a place for the error there is still the status. */
    CHECK(rheo_instance_ping(NULL, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
}

static void bad_arguments(const rheo_instance *db, const rheo_stream *stream) {
    rheo_instance *instance = NULL;
    INVALID(rheo_instance_open(RHEO_TEXT("no url"), NULL, &instance, &error));
    INVALID(rheo_instance_open(RHEO_TEXT("memory:somewhere"), NULL, &instance, &error));
    INVALID(rheo_instance_create_stream(db, NULL, 0, NULL, &error));
    INVALID(rheo_instance_create_stream(db, NULL, 3, NULL, &error));
    INVALID(rheo_instance_create_stream(db, RHEO_TEXT(""), NULL, &error));
    INVALID(rheo_instance_create_stream(db, RHEO_TEXT("line\nbreak"), NULL, &error));
    INVALID(rheo_instance_create_stream(db, "\xc3\x28", 2, NULL, &error));
    INVALID(rheo_instance_create_stream(db, "x", SIZE_MAX, NULL, &error));
    INVALID(rheo_instance_create_stream(db, "x", SIZE_MAX / 2, NULL, &error));
    GIVES(RHEO_ERROR_STREAM_NOT_FOUND,
          rheo_instance_list_groups(db, RHEO_TEXT("elsewhere"), &(rheo_name_list *){0}, &error));

    INVALID(rheo_stream_append(stream, NULL, 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    INVALID(rheo_stream_append(stream, "x", SIZE_MAX, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    GIVES(RHEO_ERROR_PAYLOAD_TOO_LARGE,
          rheo_stream_append(stream, "x", SIZE_MAX / 2, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    INVALID(rheo_stream_append(stream, "x", 1, 999, NULL, NULL, NULL, &error));

    rheo_event_list *events;
    OK(rheo_event_list_new(&events, &error));
    INVALID(rheo_stream_read(stream, 0, 0, -1, events, &error));
    OK(rheo_stream_read(stream, 0, UINT64_MAX, INT64_MAX, events, &error));
    GIVES(RHEO_ERROR_INVALID_PARTITION, rheo_stream_read(stream, UINT32_MAX, 0, 1, events, &error));
    INVALID(rheo_stream_query_page(stream, NULL, RHEO_TEXT("no cursor"), events, &error));
    rheo_event_list_free(events);
}

static void bad_options(const rheo_instance *db, const rheo_stream *stream) {
    rheo_append_options *append;
    OK(rheo_append_options_new(&append, &error));
    INVALID(rheo_append_options_set_id(append, "\xff", 1, &error));
    INVALID(rheo_append_options_set(append, RHEO_TEXT("colour"), RHEO_TEXT("red"), &error));
    GIVES(RHEO_ERROR_INVALID_PARTITION,
          rheo_append_options_set(append, RHEO_TEXT("partition"), RHEO_TEXT("-1"), &error));
    OK(rheo_append_options_set_metadata(append, RHEO_TEXT("[]"), &error));
    INVALID(rheo_stream_append(stream, "x", 1, RHEO_ENCODING_BYTES, append, NULL, NULL, &error));
    OK(rheo_append_options_clear(append, &error));
    OK(rheo_append_options_set_partition(append, 70000, &error));
    GIVES(RHEO_ERROR_INVALID_PARTITION,
          rheo_stream_append(stream, "x", 1, RHEO_ENCODING_BYTES, append, NULL, NULL, &error));
    rheo_append_options_free(append);

    rheo_batch *batch;
    OK(rheo_batch_new(&batch, &error));
    GIVES(RHEO_ERROR_PAYLOAD_TOO_LARGE, rheo_batch_add(batch, "x", SIZE_MAX / 2, RHEO_ENCODING_BYTES, NULL, &error));
    for (int i = 0; i < 10000; i++)
        OK(rheo_batch_add(batch, NULL, 0, RHEO_ENCODING_BYTES, NULL, &error));
    INVALID(rheo_batch_add(batch, NULL, 0, RHEO_ENCODING_BYTES, NULL, &error));
    CHECK(rheo_batch_len(batch) == 10000);
    rheo_batch_free(batch);

    rheo_fetch_options *fetch;
    rheo_lease_list *leases;
    OK(rheo_fetch_options_new(&fetch, &error));
    OK(rheo_lease_list_new(&leases, &error));
    INVALID(rheo_fetch_options_set_limit(fetch, -1, &error));
    OK(rheo_fetch_options_set_limit(fetch, INT64_MAX, &error));
    INVALID(rheo_instance_fetch(db, RHEO_TEXT("s"), RHEO_TEXT("g"), fetch, leases, &error));
    OK(rheo_fetch_options_set_limit(fetch, 1, &error));
    OK(rheo_fetch_options_set_lease_ms(fetch, 0, &error));
    INVALID(rheo_instance_fetch(db, RHEO_TEXT("s"), RHEO_TEXT("g"), fetch, leases, &error));
    OK(rheo_fetch_options_set_lease_ms(fetch, 1, &error));
    INVALID(rheo_fetch_options_set_partitions(fetch, NULL, 1, &error));
    INVALID(rheo_fetch_options_set_partitions(fetch, &(uint32_t){0}, SIZE_MAX, &error));
    OK(rheo_fetch_options_set_partitions(fetch, &(uint32_t){7}, 1, &error));
    GIVES(RHEO_ERROR_INVALID_PARTITION, rheo_instance_fetch(db, RHEO_TEXT("s"), RHEO_TEXT("g"), fetch, leases, &error));
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(fetch);

    rheo_query *query;
    OK(rheo_query_new(&query, &error));
    INVALID(rheo_query_set_where(query, RHEO_TEXT("{\"total\":{\"resembles\":1}}"), &error));
    INVALID(rheo_query_add_order_by(query, 7, RHEO_DIRECTION_ASC, &error));
    INVALID(rheo_query_set_limit(query, -1, &error));
    rheo_query_free(query);
}

/* Leases that are not what they seem settle nothing. */
static void bad_leases(const rheo_instance *db, const rheo_instance *other) {
    rheo_lease_list *leases;
    rheo_results *results;
    OK(rheo_lease_list_new(&leases, &error));
    OK(rheo_results_new(&results, &error));
    OK(rheo_instance_fetch(db, RHEO_TEXT("s"), RHEO_TEXT("g"), NULL, leases, &error));
    CHECK(rheo_lease_list_len(leases) == 1);
    const rheo_lease *lease = rheo_lease_list_get(leases, 0);
    const rheo_lease *with_null[] = {lease, NULL};

    INVALID(rheo_instance_ack(db, NULL, &error));
    INVALID(rheo_instance_ack_many(db, with_null, 2, results, &error));
    INVALID(rheo_instance_ack_many(db, NULL, 2, results, &error));
    INVALID(rheo_instance_ack_many(db, with_null, SIZE_MAX, results, &error));
    INVALID(rheo_instance_ack_list(db, leases, NULL, &error));
    INVALID(rheo_instance_retry(db, lease, NULL, 0, -1, &error));
    INVALID(rheo_instance_renew(db, lease, &(int64_t){0}, NULL, &error));
    INVALID(rheo_instance_renew(db, lease, &(int64_t){INT64_MAX}, NULL, &error));

    /* Another store with the same names knows no such lease. */
    GIVES(RHEO_ERROR_STALE_LEASE, rheo_instance_ack(other, lease, &error));

    /* A token with one character changed, one cut off, and one that never was. */
    rheo_bytes token = rheo_lease_token(lease);
    char *forged = malloc(token.len);
    CHECK(forged != NULL);
    memcpy(forged, token.data, token.len);
    forged[10] = forged[10] == 'A' ? 'B' : 'A';
    INVALID(rheo_instance_ack_token(db, forged, token.len, &error));
    INVALID(rheo_instance_ack_token(db, (const char *)token.data, token.len - 1, &error));
    INVALID(rheo_instance_release_token(db, RHEO_TEXT("rheo1."), &error));
    INVALID(rheo_instance_release_token(db, NULL, 0, &error));

    /* Among many tokens a bad one is bad in its place. */
    rheo_bytes tokens[] = {{(uint8_t *)forged, token.len}, token, {NULL, 5}};
    OK(rheo_instance_renew_tokens(db, tokens, 3, NULL, results, &error));
    CHECK(rheo_results_len(results) == 3 && rheo_results_failed(results) == 2);
    CHECK(rheo_results_status(results, 0) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_results_status(results, 1) == RHEO_OK && rheo_results_expires_at(results, 1) > 0);
    CHECK(rheo_results_status(results, 2) == RHEO_ERROR_INVALID_ARGUMENT);
    free(forged);

    /* After all that the lease is as good as new; and a reason that is no text at all does not keep it from settling.
     */
    OK(rheo_instance_retry_list(db, leases, NULL, SIZE_MAX, 0, results, &error));
    CHECK(rheo_results_len(results) == 1 && rheo_results_failed(results) == 0);
    GIVES(RHEO_ERROR_STALE_LEASE, rheo_instance_ack(db, lease, &error));
    rheo_results_free(results);
    rheo_lease_list_free(leases);
}

static void after_close(const rheo_instance *db, const rheo_stream *stream) {
    OK(rheo_instance_close(db, &error));
    rheo_position position = {1, 1, true};
    GIVES(RHEO_ERROR_CLOSED, rheo_stream_append(stream, "x", 1, RHEO_ENCODING_BYTES, NULL, &position, NULL, &error));
    CHECK(position.sequence == 0 && position.partition == 0 && !position.deduplicated);
    GIVES(RHEO_ERROR_CLOSED, rheo_instance_list_streams(db, &(rheo_name_list *){0}, &error));
    OK(rheo_instance_close(db, &error));
}

static rheo_instance *open_store(void) {
    rheo_instance *db;
    OK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("s"), NULL, &error));
    OK(rheo_instance_create_group(db, RHEO_TEXT("s"), RHEO_TEXT("g"), NULL, &error));
    OK(rheo_instance_append(db, RHEO_TEXT("s"), "x", 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    return db;
}

int main(void) {
    rheo_instance *db = open_store(), *other = open_store();
    rheo_stream *stream;
    OK(rheo_instance_stream(db, RHEO_TEXT("s"), &stream, &error));
    null_handles();
    bad_arguments(db, stream);
    bad_options(db, stream);
    bad_leases(db, other);
    after_close(db, stream);
    rheo_instance_free(other);
    rheo_instance_free(db);
    rheo_stream_free(stream);
    return 0;
}
