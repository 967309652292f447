/*
 * rheo.h - event streams with consumer groups under fenced leases, for C and C++.
 *
 * Generated from rheo-ffi/src/c by `make header`: change it there.
 *
 * Rheo keeps append-only streams of events, split into partitions, and lets groups of consumers take events under
 * leases. A lease ends by a settle (ack, retry, reject, release) or by expiry; an expired one is fenced off as soon
 * as another consumer holds the event. Delivery is at-least-once; order holds within a partition.
 *
 * A first program, without its error handling:
 *
 *     rheo_instance *db;
 *     rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, NULL);
 *     rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL);
 *     rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, NULL);
 *     rheo_instance_append(db, RHEO_TEXT("orders"), RHEO_TEXT("{\"total\":12.5}"), RHEO_ENCODING_JSON,
 *                          NULL, NULL, NULL, NULL);
 *
 *     rheo_lease_list *leases;
 *     rheo_lease_list_new(&leases, NULL);
 *     rheo_instance_fetch(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, leases, NULL);
 *     for (size_t i = 0; i < rheo_lease_list_len(leases); i++) {
 *         const rheo_lease *lease = rheo_lease_list_get(leases, i);
 *         rheo_bytes payload = rheo_event_payload(rheo_lease_event(lease));
 *         printf("%.*s\n", RHEO_PRINT(payload));
 *         rheo_instance_ack(db, lease, NULL);
 *     }
 *     rheo_lease_list_free(leases);
 *     rheo_instance_free(db);
 *
 * CONVENTIONS
 *
 * Names. Functions are rheo_NOUN_VERB and take the noun first. Types are rheo_NOUN, constants RHEO_...
 *
 * Status. A function that can fail returns a rheo_status: RHEO_OK, or the number of an error. "There is nothing" is
 * RHEO_OK with a count of 0, an empty list or a NULL output. Where a function names its statuses, these may come as
 * well: RHEO_ERROR_INVALID_ARGUMENT for any argument that is malformed; RHEO_ERROR_CLOSED for an instance that was
 * closed; RHEO_ERROR_FORKED in a process that was forked off after the instance was opened; with stores outside this
 * process RHEO_ERROR_BACKEND_UNAVAILABLE, RHEO_ERROR_FAILED, RHEO_ERROR_AMBIGUOUS and RHEO_ERROR_TIMEOUT; and
 * RHEO_ERROR_INTERNAL, which is a bug of the library. No function ends the program.
 *
 * Errors. The last parameter may be NULL. Otherwise it is set to NULL, and when the function fails to an error that
 * the caller frees with rheo_error_free. Errors are values: there is no "last error" of a thread.
 *
 * Outputs. They are set to NULL or 0 at the start and written only on success. Those that may be NULL are said to.
 *
 * Ownership. What a function writes to a `T **out` is the caller's, to be freed with that type's _free; handles may
 * be freed in any order, for each keeps alive what it needs. A `const T *` that a function returns belongs to the
 * handle it came from. So does what a rheo_bytes points to: it lives until that handle is freed or filled again, and
 * is never passed to free(). A view may be given to any function but one that fills the handle it came from (the
 * cursor of a page excepted). Every _free takes NULL. Closing (which may fail, and flushes) is apart from freeing.
 *
 * Texts and bytes come in as pointer and length, are not kept, and need no NUL at the end. NULL is allowed with
 * length 0 only. Texts are UTF-8. RHEO_TEXT gives both arguments for a NUL-terminated string.
 *
 * Numbers. Times are microseconds since the Unix epoch, UTC; durations are milliseconds, at most ten years. Counts,
 * limits and durations are signed, so that a negative one is an error and not a large one. Constants of a kind cross
 * as integers and are checked.
 *
 * Options are handles with setters; NULL means that nothing is set. They are read by the call and can serve many.
 *
 * Threads. Each type says who may use it. "One thread at a time" means: not two at once; which thread does not
 * matter. Functions wait only where they say so, or where the store is not in this process. Nothing here may be
 * called from a signal handler.
 *
 * NULL for a handle is an error where there is a status; a function that only reads something gives 0, NULL or an
 * empty view for it.
 */

#ifndef RHEO_H
#define RHEO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The version that a program is compiled against; `rheo_version` gives the one it runs with. */
#define RHEO_VERSION "0.1.0"
#define RHEO_VERSION_MAJOR 0 /**< The first number of RHEO_VERSION. */
#define RHEO_VERSION_MINOR 1 /**< The second. */
#define RHEO_VERSION_PATCH 0 /**< The third. */

/** The version of the ABI, as in `librheo.so.0`; `rheo_abi_version` gives the one of the library. */
#define RHEO_ABI_VERSION 0

/** Whether the library that is loaded fits this header. To be asked once, at the start; when it does not, stop. */
#define RHEO_ABI_MATCHES() (rheo_abi_version() == RHEO_ABI_VERSION)

/** The two arguments for a NUL-terminated string: pointer and length. Evaluates `text` twice. */
#define RHEO_TEXT(text) (text), strlen(text)

/** The two arguments for %.*s of printf, from a rheo_bytes. Evaluates `bytes` twice. */
#define RHEO_PRINT(bytes) (int)(bytes).len, (const char *)(bytes).data

#ifdef __cplusplus
extern "C" {
#endif

/* The handles, each documented in its section. */
typedef struct rheo_error rheo_error;
typedef struct rheo_options rheo_options;
typedef struct rheo_telemetry_event rheo_telemetry_event;
typedef struct rheo_instance rheo_instance;
typedef struct rheo_results rheo_results;
typedef struct rheo_stream rheo_stream;
typedef struct rheo_group rheo_group;
typedef struct rheo_producer rheo_producer;
typedef struct rheo_work rheo_work;
typedef struct rheo_consumer rheo_consumer;
typedef struct rheo_stream_options rheo_stream_options;
typedef struct rheo_group_options rheo_group_options;
typedef struct rheo_update_options rheo_update_options;
typedef struct rheo_append_options rheo_append_options;
typedef struct rheo_batch rheo_batch;
typedef struct rheo_query rheo_query;
typedef struct rheo_trim_options rheo_trim_options;
typedef struct rheo_fetch_options rheo_fetch_options;
typedef struct rheo_producer_options rheo_producer_options;
typedef struct rheo_consumer_options rheo_consumer_options;
typedef struct rheo_interrupt rheo_interrupt;
typedef struct rheo_dead_letter_options rheo_dead_letter_options;
typedef struct rheo_replay_options rheo_replay_options;
typedef struct rheo_reset_options rheo_reset_options;
typedef struct rheo_event rheo_event;
typedef struct rheo_event_list rheo_event_list;
typedef struct rheo_event_iterator rheo_event_iterator;
typedef struct rheo_lease rheo_lease;
typedef struct rheo_lease_list rheo_lease_list;
typedef struct rheo_name_list rheo_name_list;
typedef struct rheo_stream_info rheo_stream_info;
typedef struct rheo_lag rheo_lag;
typedef struct rheo_group_info rheo_group_info;
typedef struct rheo_dead_letter rheo_dead_letter;
typedef struct rheo_dead_letter_list rheo_dead_letter_list;
typedef struct rheo_capabilities rheo_capabilities;

/* ====================================================================================================
 * Values
 *
 * Statuses, values that cross as integers, and plain views. Views are the only structs that a program sees into;
 * they are returned or filled, and what they point to belongs to the handle that gave them.
 * ==================================================================================================== */

/** What a function answers: `RHEO_OK`, or the number of an error (`RHEO_ERROR_...`). */
typedef int32_t rheo_status;

/** It was done. "There is nothing" is also fine: a count of 0 or a NULL output. */
#define RHEO_OK 0

/** What a holder of a lease may conclude from a settle that failed. */
typedef int32_t rheo_settle_class;

/** The error says nothing of a lease. */
#define RHEO_SETTLE_NONE 0

/** The lease is gone: drop it and stop renewing. */
#define RHEO_SETTLE_LOST 1

/** Nothing was done: the settle may be tried again. */
#define RHEO_SETTLE_DEFINITE 2

/** Whether it was done is not known: leave the lease to expire. Fencing protects a settle that did happen. */
#define RHEO_SETTLE_UNKNOWN 3

/** Whether calling again as before can help. */
typedef int32_t rheo_retriable;

/** Calling again gives the same error. */
#define RHEO_RETRIABLE_NO 0

/** The call may be repeated as it is. */
#define RHEO_RETRIABLE_YES 1

/** An append that carries an explicit id may be repeated with that id; it then appends nothing twice. */
#define RHEO_RETRIABLE_WITH_SAME_ID 2

/** How a payload is tagged. Rheo never alters a payload. */
typedef int32_t rheo_encoding;

/** Bytes of any kind. */
#define RHEO_ENCODING_BYTES 0

/** JSON text. Not checked: what does not parse has no fields to query. */
#define RHEO_ENCODING_JSON 1

/** Whether a group keeps the order of events that share a key. */
typedef int32_t rheo_ordering;

/** Events of one key may be in flight at the same time. */
#define RHEO_ORDERING_NONE 0

/** While an event of a key is open, no later event of that key in its partition is offered. */
#define RHEO_ORDERING_KEY 1

/** How an instance tells the time. */
typedef int32_t rheo_clock;

/** By the machine's clock, or the store's. */
#define RHEO_CLOCK_SYSTEM 0

/** By a clock that stands still and moves only by `rheo_instance_advance_clock`: for tests. */
#define RHEO_CLOCK_MANUAL 1

/** When a journal syncs what is written: what an answer survives. Every answer survives the end of the process. */
typedef int32_t rheo_sync;

/** Before an append, or a change of streams, groups or progress by hand, is answered; settles within 50 ms. */
#define RHEO_SYNC_ALWAYS 0

/** Every so often: the end of the machine may cost what was answered since. */
#define RHEO_SYNC_INTERVAL 1

/** When the system sees fit, and when the instance is closed. */
#define RHEO_SYNC_NEVER 2

/** What becomes of a delivery whose handler failed. */
typedef int32_t rheo_on_failure;

/** Another attempt after the retry delay, unless there have been `max_attempts`. */
#define RHEO_ON_FAILURE_RETRY 0

/** A dead letter at once. */
#define RHEO_ON_FAILURE_REJECT 1

/** What a query orders by. */
typedef int32_t rheo_order_field;

/** The position in the partition. */
#define RHEO_ORDER_FIELD_SEQUENCE 0

/** The event's time. */
#define RHEO_ORDER_FIELD_TIMESTAMP 1

/** Which way a query orders. */
typedef int32_t rheo_direction;

/** Lowest first. */
#define RHEO_DIRECTION_ASC 0

/** Highest first. */
#define RHEO_DIRECTION_DESC 1

/**
 * Text or bytes that belong to a handle and live until that handle is freed or refilled. Not NUL-terminated. `data`
 * is NULL where there is nothing (an event without a key); it is not NULL for a text that is there and empty.
 */
typedef struct rheo_bytes {
    /** The first byte. */
    const uint8_t *data;
    /** How many bytes. */
    size_t len;
} rheo_bytes;

/** Where an appended event lies. */
typedef struct rheo_position {
    /** The event's sequence, from 1; 0 in an output that was not written. */
    uint64_t sequence;
    /** The event's partition, from 0. */
    uint32_t partition;
    /** Whether the stream held an event of this id already, so that nothing was appended. */
    bool deduplicated;
} rheo_position;

/** A group's progress in one partition. */
typedef struct rheo_partition_lag {
    /** The lowest open sequence - 1, or the cursor - 1 when nothing is open. */
    uint64_t frontier;
    /** The last visible sequence; 0 when the partition never held an event. */
    uint64_t high_watermark;
    /** High watermark - frontier, never below 0. */
    uint64_t lag;
    /** The partition, from 0. */
    uint32_t partition;
} rheo_partition_lag;

/** What there is to know of a partition. */
typedef struct rheo_partition_info {
    /** The first sequence that is kept; high watermark + 1 when none is. */
    uint64_t first_sequence;
    /** The last visible sequence; 0 when there never was one. */
    uint64_t high_watermark;
    /** Bytes kept: payload, metadata, id, key and type. */
    uint64_t bytes;
    /** The group that keeps the lowest kept event from being trimmed without force; `data` is NULL when none does. */
    rheo_bytes held_by;
    /** The lowest sequence that the group holds; 0 when none does. */
    uint64_t held_sequence;
    /** The partition, from 0. */
    uint32_t partition;
    /** Whether what is held is a dead letter of the group; otherwise the group has not passed it. */
    bool held_dead_letter;
} rheo_partition_info;

/*
 * The errors. After each number: what a holder of a lease may conclude from it (RHEO_SETTLE_...), and whether calling
 * again can help (RHEO_RETRIABLE_...). Numbers are never used for something else.
 */

/** The stream does not exist. */
#define RHEO_ERROR_STREAM_NOT_FOUND 101 /* lost, not retriable */

/** The stream exists, the group does not. */
#define RHEO_ERROR_GROUP_NOT_FOUND 102 /* lost, not retriable */

/** A stream, a group or an instance of that name exists. */
#define RHEO_ERROR_ALREADY_EXISTS 103 /* none, not retriable */

/** No dead letter has the id to go on after. */
#define RHEO_ERROR_CURSOR_NOT_FOUND 104 /* none, not retriable */

/** The delivery is not leased under this lease: it ended, or another holder has it. */
#define RHEO_ERROR_STALE_LEASE 201 /* lost, not retriable */

/** The lease id fits, the store's own receipt does not. */
#define RHEO_ERROR_RECEIPT_MISMATCH 202 /* lost, not retriable */

/** The form or the value of an argument is not allowed. */
#define RHEO_ERROR_INVALID_ARGUMENT 301 /* definite, not retriable */

/** The stream has no such partition. */
#define RHEO_ERROR_INVALID_PARTITION 302 /* none, not retriable */

/** A stream has 1 to 65,536 partitions. */
#define RHEO_ERROR_INVALID_PARTITION_COUNT 303 /* none, not retriable */

/** A replay takes exactly one way of saying what to replay. */
#define RHEO_ERROR_INVALID_REPLAY_OPTS 304 /* none, not retriable */

/** The operation destroys something and wants to be confirmed. */
#define RHEO_ERROR_CONFIRM_REQUIRED 305 /* none, not retriable */

/** The payload is larger than the instance's max_payload_bytes. */
#define RHEO_ERROR_PAYLOAD_TOO_LARGE 306 /* none, not retriable */

/** This build, or this backend, cannot do it. */
#define RHEO_ERROR_UNSUPPORTED 307 /* definite, not retriable */

/** The store cannot be reached. */
#define RHEO_ERROR_BACKEND_UNAVAILABLE 401 /* unknown, retriable */

/** It was definitely not done; the cause says why. */
#define RHEO_ERROR_FAILED 402 /* definite, retriable */

/** Whether it was done is not known; the cause says why. */
#define RHEO_ERROR_AMBIGUOUS 403 /* unknown, retriable with the same id */

/** The store did not answer in time. */
#define RHEO_ERROR_TIMEOUT 404 /* unknown, retriable */

/** A drain is pending already. */
#define RHEO_ERROR_ALREADY_DRAINING 405 /* none, not retriable */

/** The instance was closed. */
#define RHEO_ERROR_CLOSED 501 /* unknown, not retriable */

/** The instance was opened before this process was forked off. */
#define RHEO_ERROR_FORKED 502 /* unknown, not retriable */

/** An earlier sync failed; open the instance anew. */
#define RHEO_ERROR_POISONED 503 /* unknown, not retriable */

/** Another process holds the journal. */
#define RHEO_ERROR_LOCKED 504 /* none, retriable */

/** Stored data fails its check. */
#define RHEO_ERROR_CORRUPT 505 /* none, not retriable */

/** The data was stored by a newer format. */
#define RHEO_ERROR_VERSION_MISMATCH 506 /* none, not retriable */

/** A bug of the library. */
#define RHEO_ERROR_INTERNAL 901 /* unknown, not retriable */

/* ====================================================================================================
 * Library
 *
 * Which library this is. The macros say what a program was compiled against, the functions what it runs with.
 * ==================================================================================================== */

/** The library's version as text, such as `"0.1.0"`: NUL-terminated, static. Any thread. */
const char *rheo_version(void);

/**
 * The version of the ABI. When it is not `RHEO_ABI_VERSION`, the program and the library do not fit: see
 * `RHEO_ABI_MATCHES`. Any thread.
 */
uint32_t rheo_abi_version(void);

/**
 * Whether this build has a feature: `memory` and `journal` (always), `test-backends`; `sqlite`, `postgres`, `redis`
 * once there is a build with them. False for any other name. Any thread.
 */
bool rheo_has_feature(const char *name, size_t name_len);

/* ====================================================================================================
 * Error
 *
 * A status says what went wrong; the error says it in words, with the values concerned. A function that fails writes
 * one to its last parameter, unless that is NULL.
 *
 * What to do with a failed call: `rheo_error_retriable` says whether to try again, and, if it was to settle a lease,
 * `rheo_error_settle_class` whether the lease still counts.
 * ==================================================================================================== */

/** One failure. Never changes; any thread may read it, several at once. */
typedef struct rheo_error rheo_error;

/** The error's status. `RHEO_OK` for NULL. */
rheo_status rheo_error_code(const rheo_error *error);

/** The contract's name of the error, such as `stale_lease`. Nothing for NULL. */
rheo_bytes rheo_error_name(const rheo_error *error);

/** What failed, with which value, and what to do. A sentence for people, which may change; decide by the status. */
rheo_bytes rheo_error_message(const rheo_error *error);

/** The text of the failure behind this one: a store's or the system's. `data` is NULL when there is none. */
rheo_bytes rheo_error_cause(const rheo_error *error);

/** What the holder of a lease may conclude when a settle gave this error: `RHEO_SETTLE_...`. */
rheo_settle_class rheo_error_settle_class(const rheo_error *error);

/** Whether calling again can help: `RHEO_RETRIABLE_...`. */
rheo_retriable rheo_error_retriable(const rheo_error *error);

/** Copies an error, for instance one that belongs to a `rheo_results`. The copy is the caller's to free. */
rheo_status rheo_error_clone(const rheo_error *error, rheo_error **out);

/**
 * Frees an error that a function wrote out or that was copied; NULL is fine. An error that a `rheo_results` gave
 * belongs to it.
 */
void rheo_error_free(rheo_error *error);

/**
 * The name of a status, such as `"stale_lease"`; `"ok"` for `RHEO_OK`. NUL-terminated and static; NULL for a number
 * that is no status. Any thread.
 */
const char *rheo_status_name(rheo_status status);

/**
 * As `rheo_error_settle_class`, from the status alone. `RHEO_SETTLE_NONE` for a number that is no error. Any thread.
 */
rheo_settle_class rheo_status_settle_class(rheo_status status);

/** As `rheo_error_retriable`, from the status alone. `RHEO_RETRIABLE_NO` for a number that is no error. Any thread. */
rheo_retriable rheo_status_retriable(rheo_status status);

/* ====================================================================================================
 * Options of an instance
 *
 * What an instance is opened with. Like every builder here: `_new`, set, hand over, `_free`; the operation reads the
 * options and keeps nothing of them, so one builder serves many calls. Values are checked for form where they are
 * set and for range where they are used. `_set` takes any option by name, with its value as text: the text itself, a
 * number, `true` or `false`, or JSON for lists and maps.
 * ==================================================================================================== */

/** What an instance is opened with. One thread at a time. */
typedef struct rheo_options rheo_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_options_new(rheo_options **out, rheo_error **error);

/**
 * Sets one option by name: `name`, `default_max_demand`, `default_lease_ms`, `default_max_attempts`,
 * `max_payload_bytes`, `clock` (`system` or `manual`), `clock_start`; for a journal `sync` (`always`, `never` or
 * `interval:MS`), `sync_settles`, `segment_bytes`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
 */
rheo_status rheo_options_set(rheo_options *options,
                             const char *key,
                             size_t key_len,
                             const char *value,
                             size_t value_len,
                             rheo_error **error);

/** Names the instance, so that `rheo_instance_get` finds it from any thread. 1 to 255 bytes. */
rheo_status rheo_options_set_name(rheo_options *options, const char *name, size_t name_len, rheo_error **error);

/** Sets how many leases a fetch takes that is not told: 0 to 10,000; 10 when not set. */
rheo_status rheo_options_set_default_max_demand(rheo_options *options, int64_t limit, rheo_error **error);

/** Sets how long a lease lasts whose fetch is not told, in milliseconds: 1 to ten years; 30,000 when not set. */
rheo_status rheo_options_set_default_lease_ms(rheo_options *options, int64_t lease_ms, rheo_error **error);

/** Sets at which attempt a retry dead-letters in a group that is not told: 1 or more; 5 when not set. */
rheo_status rheo_options_set_default_max_attempts(rheo_options *options, int64_t max_attempts, rheo_error **error);

/** Sets the largest payload, in bytes: 0 to 16 MiB; 16 MiB when not set. */
rheo_status rheo_options_set_max_payload_bytes(rheo_options *options, int64_t max_payload_bytes, rheo_error **error);

/**
 * Sets the clock: `RHEO_CLOCK_SYSTEM` (when not set) or `RHEO_CLOCK_MANUAL`, which starts at the store's time unless
 * `rheo_options_set_clock_start` says where.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
 */
rheo_status rheo_options_set_clock(rheo_options *options, rheo_clock clock, rheo_error **error);

/** Makes the clock manual and lets it start at this time, in microseconds since the Unix epoch. */
rheo_status rheo_options_set_clock_start(rheo_options *options, int64_t micros, rheo_error **error);

/**
 * Sets when a journal syncs what is written: `RHEO_SYNC_ALWAYS` when not set. `interval_ms` counts with
 * `RHEO_SYNC_INTERVAL` alone: 1 to ten years in milliseconds. Not for other stores.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another policy, and for a negative interval.
 */
rheo_status rheo_options_set_sync(rheo_options *options, rheo_sync sync, int64_t interval_ms, rheo_error **error);

/**
 * Sets whether a journal answers a settle only when it is synced; false when not set: it is written then, and under
 * `RHEO_SYNC_ALWAYS` synced within 50 ms. Not for other stores.
 */
rheo_status rheo_options_set_sync_settles(rheo_options *options, bool sync_settles, rheo_error **error);

/**
 * Sets how large a journal's file gets before the next begins, in bytes: 4 KiB to 1 GiB; 64 MiB when not set. Not for
 * other stores.
 */
rheo_status rheo_options_set_segment_bytes(rheo_options *options, int64_t segment_bytes, rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_options_free(rheo_options *options);

/* ====================================================================================================
 * Telemetry
 *
 * What an instance tells of its work: named events with measurements and labels, never payloads. An instance has at
 * most one hook, given to its options by `rheo_options_set_telemetry`; docs/telemetry.md lists the events. Without a
 * hook a call pays a branch.
 *
 * The hook is called after the operation, on its thread, with no lock held, so by several threads at once if several
 * use the instance. It may call back in. It must return: no `longjmp`, no exception.
 * ==================================================================================================== */

/** What an event tells of: `RHEO_TELEMETRY_...`. A newer library may tell of more; skip what you do not know. */
typedef int32_t rheo_telemetry_name;

/** A span: one append. Count: 1 when it was done. */
#define RHEO_TELEMETRY_APPEND 1

/** A span: one batch. Count: its items. */
#define RHEO_TELEMETRY_APPEND_BATCH 2

/** A span: a query or a page of one. Count: the events found. */
#define RHEO_TELEMETRY_QUERY 3

/** A span: a fetch, waiting included. Count: the leases given. */
#define RHEO_TELEMETRY_FETCH 4

/** A span: renewing leases of one group. Count and failed: how many were renewed and were not. */
#define RHEO_TELEMETRY_RENEW 5

/** A span: acking leases of one group. Count and failed: how many were acked and were not. */
#define RHEO_TELEMETRY_ACK 6

/** A span: retrying leases of one group. Count and failed: how many were given back (or buried) and were not. */
#define RHEO_TELEMETRY_RETRY 7

/** A span: rejecting leases of one group. Count and failed: how many were rejected and were not. */
#define RHEO_TELEMETRY_REJECT 8

/** A span: releasing leases of one group. Count and failed: how many were given back and were not. */
#define RHEO_TELEMETRY_RELEASE 9

/** A stream was created. */
#define RHEO_TELEMETRY_STREAM_CREATE 10

/** A group was created. */
#define RHEO_TELEMETRY_GROUP_CREATE 11

/** Count: the leases that a fetch gave. */
#define RHEO_TELEMETRY_LEASE 12

/** Count: how many of them were not the first of their event. */
#define RHEO_TELEMETRY_REDELIVERY 13

/** Count: the deliveries that became dead letters, by reject or by a limit. */
#define RHEO_TELEMETRY_DEAD_LETTER 14

/** Count: the frontier of the event's partition, as `rheo_instance_lag` and `rheo_instance_group_info` find it. */
#define RHEO_TELEMETRY_GROUP_FRONTIER 15

/** Count: the deliveries that a replay made available again. */
#define RHEO_TELEMETRY_GROUP_REPLAY 16

/** A group was reset. */
#define RHEO_TELEMETRY_GROUP_RESET 17

/** A consumer was started. */
#define RHEO_TELEMETRY_CONSUMER_START 18

/** A consumer ended: it was closed, or the error ended it. */
#define RHEO_TELEMETRY_CONSUMER_STOP 19

/** A producer was started. */
#define RHEO_TELEMETRY_PRODUCER_START 20

/** A producer ended: it was closed, or the error ended it. */
#define RHEO_TELEMETRY_PRODUCER_STOP 21

/** A fetch of a consumer or producer failed. It is repeated after a back-off, unless the error ends it. */
#define RHEO_TELEMETRY_FETCH_ERROR 22

/** A settle of a consumer failed. It is repeated when the error is definite. */
#define RHEO_TELEMETRY_SETTLE_ERROR 23

/** A handler failed, by what it returned or said. */
#define RHEO_TELEMETRY_HANDLER_ERROR 24

/** A handler of a Rust program panicked; its worker goes on. */
#define RHEO_TELEMETRY_WORKER_CRASH 25

/** One thing that happened. It and all that it shows live until the hook returns: copy what is to stay. */
typedef struct rheo_telemetry_event rheo_telemetry_event;

/** A hook. `context` is what was given with it. */
typedef void (*rheo_telemetry_hook)(const rheo_telemetry_event *event, void *context);

/** Frees what a hook or a handler was given, when nothing calls that any more. */
typedef void (*rheo_free_context)(void *context);

/**
 * Sets the hook of the instances that are opened with these options; NULL for `hook`: none.
 *
 * `context` is passed to the hook and may be NULL. When the last of the options, and of the instances opened with them
 * and all that was made from those, lets go of it, `free_context` is called with it, once, on that thread; NULL if
 * there is nothing to free. It belongs to the library from here on, also when `hook` is NULL, and stays the caller's
 * when this fails.
 *
 * `durations` says whether spans are timed: two readings of a clock for each. A hook that only counts does without.
 */
rheo_status rheo_options_set_telemetry(rheo_options *options,
                                       rheo_telemetry_hook hook,
                                       void *context,
                                       rheo_free_context free_context,
                                       bool durations,
                                       rheo_error **error);

/** What happened: `RHEO_TELEMETRY_...`; 0 for NULL. */
rheo_telemetry_name rheo_telemetry_event_name(const rheo_telemetry_event *event);

/** The stream's name. */
rheo_bytes rheo_telemetry_event_stream(const rheo_telemetry_event *event);

/** The group's name; `data` is NULL where it is not about a group. */
rheo_bytes rheo_telemetry_event_group(const rheo_telemetry_event *event);

/** Writes the partition (NULL allowed), and says whether it is about one. */
bool rheo_telemetry_event_partition(const rheo_telemetry_event *event, uint32_t *partition);

/** The measurement that the name says. */
uint64_t rheo_telemetry_event_count(const rheo_telemetry_event *event);

/** How many leases of a settle or renewal failed. */
uint64_t rheo_telemetry_event_failed(const rheo_telemetry_event *event);

/** Writes how long a span took, in nanoseconds (NULL allowed), and says whether it was timed. */
bool rheo_telemetry_event_duration(const rheo_telemetry_event *event, uint64_t *nanos);

/** Why a span's call, or its first lease that failed, did; `RHEO_OK` when all went well. */
rheo_status rheo_telemetry_event_error(const rheo_telemetry_event *event);

/**
 * The contract's text of a name, such as `"append"` or `"stream.create"`. NUL-terminated and static; NULL for a number
 * that is no name. Any thread.
 */
const char *rheo_telemetry_name_text(rheo_telemetry_name name);

/* ====================================================================================================
 * Instance
 *
 * One opened backend. Every operation is here, with streams and groups by name; `rheo_stream` and `rheo_group` are
 * handles that have resolved the names once: the same operations without the names, and faster. Settling is a
 * section of its own.
 *
 * Names of streams and groups have 1 to 255 bytes and no control characters. A missing stream gives
 * `RHEO_ERROR_STREAM_NOT_FOUND` before anything is said of a group.
 * ==================================================================================================== */

/**
 * One opened backend. Any thread, any number at once. Several handles may be of the same instance; what is bound to
 * it keeps it open. Freeing the last of all these closes it.
 */
typedef struct rheo_instance rheo_instance;

/**
 * Opens an instance and writes its handle, the caller's to free.
 *
 * `url` is `memory:`; other schemes come with other builds. `options`: NULL for the defaults.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed URL and an option out of range; `RHEO_ERROR_UNSUPPORTED`
 * for a scheme that this build lacks; `RHEO_ERROR_ALREADY_EXISTS` when an instance of that name is open.
 */
rheo_status rheo_instance_open(const char *url,
                               size_t url_len,
                               const rheo_options *options,
                               rheo_instance **out,
                               rheo_error **error);

/**
 * Writes a handle of the open instance with this name, the caller's to free; NULL with `RHEO_OK` when there is none.
 */
rheo_status rheo_instance_get(const char *name, size_t name_len, rheo_instance **out, rheo_error **error);

/** Writes another handle of the same instance, the caller's to free. */
rheo_status rheo_instance_clone(const rheo_instance *instance, rheo_instance **out, rheo_error **error);

/** The name it was opened with; `data` is NULL when it has none. */
rheo_bytes rheo_instance_name(const rheo_instance *instance);

/**
 * Flushes and closes, for every handle of the instance. Every later call gives `RHEO_ERROR_CLOSED`, and threads that
 * wait return promptly with it. Closing again is fine. The handle is still to be freed.
 *
 * Statuses: `RHEO_ERROR_FAILED` or `RHEO_ERROR_AMBIGUOUS` when flushing did; the instance is closed all the same.
 */
rheo_status rheo_instance_close(const rheo_instance *instance, rheo_error **error);

/** Whether it was closed; false for NULL. */
bool rheo_instance_is_closed(const rheo_instance *instance);

/**
 * Frees a handle; NULL is fine. When nothing else holds the instance, it is closed; `rheo_instance_close` would say
 * whether that went well.
 */
void rheo_instance_free(rheo_instance *instance);

/**
 * Asks whether the store answers.
 *
 * Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_TIMEOUT`.
 */
rheo_status rheo_instance_ping(const rheo_instance *instance, rheo_error **error);

/**
 * Creates what the store needs (schema, indexes). May be called again; there is nothing to do in memory.
 *
 * Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_FAILED`, `RHEO_ERROR_VERSION_MISMATCH`.
 */
rheo_status rheo_instance_ensure_indexes(const rheo_instance *instance, rheo_error **error);

/** Writes what the backend guarantees and how, the caller's to free. */
rheo_status rheo_instance_capabilities(const rheo_instance *instance, rheo_capabilities **out, rheo_error **error);

/**
 * Writes the time by which this instance is judged, in microseconds since the Unix epoch.
 *
 * Statuses: `RHEO_ERROR_BACKEND_UNAVAILABLE`, `RHEO_ERROR_TIMEOUT`.
 */
rheo_status rheo_instance_now(const rheo_instance *instance, int64_t *now, rheo_error **error);

/**
 * Moves the manual clock by so many milliseconds (0 to ten years), wakes every waiter, and writes the new time in
 * microseconds since the Unix epoch (`now` may be NULL).
 *
 * Statuses: `RHEO_ERROR_UNSUPPORTED` unless the instance was opened with a manual clock.
 */
rheo_status rheo_instance_advance_clock(const rheo_instance *instance, int64_t ms, int64_t *now, rheo_error **error);

/**
 * Writes a handle of a stream, its name resolved once; the caller's to free. Whether the stream exists shows at the
 * first use. When the stream is deleted and created anew, the handle goes on with the new one.
 */
rheo_status rheo_instance_stream(const rheo_instance *instance,
                                 const char *stream,
                                 size_t stream_len,
                                 rheo_stream **out,
                                 rheo_error **error);

/**
 * Writes a handle of a group, its names resolved once; the caller's to free. Whether the group exists shows at the
 * first use. When the group is deleted and created anew, the handle goes on with the new one.
 */
rheo_status rheo_instance_group(const rheo_instance *instance,
                                const char *stream,
                                size_t stream_len,
                                const char *group,
                                size_t group_len,
                                rheo_group **out,
                                rheo_error **error);

/**
 * Creates a stream. `options`: NULL for one partition.
 *
 * Statuses: `RHEO_ERROR_ALREADY_EXISTS`, `RHEO_ERROR_INVALID_PARTITION_COUNT`.
 */
rheo_status rheo_instance_create_stream(const rheo_instance *instance,
                                        const char *stream,
                                        size_t stream_len,
                                        const rheo_stream_options *options,
                                        rheo_error **error);

/**
 * Deletes a stream with its events and groups. Holders of its leases, and threads that wait for it, then get
 * `RHEO_ERROR_STREAM_NOT_FOUND`. `confirm` says that this is meant.
 *
 * Statuses: `RHEO_ERROR_CONFIRM_REQUIRED` unless `confirm`; `RHEO_ERROR_STREAM_NOT_FOUND`.
 */
rheo_status rheo_instance_delete_stream(const rheo_instance *instance,
                                        const char *stream,
                                        size_t stream_len,
                                        bool confirm,
                                        rheo_error **error);

/**
 * Writes what there is to know of a stream, the caller's to free. Looks at every group's progress.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_stream_info(const rheo_instance *instance,
                                      const char *stream,
                                      size_t stream_len,
                                      rheo_stream_info **out,
                                      rheo_error **error);

/**
 * Writes the names of the streams, sorted by code point; the caller's to free.
 *
 * Statuses: `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_list_streams(const rheo_instance *instance, rheo_name_list **out, rheo_error **error);

/**
 * Creates a group. `options`: NULL for a group that starts at the beginning, with the instance's defaults.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_ALREADY_EXISTS`, `RHEO_ERROR_INVALID_PARTITION`;
 * `RHEO_ERROR_INVALID_ARGUMENT` also for both start options at once.
 */
rheo_status rheo_instance_create_group(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const char *group,
                                       size_t group_len,
                                       const rheo_group_options *options,
                                       rheo_error **error);

/**
 * Changes a group's limits. `options`: NULL changes nothing. A lowered limit acts at the next fetch that reaches a
 * delivery, so it strands none.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
 */
rheo_status rheo_instance_update_group(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const char *group,
                                       size_t group_len,
                                       const rheo_update_options *options,
                                       rheo_error **error);

/**
 * Deletes a group. Holders of its leases, and threads that wait for it, then get `RHEO_ERROR_GROUP_NOT_FOUND`.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
 */
rheo_status rheo_instance_delete_group(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const char *group,
                                       size_t group_len,
                                       rheo_error **error);

/**
 * Writes the names of a stream's groups, sorted by code point; the caller's to free.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_list_groups(const rheo_instance *instance,
                                      const char *stream,
                                      size_t stream_len,
                                      rheo_name_list **out,
                                      rheo_error **error);

/**
 * Appends one event. Without `out` nothing is allocated here.
 *
 * `payload` is copied: at most the instance's `max_payload_bytes`. `encoding` is `RHEO_ENCODING_...`. `options`:
 * NULL for none. `position` (may be NULL) receives where the event lies. `out` (may be NULL) receives the event, the
 * caller's to free. An id that the stream holds appends nothing; both outputs then tell of the event that stands,
 * marked as deduplicated.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`, `RHEO_ERROR_PAYLOAD_TOO_LARGE`. After
 * `RHEO_ERROR_AMBIGUOUS` an append with an explicit id may be repeated as it is.
 */
rheo_status rheo_instance_append(const rheo_instance *instance,
                                 const char *stream,
                                 size_t stream_len,
                                 const void *payload,
                                 size_t payload_len,
                                 rheo_encoding encoding,
                                 const rheo_append_options *options,
                                 rheo_position *position,
                                 rheo_event **out,
                                 rheo_error **error);

/**
 * Appends the events of a batch, all or nothing: all are checked first. New events get contiguous sequences per
 * partition, in the batch's order; the same id twice is one event. The batch stays as it is.
 *
 * `shared_options` (may be NULL) say what an event of the batch leaves open; they take no id. `events` (may be NULL)
 * is filled with the event of each, in order.
 *
 * Statuses: as `rheo_instance_append`.
 */
rheo_status rheo_instance_append_batch(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const rheo_batch *batch,
                                       const rheo_append_options *shared_options,
                                       rheo_event_list *events,
                                       rheo_error **error);

/**
 * Fills `events` with at most `limit` events of a partition after a sequence (0: from the beginning), ascending.
 * Touches no group.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
 */
rheo_status rheo_instance_read(const rheo_instance *instance,
                               const char *stream,
                               size_t stream_len,
                               uint32_t partition,
                               uint64_t after,
                               int64_t limit,
                               rheo_event_list *events,
                               rheo_error **error);

/**
 * Writes the event with this id, the caller's to free; NULL with `RHEO_OK` when the stream does not hold it.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`.
 */
rheo_status rheo_instance_get_event(const rheo_instance *instance,
                                    const char *stream,
                                    size_t stream_len,
                                    const char *event_id,
                                    size_t event_id_len,
                                    rheo_event **out,
                                    rheo_error **error);

/**
 * Fills `events` with those that match, in the query's order. `query`: NULL for one that every event matches.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`; `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query.
 */
rheo_status rheo_instance_query(const rheo_instance *instance,
                                const char *stream,
                                size_t stream_len,
                                const rheo_query *query,
                                rheo_event_list *events,
                                rheo_error **error);

/**
 * Fills `events` with one page of those that match, by sequence and then partition, ascending.
 * `rheo_event_list_next_cursor` then gives the cursor of the next page.
 *
 * `query`: NULL for one that every event matches. `cursor`: of the page before; NULL with length 0 for the first
 * page. Paging neither skips nor repeats over a static set.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`; `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query or cursor, and for a
 * query with an order.
 */
rheo_status rheo_instance_query_page(const rheo_instance *instance,
                                     const char *stream,
                                     size_t stream_len,
                                     const rheo_query *query,
                                     const char *cursor,
                                     size_t cursor_len,
                                     rheo_event_list *events,
                                     rheo_error **error);

/**
 * Writes an iterator over all events that match, by sequence and then partition, ascending; the caller's to free.
 * `query`: NULL for one that every event matches; its limit is how many are looked up at a time.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed query, and for one with an order; a missing stream shows
 * at the first event.
 */
rheo_status rheo_instance_query_stream(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const rheo_query *query,
                                       rheo_event_iterator **out,
                                       rheo_error **error);

/**
 * Removes old events and writes how many (`removed` may be NULL). Without `force` nothing is removed that some group
 * has not passed, or lists as a dead letter.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`; `RHEO_ERROR_INVALID_ARGUMENT` unless
 * exactly one way to trim is set.
 */
rheo_status rheo_instance_trim(const rheo_instance *instance,
                               const char *stream,
                               size_t stream_len,
                               const rheo_trim_options *options,
                               uint64_t *removed,
                               rheo_error **error);

/**
 * Claims what can be claimed and fills `leases` with it, emptied first: lowest sequence first within a partition,
 * fair across partitions. Nothing to claim is no error: the list is empty then. With a list that was filled before
 * nothing is allocated here.
 *
 * `options`: NULL for the instance's defaults and no waiting. With `wait_ms` the call waits that long for work: an
 * append, a retry that is due, an expiry, a replay, closing, or the options' interrupt ends the wait.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`. They, and
 * `RHEO_ERROR_CLOSED`, also end a wait.
 */
rheo_status rheo_instance_fetch(const rheo_instance *instance,
                                const char *stream,
                                size_t stream_len,
                                const char *group,
                                size_t group_len,
                                const rheo_fetch_options *options,
                                rheo_lease_list *leases,
                                rheo_error **error);

/**
 * Writes a group's frontier, high watermark and lag, the caller's to free. `partitions`: only these, a set; NULL
 * with length 0: all. Walks no events.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
 */
rheo_status rheo_instance_lag(const rheo_instance *instance,
                              const char *stream,
                              size_t stream_len,
                              const char *group,
                              size_t group_len,
                              const uint32_t *partitions,
                              size_t partitions_len,
                              rheo_lag **out,
                              rheo_error **error);

/**
 * Writes what there is to know of a group, the caller's to free. `partitions`: only these, a set; NULL with length
 * 0: all. Walks no events.
 *
 * Statuses: as `rheo_instance_lag`; `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_group_info(const rheo_instance *instance,
                                     const char *stream,
                                     size_t stream_len,
                                     const char *group,
                                     size_t group_len,
                                     const uint32_t *partitions,
                                     size_t partitions_len,
                                     rheo_group_info **out,
                                     rheo_error **error);

/**
 * Writes a group's dead letters, ordered by partition and sequence; the caller's to free. `options`: NULL for the
 * first 100.
 *
 * Statuses: as `rheo_instance_lag`; `RHEO_ERROR_CURSOR_NOT_FOUND` when no dead letter has the id to go on after;
 * `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_dead_letters(const rheo_instance *instance,
                                       const char *stream,
                                       size_t stream_len,
                                       const char *group,
                                       size_t group_len,
                                       const rheo_dead_letter_options *options,
                                       rheo_dead_letter_list **out,
                                       rheo_error **error);

/**
 * Forgets the dead letters of these events for good, and writes how many (`discarded` may be NULL). `event_ids`: at
 * most 10,000; those that are not in the list are passed over.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_UNSUPPORTED`.
 */
rheo_status rheo_instance_discard_dead_letters(const rheo_instance *instance,
                                               const char *stream,
                                               size_t stream_len,
                                               const char *group,
                                               size_t group_len,
                                               const rheo_bytes *event_ids,
                                               size_t event_ids_len,
                                               uint64_t *discarded,
                                               rheo_error **error);

/**
 * Forgets all dead letters of a group for good, and writes how many (`discarded` may be NULL).
 *
 * Statuses: as `rheo_instance_discard_dead_letters`.
 */
rheo_status rheo_instance_discard_all_dead_letters(const rheo_instance *instance,
                                                   const char *stream,
                                                   size_t stream_len,
                                                   const char *group,
                                                   size_t group_len,
                                                   uint64_t *discarded,
                                                   rheo_error **error);

/**
 * Makes deliveries available again, their attempts starting over, and writes how many (`replayed` may be NULL). A
 * delivery that is leased at that moment is fenced off its holder; dead letters that are replayed leave the list.
 *
 * Statuses: `RHEO_ERROR_INVALID_REPLAY_OPTS` unless exactly one way is set; `RHEO_ERROR_STREAM_NOT_FOUND`,
 * `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`.
 */
rheo_status rheo_instance_replay(const rheo_instance *instance,
                                 const char *stream,
                                 size_t stream_len,
                                 const char *group,
                                 size_t group_len,
                                 const rheo_replay_options *options,
                                 uint64_t *replayed,
                                 rheo_error **error);

/**
 * Clears a group's deliveries and dead letters, fences all its leases, and moves it to a new start.
 *
 * Statuses: `RHEO_ERROR_CONFIRM_REQUIRED` unless the options confirm; `RHEO_ERROR_STREAM_NOT_FOUND`,
 * `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`; `RHEO_ERROR_INVALID_ARGUMENT` also for both start
 * options at once.
 */
rheo_status rheo_instance_reset_group(const rheo_instance *instance,
                                      const char *stream,
                                      size_t stream_len,
                                      const char *group,
                                      size_t group_len,
                                      const rheo_reset_options *options,
                                      rheo_error **error);

/* ====================================================================================================
 * Settling
 *
 * How a claim ends, or goes on. A lease says by itself which stream and group it belongs to, so it is settled
 * through any handle of its instance, from any thread; a token of it does as well. Through a group's handle only
 * that group's leases are settled; another's is stale there.
 *
 * A settle succeeds only while the delivery is leased under this lease, and once. It fails with
 * `RHEO_ERROR_STALE_LEASE` when the lease was settled, claimed by another holder after it expired, replayed, reset
 * or trimmed; `RHEO_ERROR_RECEIPT_MISMATCH` when the store knows the claim by another receipt;
 * `RHEO_ERROR_STREAM_NOT_FOUND` and `RHEO_ERROR_GROUP_NOT_FOUND` when those are gone. An expired lease that nobody
 * claimed since still settles. `rheo_error_settle_class` says what to conclude from a failure. A malformed token is
 * `RHEO_ERROR_INVALID_ARGUMENT`.
 *
 * Reasons are any text, of which at most 1 KiB is kept. A settle never fails because of its reason: bytes that are
 * not UTF-8 are replaced, and NULL is no reason.
 *
 * Of many leases each has its own result, in `results`: one that fails changes nothing for the others, and the same
 * lease twice succeeds once. `RHEO_OK` then means that all were tried, not that all were done:
 * `rheo_results_failed` tells. At most 10,000 leases in one call.
 * ==================================================================================================== */

/** Ends a claim: the work is done. */
rheo_status rheo_instance_ack(const rheo_instance *instance, const rheo_lease *lease, rheo_error **error);

/**
 * Gives a delivery back for another attempt after `delay_ms` milliseconds (0 to ten years). When this was the
 * attempt `max_attempts`, it becomes a dead letter instead.
 */
rheo_status rheo_instance_retry(const rheo_instance *instance,
                                const rheo_lease *lease,
                                const char *reason,
                                size_t reason_len,
                                int64_t delay_ms,
                                rheo_error **error);

/** Makes a delivery a dead letter. */
rheo_status rheo_instance_reject(const rheo_instance *instance,
                                 const rheo_lease *lease,
                                 const char *reason,
                                 size_t reason_len,
                                 rheo_error **error);

/** Gives a delivery back unworked: available at once, and the attempt does not count. */
rheo_status rheo_instance_release(const rheo_instance *instance, const rheo_lease *lease, rheo_error **error);

/**
 * Extends a claim to `*lease_ms` milliseconds from now (1 to ten years); NULL: the lease's own duration. Writes when
 * it expires then, in microseconds since the Unix epoch (`expires_at` may be NULL). The lease is used on as it is.
 */
rheo_status rheo_instance_renew(const rheo_instance *instance,
                                const rheo_lease *lease,
                                const int64_t *lease_ms,
                                int64_t *expires_at,
                                rheo_error **error);

/** `rheo_instance_ack` by token. */
rheo_status rheo_instance_ack_token(const rheo_instance *instance,
                                    const char *token,
                                    size_t token_len,
                                    rheo_error **error);

/** `rheo_instance_retry` by token. */
rheo_status rheo_instance_retry_token(const rheo_instance *instance,
                                      const char *token,
                                      size_t token_len,
                                      const char *reason,
                                      size_t reason_len,
                                      int64_t delay_ms,
                                      rheo_error **error);

/** `rheo_instance_reject` by token. */
rheo_status rheo_instance_reject_token(const rheo_instance *instance,
                                       const char *token,
                                       size_t token_len,
                                       const char *reason,
                                       size_t reason_len,
                                       rheo_error **error);

/** `rheo_instance_release` by token. */
rheo_status rheo_instance_release_token(const rheo_instance *instance,
                                        const char *token,
                                        size_t token_len,
                                        rheo_error **error);

/** `rheo_instance_renew` by token. */
rheo_status rheo_instance_renew_token(const rheo_instance *instance,
                                      const char *token,
                                      size_t token_len,
                                      const int64_t *lease_ms,
                                      int64_t *expires_at,
                                      rheo_error **error);

/** Acks each of an array of leases and fills `results`. */
rheo_status rheo_instance_ack_many(const rheo_instance *instance,
                                   const rheo_lease *const *leases,
                                   size_t leases_len,
                                   rheo_results *results,
                                   rheo_error **error);

/** Retries each of an array of leases, with one reason and one delay, and fills `results`. */
rheo_status rheo_instance_retry_many(const rheo_instance *instance,
                                     const rheo_lease *const *leases,
                                     size_t leases_len,
                                     const char *reason,
                                     size_t reason_len,
                                     int64_t delay_ms,
                                     rheo_results *results,
                                     rheo_error **error);

/** Rejects each of an array of leases, with one reason, and fills `results`. */
rheo_status rheo_instance_reject_many(const rheo_instance *instance,
                                      const rheo_lease *const *leases,
                                      size_t leases_len,
                                      const char *reason,
                                      size_t reason_len,
                                      rheo_results *results,
                                      rheo_error **error);

/** Releases each of an array of leases and fills `results`. */
rheo_status rheo_instance_release_many(const rheo_instance *instance,
                                       const rheo_lease *const *leases,
                                       size_t leases_len,
                                       rheo_results *results,
                                       rheo_error **error);

/**
 * Renews each of an array of leases, as `rheo_instance_renew` does, and fills `results`; `rheo_results_expires_at`
 * gives the new times.
 */
rheo_status rheo_instance_renew_many(const rheo_instance *instance,
                                     const rheo_lease *const *leases,
                                     size_t leases_len,
                                     const int64_t *lease_ms,
                                     rheo_results *results,
                                     rheo_error **error);

/** Acks every lease of a list and fills `results`. */
rheo_status rheo_instance_ack_list(const rheo_instance *instance,
                                   const rheo_lease_list *leases,
                                   rheo_results *results,
                                   rheo_error **error);

/** Retries every lease of a list, with one reason and one delay, and fills `results`. */
rheo_status rheo_instance_retry_list(const rheo_instance *instance,
                                     const rheo_lease_list *leases,
                                     const char *reason,
                                     size_t reason_len,
                                     int64_t delay_ms,
                                     rheo_results *results,
                                     rheo_error **error);

/** Rejects every lease of a list, with one reason, and fills `results`. */
rheo_status rheo_instance_reject_list(const rheo_instance *instance,
                                      const rheo_lease_list *leases,
                                      const char *reason,
                                      size_t reason_len,
                                      rheo_results *results,
                                      rheo_error **error);

/** Releases every lease of a list and fills `results`. */
rheo_status rheo_instance_release_list(const rheo_instance *instance,
                                       const rheo_lease_list *leases,
                                       rheo_results *results,
                                       rheo_error **error);

/**
 * Renews every lease of a list, as `rheo_instance_renew` does, and fills `results`; `rheo_results_expires_at` gives
 * the new times.
 */
rheo_status rheo_instance_renew_list(const rheo_instance *instance,
                                     const rheo_lease_list *leases,
                                     const int64_t *lease_ms,
                                     rheo_results *results,
                                     rheo_error **error);

/** Acks the leases of an array of tokens and fills `results`; a malformed token is an error in its place. */
rheo_status rheo_instance_ack_tokens(const rheo_instance *instance,
                                     const rheo_bytes *tokens,
                                     size_t tokens_len,
                                     rheo_results *results,
                                     rheo_error **error);

/** Retries the leases of an array of tokens, with one reason and one delay, and fills `results`. */
rheo_status rheo_instance_retry_tokens(const rheo_instance *instance,
                                       const rheo_bytes *tokens,
                                       size_t tokens_len,
                                       const char *reason,
                                       size_t reason_len,
                                       int64_t delay_ms,
                                       rheo_results *results,
                                       rheo_error **error);

/** Rejects the leases of an array of tokens, with one reason, and fills `results`. */
rheo_status rheo_instance_reject_tokens(const rheo_instance *instance,
                                        const rheo_bytes *tokens,
                                        size_t tokens_len,
                                        const char *reason,
                                        size_t reason_len,
                                        rheo_results *results,
                                        rheo_error **error);

/** Releases the leases of an array of tokens and fills `results`. */
rheo_status rheo_instance_release_tokens(const rheo_instance *instance,
                                         const rheo_bytes *tokens,
                                         size_t tokens_len,
                                         rheo_results *results,
                                         rheo_error **error);

/**
 * Renews the leases of an array of tokens and fills `results`; `rheo_results_expires_at` gives the new
 * times.
 */
rheo_status rheo_instance_renew_tokens(const rheo_instance *instance,
                                       const rheo_bytes *tokens,
                                       size_t tokens_len,
                                       const int64_t *lease_ms,
                                       rheo_results *results,
                                       rheo_error **error);

/* ====================================================================================================
 * Results
 *
 * What became of each lease of a `..._many` or `..._list`: in the order of the leases, one result each.
 * ==================================================================================================== */

/**
 * Results. Filled by settling many leases, which replaces what was in it, also when the call fails. Filled by one
 * thread while no other uses it; read by any number.
 */
typedef struct rheo_results rheo_results;

/** Makes an empty handle for results. The caller frees it. */
rheo_status rheo_results_new(rheo_results **out, rheo_error **error);

/** How many results there are; 0 for NULL. */
size_t rheo_results_len(const rheo_results *results);

/** How many of them are errors; 0 for NULL. */
size_t rheo_results_failed(const rheo_results *results);

/** The status of the lease at a position from 0; `RHEO_OK` also beyond the end. */
rheo_status rheo_results_status(const rheo_results *results, size_t index);

/**
 * The error of the lease at a position from 0; NULL where it was done, and beyond the end. It belongs to the
 * results, until they are filled again or freed; `rheo_error_clone` makes one that outlives them.
 */
const rheo_error *rheo_results_error(const rheo_results *results, size_t index);

/**
 * After a renew: when the lease at a position from 0 expires now, in microseconds since the Unix epoch. 0 where it
 * failed, and after anything else.
 */
int64_t rheo_results_expires_at(const rheo_results *results, size_t index);

/** Frees results; NULL is fine. */
void rheo_results_free(rheo_results *results);

/* ====================================================================================================
 * Stream
 *
 * A stream, its name resolved once: the operations of the instance on it, without the name, and faster. Parameters,
 * outputs and statuses are those of the function that each comment names.
 * ==================================================================================================== */

/** A stream, its name resolved once. Any thread, any number at once. Keeps the instance open. */
typedef struct rheo_stream rheo_stream;

/** The stream's name. */
rheo_bytes rheo_stream_name(const rheo_stream *stream);

/** The instance it belongs to. The handle belongs to the stream's, and lives as long. NULL for NULL. */
const rheo_instance *rheo_stream_instance(const rheo_stream *stream);

/** What there is to know of it: `rheo_instance_stream_info`. */
rheo_status rheo_stream_get_info(const rheo_stream *stream, rheo_stream_info **out, rheo_error **error);

/** The names of its groups: `rheo_instance_list_groups`. */
rheo_status rheo_stream_list_groups(const rheo_stream *stream, rheo_name_list **out, rheo_error **error);

/** Deletes it: `rheo_instance_delete_stream`. The handle is still to be freed. */
rheo_status rheo_stream_delete(const rheo_stream *stream, bool confirm, rheo_error **error);

/** Appends one event: `rheo_instance_append`. */
rheo_status rheo_stream_append(const rheo_stream *stream,
                               const void *payload,
                               size_t payload_len,
                               rheo_encoding encoding,
                               const rheo_append_options *options,
                               rheo_position *position,
                               rheo_event **out,
                               rheo_error **error);

/** Appends a batch: `rheo_instance_append_batch`. */
rheo_status rheo_stream_append_batch(const rheo_stream *stream,
                                     const rheo_batch *batch,
                                     const rheo_append_options *shared_options,
                                     rheo_event_list *events,
                                     rheo_error **error);

/** Events of a partition: `rheo_instance_read`. */
rheo_status rheo_stream_read(const rheo_stream *stream,
                             uint32_t partition,
                             uint64_t after,
                             int64_t limit,
                             rheo_event_list *events,
                             rheo_error **error);

/** The event with an id: `rheo_instance_get_event`. */
rheo_status rheo_stream_get_event(const rheo_stream *stream,
                                  const char *event_id,
                                  size_t event_id_len,
                                  rheo_event **out,
                                  rheo_error **error);

/** The events that match: `rheo_instance_query`. */
rheo_status rheo_stream_query(const rheo_stream *stream,
                              const rheo_query *query,
                              rheo_event_list *events,
                              rheo_error **error);

/** One page of the events that match: `rheo_instance_query_page`. */
rheo_status rheo_stream_query_page(const rheo_stream *stream,
                                   const rheo_query *query,
                                   const char *cursor,
                                   size_t cursor_len,
                                   rheo_event_list *events,
                                   rheo_error **error);

/** An iterator over the events that match: `rheo_instance_query_stream`. */
rheo_status rheo_stream_query_stream(const rheo_stream *stream,
                                     const rheo_query *query,
                                     rheo_event_iterator **out,
                                     rheo_error **error);

/** Removes old events: `rheo_instance_trim`. */
rheo_status rheo_stream_trim(const rheo_stream *stream,
                             const rheo_trim_options *options,
                             uint64_t *removed,
                             rheo_error **error);

/** Frees a handle; NULL is fine. The stream stays. */
void rheo_stream_free(rheo_stream *stream);

/* ====================================================================================================
 * Group
 *
 * A group, its names resolved once: the operations of the instance on it, without the names, and faster. Parameters,
 * outputs and statuses are those of the function that each comment names.
 * ==================================================================================================== */

/** A group, its names resolved once. Any thread, any number at once. Keeps the instance open. */
typedef struct rheo_group rheo_group;

/** The group's name. */
rheo_bytes rheo_group_name(const rheo_group *group);

/** The stream's name. */
rheo_bytes rheo_group_stream_name(const rheo_group *group);

/**
 * The instance it belongs to. The handle belongs to the group's, and lives as long. NULL for
 * NULL.
 */
const rheo_instance *rheo_group_instance(const rheo_group *group);

/** Claims what can be claimed: `rheo_instance_fetch`. */
rheo_status rheo_group_fetch(const rheo_group *group,
                             const rheo_fetch_options *options,
                             rheo_lease_list *leases,
                             rheo_error **error);

/** Frontier, high watermark and lag: `rheo_instance_lag`. */
rheo_status rheo_group_lag(const rheo_group *group,
                           const uint32_t *partitions,
                           size_t partitions_len,
                           rheo_lag **out,
                           rheo_error **error);

/** What there is to know of it: `rheo_instance_group_info`. */
rheo_status rheo_group_get_info(const rheo_group *group,
                                const uint32_t *partitions,
                                size_t partitions_len,
                                rheo_group_info **out,
                                rheo_error **error);

/** Its dead letters: `rheo_instance_dead_letters`. */
rheo_status rheo_group_dead_letters(const rheo_group *group,
                                    const rheo_dead_letter_options *options,
                                    rheo_dead_letter_list **out,
                                    rheo_error **error);

/** Forgets the dead letters of some events: `rheo_instance_discard_dead_letters`. */
rheo_status rheo_group_discard_dead_letters(const rheo_group *group,
                                            const rheo_bytes *event_ids,
                                            size_t event_ids_len,
                                            uint64_t *discarded,
                                            rheo_error **error);

/** Forgets all its dead letters: `rheo_instance_discard_all_dead_letters`. */
rheo_status rheo_group_discard_all_dead_letters(const rheo_group *group, uint64_t *discarded, rheo_error **error);

/** Makes deliveries available again: `rheo_instance_replay`. */
rheo_status rheo_group_replay(const rheo_group *group,
                              const rheo_replay_options *options,
                              uint64_t *replayed,
                              rheo_error **error);

/** Clears it and moves it to a new start: `rheo_instance_reset_group`. */
rheo_status rheo_group_reset(const rheo_group *group, const rheo_reset_options *options, rheo_error **error);

/** Changes its limits: `rheo_instance_update_group`. */
rheo_status rheo_group_update(const rheo_group *group, const rheo_update_options *options, rheo_error **error);

/** Deletes it: `rheo_instance_delete_group`. The handle is still to be freed. */
rheo_status rheo_group_delete(const rheo_group *group, rheo_error **error);

/** Frees a handle; NULL is fine. The group stays. */
void rheo_group_free(rheo_group *group);

/* ====================================================================================================
 * Settling through a group's handle
 *
 * The functions of the section on settling, for the leases of this group: what belongs to another group is
 * `RHEO_ERROR_STALE_LEASE`, with one lease as among many, and nothing happens to it.
 * ==================================================================================================== */

/** Ends a claim: `rheo_instance_ack`. */
rheo_status rheo_group_ack(const rheo_group *group, const rheo_lease *lease, rheo_error **error);

/** Gives a delivery back for another attempt: `rheo_instance_retry`. */
rheo_status rheo_group_retry(const rheo_group *group,
                             const rheo_lease *lease,
                             const char *reason,
                             size_t reason_len,
                             int64_t delay_ms,
                             rheo_error **error);

/** Makes a delivery a dead letter: `rheo_instance_reject`. */
rheo_status rheo_group_reject(const rheo_group *group,
                              const rheo_lease *lease,
                              const char *reason,
                              size_t reason_len,
                              rheo_error **error);

/** Gives a delivery back unworked: `rheo_instance_release`. */
rheo_status rheo_group_release(const rheo_group *group, const rheo_lease *lease, rheo_error **error);

/** Extends a claim: `rheo_instance_renew`. */
rheo_status rheo_group_renew(const rheo_group *group,
                             const rheo_lease *lease,
                             const int64_t *lease_ms,
                             int64_t *expires_at,
                             rheo_error **error);

/** Ends a claim, by token: `rheo_instance_ack_token`. */
rheo_status rheo_group_ack_token(const rheo_group *group, const char *token, size_t token_len, rheo_error **error);

/** Gives a delivery back for another attempt, by token: `rheo_instance_retry_token`. */
rheo_status rheo_group_retry_token(const rheo_group *group,
                                   const char *token,
                                   size_t token_len,
                                   const char *reason,
                                   size_t reason_len,
                                   int64_t delay_ms,
                                   rheo_error **error);

/** Makes a delivery a dead letter, by token: `rheo_instance_reject_token`. */
rheo_status rheo_group_reject_token(const rheo_group *group,
                                    const char *token,
                                    size_t token_len,
                                    const char *reason,
                                    size_t reason_len,
                                    rheo_error **error);

/** Gives a delivery back unworked, by token: `rheo_instance_release_token`. */
rheo_status rheo_group_release_token(const rheo_group *group, const char *token, size_t token_len, rheo_error **error);

/** Extends a claim, by token: `rheo_instance_renew_token`. */
rheo_status rheo_group_renew_token(const rheo_group *group,
                                   const char *token,
                                   size_t token_len,
                                   const int64_t *lease_ms,
                                   int64_t *expires_at,
                                   rheo_error **error);

/** Acks each of an array of leases: `rheo_instance_ack_many`. */
rheo_status rheo_group_ack_many(const rheo_group *group,
                                const rheo_lease *const *leases,
                                size_t leases_len,
                                rheo_results *results,
                                rheo_error **error);

/** Retries each of an array of leases: `rheo_instance_retry_many`. */
rheo_status rheo_group_retry_many(const rheo_group *group,
                                  const rheo_lease *const *leases,
                                  size_t leases_len,
                                  const char *reason,
                                  size_t reason_len,
                                  int64_t delay_ms,
                                  rheo_results *results,
                                  rheo_error **error);

/** Rejects each of an array of leases: `rheo_instance_reject_many`. */
rheo_status rheo_group_reject_many(const rheo_group *group,
                                   const rheo_lease *const *leases,
                                   size_t leases_len,
                                   const char *reason,
                                   size_t reason_len,
                                   rheo_results *results,
                                   rheo_error **error);

/** Releases each of an array of leases: `rheo_instance_release_many`. */
rheo_status rheo_group_release_many(const rheo_group *group,
                                    const rheo_lease *const *leases,
                                    size_t leases_len,
                                    rheo_results *results,
                                    rheo_error **error);

/** Renews each of an array of leases: `rheo_instance_renew_many`. */
rheo_status rheo_group_renew_many(const rheo_group *group,
                                  const rheo_lease *const *leases,
                                  size_t leases_len,
                                  const int64_t *lease_ms,
                                  rheo_results *results,
                                  rheo_error **error);

/** Acks every lease of a list: `rheo_instance_ack_list`. */
rheo_status rheo_group_ack_list(const rheo_group *group,
                                const rheo_lease_list *leases,
                                rheo_results *results,
                                rheo_error **error);

/** Retries every lease of a list: `rheo_instance_retry_list`. */
rheo_status rheo_group_retry_list(const rheo_group *group,
                                  const rheo_lease_list *leases,
                                  const char *reason,
                                  size_t reason_len,
                                  int64_t delay_ms,
                                  rheo_results *results,
                                  rheo_error **error);

/** Rejects every lease of a list: `rheo_instance_reject_list`. */
rheo_status rheo_group_reject_list(const rheo_group *group,
                                   const rheo_lease_list *leases,
                                   const char *reason,
                                   size_t reason_len,
                                   rheo_results *results,
                                   rheo_error **error);

/** Releases every lease of a list: `rheo_instance_release_list`. */
rheo_status rheo_group_release_list(const rheo_group *group,
                                    const rheo_lease_list *leases,
                                    rheo_results *results,
                                    rheo_error **error);

/** Renews every lease of a list: `rheo_instance_renew_list`. */
rheo_status rheo_group_renew_list(const rheo_group *group,
                                  const rheo_lease_list *leases,
                                  const int64_t *lease_ms,
                                  rheo_results *results,
                                  rheo_error **error);

/** Acks the leases of an array of tokens: `rheo_instance_ack_tokens`. */
rheo_status rheo_group_ack_tokens(const rheo_group *group,
                                  const rheo_bytes *tokens,
                                  size_t tokens_len,
                                  rheo_results *results,
                                  rheo_error **error);

/** Retries the leases of an array of tokens: `rheo_instance_retry_tokens`. */
rheo_status rheo_group_retry_tokens(const rheo_group *group,
                                    const rheo_bytes *tokens,
                                    size_t tokens_len,
                                    const char *reason,
                                    size_t reason_len,
                                    int64_t delay_ms,
                                    rheo_results *results,
                                    rheo_error **error);

/** Rejects the leases of an array of tokens: `rheo_instance_reject_tokens`. */
rheo_status rheo_group_reject_tokens(const rheo_group *group,
                                     const rheo_bytes *tokens,
                                     size_t tokens_len,
                                     const char *reason,
                                     size_t reason_len,
                                     rheo_results *results,
                                     rheo_error **error);

/** Releases the leases of an array of tokens: `rheo_instance_release_tokens`. */
rheo_status rheo_group_release_tokens(const rheo_group *group,
                                      const rheo_bytes *tokens,
                                      size_t tokens_len,
                                      rheo_results *results,
                                      rheo_error **error);

/** Renews the leases of an array of tokens: `rheo_instance_renew_tokens`. */
rheo_status rheo_group_renew_tokens(const rheo_group *group,
                                    const rheo_bytes *tokens,
                                    size_t tokens_len,
                                    const int64_t *lease_ms,
                                    rheo_results *results,
                                    rheo_error **error);

/* ====================================================================================================
 * Producer
 *
 * Turns demand into leases: whoever asks for leases by `rheo_producer_next` gets what can be claimed, never more than
 * `max_demand` unsettled ones in all. What runs behind it, such as a pool of threads, owns the concurrency; the
 * producer renews every lease on a thread of the instance's own until it is settled, so that no work, however long,
 * loses one. A lease that is lost all the same is no longer held; settling it is `RHEO_ERROR_STALE_LEASE`.
 *
 * ```c
 * rheo_producer *producer;
 * rheo_lease_list *leases;
 * bool stopped = false;
 * rheo_group_producer(billing, NULL, &producer, NULL);
 * rheo_lease_list_new(&leases, NULL);
 * while (rheo_producer_next(producer, 10, 1000, NULL, leases, &stopped, NULL) == RHEO_OK && !stopped) {
 *     for (size_t i = 0; i < rheo_lease_list_len(leases); i++) {
 *         rheo_producer_ack(producer, rheo_lease_list_get(leases, i), NULL);
 *     }
 * }
 * ```
 *
 * Settle through the producer: the slot of the lease is free then, whatever the settle answered. Parameters and
 * statuses are those of the section on settling. What is settled in another way (through the instance or the group,
 * or by its token in another process) keeps its slot until `rheo_producer_confirm`, or until its renewal finds that
 * it is gone.
 * ==================================================================================================== */

/** Takes leases for whoever asks. Any thread, any number at once. Keeps the instance open. */
typedef struct rheo_producer rheo_producer;

/**
 * Starts a producer for a group; the caller frees it. Nothing is fetched before somebody asks. `options`: NULL for the
 * defaults.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`;
 * `RHEO_ERROR_INVALID_ARGUMENT` for an option out of range; `RHEO_ERROR_FAILED` when the system gives no thread.
 */
rheo_status rheo_instance_producer(const rheo_instance *instance,
                                   const char *stream,
                                   size_t stream_len,
                                   const char *group,
                                   size_t group_len,
                                   const rheo_producer_options *options,
                                   rheo_producer **out,
                                   rheo_error **error);

/** The same by a group's handle: `rheo_instance_producer`. */
rheo_status rheo_group_producer(const rheo_group *group,
                                const rheo_producer_options *options,
                                rheo_producer **out,
                                rheo_error **error);

/**
 * Fills `leases` with at most `most` (1 to 10,000) leases, emptied first; waits up to `timeout_ms` milliseconds (0 to
 * ten years) for the first. Nothing to claim in that time is no error: the list is empty then. With a list that was
 * filled before nothing is allocated here.
 *
 * `interrupt` ends the wait; NULL: none. Under a manual clock the wait is over when that clock has moved by
 * `timeout_ms`, or when so much time has passed. `stopped` says that there will be none any more: the producer was
 * drained or closed. A fetch that fails is told to telemetry (`fetch.error`) and repeated after a back-off.
 *
 * Statuses: `RHEO_ERROR_CLOSED`, `RHEO_ERROR_POISONED`, `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`
 * once the instance, the stream or the group is gone. They also end a wait, and every later call gives the same.
 */
rheo_status rheo_producer_next(const rheo_producer *producer,
                               int64_t most,
                               int64_t timeout_ms,
                               const rheo_interrupt *interrupt,
                               rheo_lease_list *leases,
                               bool *stopped,
                               rheo_error **error);

/** Ends a claim and frees its slot: `rheo_group_ack`. */
rheo_status rheo_producer_ack(const rheo_producer *producer, const rheo_lease *lease, rheo_error **error);

/**
 * Gives a delivery back for another attempt after `*delay_ms` milliseconds (0 to ten years) and frees its slot:
 * `rheo_group_retry`. NULL for `delay_ms`: the producer's retry delay.
 */
rheo_status rheo_producer_retry(const rheo_producer *producer,
                                const rheo_lease *lease,
                                const char *reason,
                                size_t reason_len,
                                const int64_t *delay_ms,
                                rheo_error **error);

/** Makes a delivery a dead letter and frees its slot: `rheo_group_reject`. */
rheo_status rheo_producer_reject(const rheo_producer *producer,
                                 const rheo_lease *lease,
                                 const char *reason,
                                 size_t reason_len,
                                 rheo_error **error);

/** Gives a delivery back unworked and frees its slot: `rheo_group_release`. */
rheo_status rheo_producer_release(const rheo_producer *producer, const rheo_lease *lease, rheo_error **error);

/**
 * Says that the work on a delivery failed: retries it after the retry delay or rejects it, as the producer's
 * `on_failure` says, and frees its slot.
 */
rheo_status rheo_producer_fail(const rheo_producer *producer,
                               const rheo_lease *lease,
                               const char *reason,
                               size_t reason_len,
                               rheo_error **error);

/** `rheo_producer_ack` by token. */
rheo_status rheo_producer_ack_token(const rheo_producer *producer,
                                    const char *token,
                                    size_t token_len,
                                    rheo_error **error);

/** `rheo_producer_retry` by token. */
rheo_status rheo_producer_retry_token(const rheo_producer *producer,
                                      const char *token,
                                      size_t token_len,
                                      const char *reason,
                                      size_t reason_len,
                                      const int64_t *delay_ms,
                                      rheo_error **error);

/** `rheo_producer_reject` by token. */
rheo_status rheo_producer_reject_token(const rheo_producer *producer,
                                       const char *token,
                                       size_t token_len,
                                       const char *reason,
                                       size_t reason_len,
                                       rheo_error **error);

/** `rheo_producer_release` by token. */
rheo_status rheo_producer_release_token(const rheo_producer *producer,
                                        const char *token,
                                        size_t token_len,
                                        rheo_error **error);

/** `rheo_producer_fail` by token. */
rheo_status rheo_producer_fail_token(const rheo_producer *producer,
                                     const char *token,
                                     size_t token_len,
                                     const char *reason,
                                     size_t reason_len,
                                     rheo_error **error);

/** Acks each of an array of leases, frees their slots and fills `results`: `rheo_group_ack_many`. */
rheo_status rheo_producer_ack_many(const rheo_producer *producer,
                                   const rheo_lease *const *leases,
                                   size_t leases_len,
                                   rheo_results *results,
                                   rheo_error **error);

/** Acks every lease of a list, frees their slots and fills `results`: `rheo_group_ack_list`. */
rheo_status rheo_producer_ack_list(const rheo_producer *producer,
                                   const rheo_lease_list *leases,
                                   rheo_results *results,
                                   rheo_error **error);

/** Acks the leases of an array of tokens, frees their slots and fills `results`: `rheo_group_ack_tokens`. */
rheo_status rheo_producer_ack_tokens(const rheo_producer *producer,
                                     const rheo_bytes *tokens,
                                     size_t tokens_len,
                                     rheo_results *results,
                                     rheo_error **error);

/**
 * Frees the slots of leases that were settled without this producer, by an array of lease ids (`rheo_lease_id`), and
 * writes how many of them it held (`freed` may be NULL).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a text that is no lease id; no slot is freed then.
 */
rheo_status rheo_producer_confirm(const rheo_producer *producer,
                                  const rheo_bytes *lease_ids,
                                  size_t lease_ids_len,
                                  uint64_t *freed,
                                  rheo_error **error);

/** Writes how many leases it holds that are not settled. */
rheo_status rheo_producer_inflight_count(const rheo_producer *producer, uint64_t *count, rheo_error **error);

/**
 * Gives no more leases, gives back at once what was fetched and handed to nobody, waits up to `timeout_ms`
 * milliseconds (0 to ten years) for the rest to be settled, and writes whether all of it was. Renews meanwhile, and
 * afterwards too.
 *
 * Statuses: `RHEO_ERROR_ALREADY_DRAINING` while another drain is pending.
 */
rheo_status rheo_producer_drain(const rheo_producer *producer, int64_t timeout_ms, bool *settled, rheo_error **error);

/**
 * Drains for up to `timeout_ms` milliseconds (0 to ten years), then makes available to others what was not settled:
 * settling that is `RHEO_ERROR_STALE_LEASE` afterwards. Threads that wait for leases return promptly. Closing again is
 * fine. The handle is still to be freed.
 */
rheo_status rheo_producer_close(const rheo_producer *producer, int64_t timeout_ms, rheo_error **error);

/** Whether it gives no more leases: it was drained or closed, or ended by itself; false for NULL. */
bool rheo_producer_is_stopped(const rheo_producer *producer);

/** Closes a producer without waiting and frees it; NULL is fine. No other thread may be using it. */
void rheo_producer_free(rheo_producer *producer);

/* ====================================================================================================
 * Work
 *
 * What a consumer's handler is given: leases, and what it says of each. The handler returns `RHEO_OK` to ack all of
 * which it said nothing, and anything else to let those fail; so it sets an outcome only where it means another one:
 *
 * ```c
 * static rheo_status handle(rheo_work *work, void *context) {
 *     rheo_bytes payload = rheo_event_payload(rheo_work_event(work, 0));
 *     if (payload.len == 0)
 *         return rheo_work_reject(work, 0, RHEO_TEXT("empty"), NULL);
 *     return store(context, payload) ? RHEO_OK : RHEO_ERROR_FAILED;
 * }
 * ```
 *
 * Without `batch_size` there is one lease, at position 0. An outcome that is set again replaces the one before. What
 * is said of a lease that was lost meanwhile counts for nothing.
 * ==================================================================================================== */

/**
 * What a handler works on. It lives, with all that it shows, until the handler returns: copy what is to stay
 * (`rheo_lease_clone`, `rheo_event_clone`). Until then any thread may read it, while no other sets outcomes.
 */
typedef struct rheo_work rheo_work;

/** How many leases there are, at least one; 0 for NULL. */
size_t rheo_work_len(const rheo_work *work);

/**
 * The lease at a position from 0; NULL beyond the end. It is not to be settled by the handler: that is what outcomes
 * are for.
 */
const rheo_lease *rheo_work_lease(const rheo_work *work, size_t index);

/** The event of the lease at a position from 0; NULL beyond the end. */
const rheo_event *rheo_work_event(const rheo_work *work, size_t index);

/**
 * Whether it is in vain to go on: one of the leases is lost, the handler has had them for `max_lease_ms`, or the
 * consumer was closed and its time is over. False for NULL.
 */
bool rheo_work_is_cancelled(const rheo_work *work);

/**
 * An interrupt that is fired when `rheo_work_is_cancelled` becomes true, for the handler's own waits. It belongs to
 * the work. NULL for NULL.
 */
const rheo_interrupt *rheo_work_interrupt(const rheo_work *work);

/**
 * Says that the work on the lease at a position from 0 is done, also when the handler returns a failure.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a position beyond the end; the same for the functions that follow.
 */
rheo_status rheo_work_ack(rheo_work *work, size_t index, rheo_error **error);

/**
 * Says that the delivery at a position from 0 is to be tried again after `*delay_ms` milliseconds (0 to ten years);
 * NULL for `delay_ms`: the consumer's retry delay. When this was the attempt `max_attempts`, it becomes a dead letter.
 */
rheo_status rheo_work_retry(rheo_work *work,
                            size_t index,
                            const char *reason,
                            size_t reason_len,
                            const int64_t *delay_ms,
                            rheo_error **error);

/** Says that the delivery at a position from 0 is to become a dead letter. */
rheo_status rheo_work_reject(rheo_work *work, size_t index, const char *reason, size_t reason_len, rheo_error **error);

/**
 * Says that the work on the delivery at a position from 0 failed: what becomes of it the consumer's `on_failure` says.
 */
rheo_status rheo_work_fail(rheo_work *work, size_t index, const char *reason, size_t reason_len, rheo_error **error);

/**
 * Says that the delivery at a position from 0 was not worked on: available to others at once, and the attempt does not
 * count.
 */
rheo_status rheo_work_release(rheo_work *work, size_t index, rheo_error **error);

/**
 * Sets why the leases fail of which the handler says nothing when it returns something else than `RHEO_OK`; when not
 * set, that it returned it.
 */
rheo_status rheo_work_set_reason(rheo_work *work, const char *reason, size_t reason_len, rheo_error **error);

/* ====================================================================================================
 * Consumer
 *
 * A producer with a pool of handlers: calls a function for the events of a group, on threads of its own, settles them
 * by what the function says, renews their leases meanwhile, and waits without polling where the store notifies.
 *
 * ```c
 * static rheo_status handle(rheo_work *work, void *context) {
 *     rheo_bytes payload = rheo_event_payload(rheo_work_event(work, 0));
 *     return send_invoice(context, payload) ? RHEO_OK : RHEO_ERROR_FAILED;
 * }
 *
 * rheo_consumer *consumer;
 * rheo_group_consumer(billing, NULL, handle, mailer, NULL, &consumer, NULL);
 * ...
 * rheo_consumer_close(consumer, 30000, NULL);
 * rheo_consumer_free(consumer);
 * ```
 *
 * Errors of the store never end a consumer: they are told to telemetry (`fetch.error`, `settle.error`) and tried again
 * after a back-off. It ends by itself only when the instance is closed or poisoned, or the stream or the group is
 * gone; then `rheo_consumer_wait` and telemetry (`consumer.stop`) say why.
 *
 * Two consumers on one group compete for its events, as a consumer and a producer do: do that only on purpose. A
 * consumer does not work in a process that was forked off.
 * ==================================================================================================== */

/**
 * Handles some work. `RHEO_OK` acks what it set no other outcome for; any other status, or any other number, fails it.
 * `context` is what was given with it.
 *
 * It is called on the consumer's threads, with no lock held, by up to `concurrency` of them at once. It may call any
 * function; the consumer's own `_drain`, `_close` and `_wait` do not wait then. It must return: no `longjmp`, no
 * exception.
 */
typedef rheo_status (*rheo_handler)(rheo_work *work, void *context);

/** Runs a handler for the events of a group. Any thread, any number at once. Keeps the instance open. */
typedef struct rheo_consumer rheo_consumer;

/**
 * Starts a consumer; the caller frees it. `options`: NULL for the defaults: one handler at a time, one event each.
 *
 * `context` is passed to the handler and may be NULL. `free_context` is called with it, once, when the handler is not
 * running and never will be any more: after the consumer was freed and the last handler has returned, on that thread;
 * also when the start fails. NULL if there is nothing to free.
 *
 * Statuses: `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`, `RHEO_ERROR_INVALID_PARTITION`;
 * `RHEO_ERROR_INVALID_ARGUMENT` for an option out of range, and for NULL as the handler; `RHEO_ERROR_FAILED` when the
 * system gives no thread.
 */
rheo_status rheo_instance_consumer(const rheo_instance *instance,
                                   const char *stream,
                                   size_t stream_len,
                                   const char *group,
                                   size_t group_len,
                                   const rheo_consumer_options *options,
                                   rheo_handler handler,
                                   void *context,
                                   rheo_free_context free_context,
                                   rheo_consumer **out,
                                   rheo_error **error);

/** The same by a group's handle: `rheo_instance_consumer`. */
rheo_status rheo_group_consumer(const rheo_group *group,
                                const rheo_consumer_options *options,
                                rheo_handler handler,
                                void *context,
                                rheo_free_context free_context,
                                rheo_consumer **out,
                                rheo_error **error);

/**
 * Starts no more handlers, gives back at once what no handler has begun with, waits up to `timeout_ms` milliseconds
 * (0 to ten years) for the handlers that run and their settles, and writes whether all is settled. Renews meanwhile.
 *
 * Statuses: `RHEO_ERROR_ALREADY_DRAINING` while another drain is pending.
 */
rheo_status rheo_consumer_drain(const rheo_consumer *consumer, int64_t timeout_ms, bool *settled, rheo_error **error);

/**
 * Drains for up to `timeout_ms` milliseconds (0 to ten years; 30,000 is usual), then fires the cancel signals of the
 * handlers that still run and makes their events available to others: what these handlers say counts for nothing then.
 * Closing again is fine. The handle is still to be freed.
 *
 * Called by a handler of this consumer it waits for nobody and takes nothing away: handlers that run finish.
 */
rheo_status rheo_consumer_close(const rheo_consumer *consumer, int64_t timeout_ms, rheo_error **error);

/**
 * Waits up to `timeout_ms` milliseconds (0 to ten years) until it has ended (it was drained or closed, or met an error
 * that ends it) and all its handlers have returned; writes whether that is so.
 *
 * Statuses: once it has ended, the error that ended it by itself: `RHEO_ERROR_CLOSED`, `RHEO_ERROR_POISONED`,
 * `RHEO_ERROR_STREAM_NOT_FOUND`, `RHEO_ERROR_GROUP_NOT_FOUND`.
 */
rheo_status rheo_consumer_wait(const rheo_consumer *consumer, int64_t timeout_ms, bool *ended, rheo_error **error);

/** Whether it takes events: it was neither drained nor closed, and met no error that ends it. False for NULL. */
bool rheo_consumer_is_running(const rheo_consumer *consumer);

/** Writes how many leases it holds that are not settled. */
rheo_status rheo_consumer_inflight_count(const rheo_consumer *consumer, uint64_t *count, rheo_error **error);

/**
 * Frees a consumer; NULL is fine. Handlers that run finish, on their threads, and their events are settled; no more
 * are started. It does not wait for them: `rheo_consumer_close` does. A handler may free its own consumer.
 */
void rheo_consumer_free(rheo_consumer *consumer);

/* ====================================================================================================
 * Options of a stream
 * ==================================================================================================== */

/** What a stream is created with. One thread at a time. */
typedef struct rheo_stream_options rheo_stream_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_stream_options_new(rheo_stream_options **out, rheo_error **error);

/**
 * Sets one option by name: `partition_count`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
 */
rheo_status rheo_stream_options_set(rheo_stream_options *options,
                                    const char *key,
                                    size_t key_len,
                                    const char *value,
                                    size_t value_len,
                                    rheo_error **error);

/**
 * Sets the number of partitions: 1 to 65,536; 1 when not set. It never changes afterwards. Out of range:
 * `RHEO_ERROR_INVALID_PARTITION_COUNT`, when the stream is created.
 */
rheo_status rheo_stream_options_set_partition_count(rheo_stream_options *options,
                                                    int64_t partition_count,
                                                    rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_stream_options_free(rheo_stream_options *options);

/* ====================================================================================================
 * Options of a group
 *
 * Where a group starts is said by `start_after` or `start_at`, not both; without either it starts at the beginning.
 * Partitions that a map or `partitions` leaves out start at the beginning.
 * ==================================================================================================== */

/** What a group is created with. One thread at a time. */
typedef struct rheo_group_options rheo_group_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_group_options_new(rheo_group_options **out, rheo_error **error);

/**
 * Sets one option by name: `max_attempts`, `max_deliveries`, `ordering` (`none` or `key`), `start_after` (`3` or
 * `{"0": 3, "2": 1}`), `start_at`, `partitions` (`[0, 2]`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_group_options_set(rheo_group_options *options,
                                   const char *key,
                                   size_t key_len,
                                   const char *value,
                                   size_t value_len,
                                   rheo_error **error);

/** Sets at which attempt a retry dead-letters: 1 or more; the instance's `default_max_attempts` when not set. */
rheo_status rheo_group_options_set_max_attempts(rheo_group_options *options, int64_t max_attempts, rheo_error **error);

/**
 * Sets after how many leases a delivery is dead-lettered instead of being offered again, so that a payload which
 * kills its consumers stops circulating; 0, and when not set: never.
 */
rheo_status rheo_group_options_set_max_deliveries(rheo_group_options *options,
                                                  int64_t max_deliveries,
                                                  rheo_error **error);

/**
 * Sets the ordering: `RHEO_ORDERING_NONE` (when not set) or `RHEO_ORDERING_KEY`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
 */
rheo_status rheo_group_options_set_ordering(rheo_group_options *options, rheo_ordering ordering, rheo_error **error);

/** Starts the group after this sequence in every partition (exclusive). Beyond the last event: at the end. */
rheo_status rheo_group_options_set_start_after(rheo_group_options *options, uint64_t sequence, rheo_error **error);

/** Starts the group after this sequence in one partition; called again for each further partition. */
rheo_status rheo_group_options_set_start_after_in(rheo_group_options *options,
                                                  uint32_t partition,
                                                  uint64_t sequence,
                                                  rheo_error **error);

/**
 * Starts the group, per partition, with the first event whose timestamp is at or after this time (microseconds since
 * the Unix epoch), and takes everything after that; at the end when there is none.
 */
rheo_status rheo_group_options_set_start_at(rheo_group_options *options, int64_t micros, rheo_error **error);

/** Limits the start to these partitions, a set that is copied; NULL with length 0: to all. */
rheo_status rheo_group_options_set_partitions(rheo_group_options *options,
                                              const uint32_t *partitions,
                                              size_t partitions_len,
                                              rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_group_options_free(rheo_group_options *options);

/* ====================================================================================================
 * Options of an update
 *
 * What is to change of a group; what is not set stays as it is.
 * ==================================================================================================== */

/** What is to change of a group. One thread at a time. */
typedef struct rheo_update_options rheo_update_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_update_options_new(rheo_update_options **out, rheo_error **error);

/**
 * Sets one option by name: `max_attempts`, `max_deliveries`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
 */
rheo_status rheo_update_options_set(rheo_update_options *options,
                                    const char *key,
                                    size_t key_len,
                                    const char *value,
                                    size_t value_len,
                                    rheo_error **error);

/** Sets at which attempt a retry dead-letters: 1 or more. */
rheo_status rheo_update_options_set_max_attempts(rheo_update_options *options,
                                                 int64_t max_attempts,
                                                 rheo_error **error);

/** Sets after how many leases a delivery is dead-lettered instead of being offered again; 0: never. */
rheo_status rheo_update_options_set_max_deliveries(rheo_update_options *options,
                                                   int64_t max_deliveries,
                                                   rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_update_options_free(rheo_update_options *options);

/* ====================================================================================================
 * Options of an append
 * ==================================================================================================== */

/**
 * What may go with a payload. Texts are copied; `rheo_append_options_clear` keeps the memory, so that a loop which
 * sets the options anew for each event allocates nothing. One thread at a time.
 */
typedef struct rheo_append_options rheo_append_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_append_options_new(rheo_append_options **out, rheo_error **error);

/**
 * Sets one option by name: `id`, `key`, `type`, `metadata`, `timestamp`, `partition`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_append_options_set(rheo_append_options *options,
                                    const char *key,
                                    size_t key_len,
                                    const char *value,
                                    size_t value_len,
                                    rheo_error **error);

/**
 * Sets the event's id: 1 to 255 bytes without control characters. An id that the stream holds appends nothing, so an
 * append with an id may be repeated safely. Without one, an id is generated.
 */
rheo_status rheo_append_options_set_id(rheo_append_options *options, const char *id, size_t id_len, rheo_error **error);

/**
 * Sets the key: 1 to 1,024 bytes. It chooses the partition, unless one is set: the same one in every language, and
 * the one that Kafka's Java client would choose.
 */
rheo_status rheo_append_options_set_key(rheo_append_options *options,
                                        const char *key,
                                        size_t key_len,
                                        rheo_error **error);

/** Sets the type: 1 to 255 bytes without control characters. */
rheo_status rheo_append_options_set_type(rheo_append_options *options,
                                         const char *event_type,
                                         size_t event_type_len,
                                         rheo_error **error);

/**
 * Sets the metadata: the text of a JSON object, at most 64 KiB. By convention `correlation_id`, `causation_id`,
 * `producer`, `schema` and `schema_version` in it tell the event's lineage.
 */
rheo_status rheo_append_options_set_metadata(rheo_append_options *options,
                                             const char *json,
                                             size_t json_len,
                                             rheo_error **error);

/** Sets when it happened, in microseconds since the Unix epoch; the instance's clock when not set. */
rheo_status rheo_append_options_set_timestamp(rheo_append_options *options, int64_t micros, rheo_error **error);

/** Sets the partition, whatever the key. Without partition and key: partition 0. */
rheo_status rheo_append_options_set_partition(rheo_append_options *options, uint32_t partition, rheo_error **error);

/** Back to nothing set. Keeps the memory. */
rheo_status rheo_append_options_clear(rheo_append_options *options, rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_append_options_free(rheo_append_options *options);

/* ====================================================================================================
 * Batch
 *
 * The events of a `..._append_batch`, all or nothing. At most 10,000 events and 64 MiB.
 * ==================================================================================================== */

/**
 * Events to append together, with their bytes. Can be appended more than once, and cleared and filled again without
 * allocating. One thread at a time; several may append the same unchanging batch.
 */
typedef struct rheo_batch rheo_batch;

/** Makes an empty batch. The caller frees it. */
rheo_status rheo_batch_new(rheo_batch **out, rheo_error **error);

/**
 * Adds one event; payload and options are copied. `encoding` is `RHEO_ENCODING_...`. `options` is NULL for none.
 * Names and metadata are checked when the batch is appended.
 *
 * Statuses: `RHEO_ERROR_PAYLOAD_TOO_LARGE` above 16 MiB; `RHEO_ERROR_INVALID_ARGUMENT` beyond the batch's limits and
 * for an unknown encoding. Nothing is added then.
 */
rheo_status rheo_batch_add(rheo_batch *batch,
                           const void *payload,
                           size_t payload_len,
                           rheo_encoding encoding,
                           const rheo_append_options *options,
                           rheo_error **error);

/** Takes all events out. Keeps the memory. */
rheo_status rheo_batch_clear(rheo_batch *batch, rheo_error **error);

/** How many events it holds; 0 for NULL. */
size_t rheo_batch_len(const rheo_batch *batch);

/** Frees a batch; NULL is fine. */
void rheo_batch_free(rheo_batch *batch);

/* ====================================================================================================
 * Query
 *
 * Which events are asked for. `where` is the text of a JSON object of conditions that all have to hold: field to
 * value (equal), or field to operators, as in `{"type": "placed", "total": {"gt": 10, "lte": 20}}`. Operators: `eq`,
 * `ne`, `gt`, `gte`, `lt`, `lte`, `in` (a list), `exists` (`true` or `false`), `prefix`. Fields: `id`, `type`,
 * `key`, `partition`; the lineage keys of the metadata, or `metadata.NAME`; anything else, or `payload.NAME` to say
 * so, is a field of a JSON object payload, dots descending. Types never mix.
 * ==================================================================================================== */

/** Which events are asked for. One thread at a time; several may run the same unchanging query. */
typedef struct rheo_query rheo_query;

/** Makes a query that every event matches. The caller frees it. */
rheo_status rheo_query_new(rheo_query **out, rheo_error **error);

/**
 * Sets one part by name: `where`, `from`, `to`, `after_sequence`, `until_sequence`, `order_by`
 * (`[["timestamp", "desc"], ["sequence", "asc"]]`), `limit`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse.
 */
rheo_status rheo_query_set(rheo_query *query,
                           const char *key,
                           size_t key_len,
                           const char *value,
                           size_t value_len,
                           rheo_error **error);

/**
 * Sets the conditions: the text of a JSON object, as the section's head says. Replaces those set before.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a malformed object, field, operator or operand.
 */
rheo_status rheo_query_set_where(rheo_query *query, const char *json, size_t json_len, rheo_error **error);

/** Only events of this time or later, in microseconds since the Unix epoch. */
rheo_status rheo_query_set_from(rheo_query *query, int64_t micros, rheo_error **error);

/** Only events of this time or earlier, in microseconds since the Unix epoch. */
rheo_status rheo_query_set_to(rheo_query *query, int64_t micros, rheo_error **error);

/** Only events with a higher sequence, in every partition. */
rheo_status rheo_query_set_after_sequence(rheo_query *query, uint64_t sequence, rheo_error **error);

/** Only events with this sequence or a lower one, in every partition. */
rheo_status rheo_query_set_until_sequence(rheo_query *query, uint64_t sequence, rheo_error **error);

/**
 * Orders by this field, after what was added before. Ties go by partition, then by sequence, ascending. Without any
 * order: by sequence, ascending. Pages and iterators have an order of their own and take none.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for a number that is no field or no direction.
 */
rheo_status rheo_query_add_order_by(rheo_query *query,
                                    rheo_order_field field,
                                    rheo_direction direction,
                                    rheo_error **error);

/** At most so many events; of a page and of an iterator: so many at a time. When not set: 100, in a replay all. */
rheo_status rheo_query_set_limit(rheo_query *query, int64_t limit, rheo_error **error);

/** Frees a query; NULL is fine. */
void rheo_query_free(rheo_query *query);

/* ====================================================================================================
 * Options of a trim
 *
 * How far to trim: exactly one of `before_sequence`, `max_len`, `max_age_ms` and `max_bytes`.
 * ==================================================================================================== */

/** How far to trim. One thread at a time. */
typedef struct rheo_trim_options rheo_trim_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_trim_options_new(rheo_trim_options **out, rheo_error **error);

/**
 * Sets one option by name: `before_sequence` (`3` or `{"0": 3, "2": 1}`), `max_len`, `max_age_ms`, `max_bytes`,
 * `force` (`true` or `false`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_trim_options_set(rheo_trim_options *options,
                                  const char *key,
                                  size_t key_len,
                                  const char *value,
                                  size_t value_len,
                                  rheo_error **error);

/** Removes what lies before this sequence, in every partition. */
rheo_status rheo_trim_options_set_before_sequence(rheo_trim_options *options, uint64_t sequence, rheo_error **error);

/**
 * Removes what lies before this sequence in one partition; called again for each further partition. The others are
 * left alone.
 */
rheo_status rheo_trim_options_set_before_sequence_in(rheo_trim_options *options,
                                                     uint32_t partition,
                                                     uint64_t sequence,
                                                     rheo_error **error);

/** Keeps at most so many events per partition. */
rheo_status rheo_trim_options_set_max_len(rheo_trim_options *options, int64_t max_len, rheo_error **error);

/** Removes events older than so many milliseconds, up to the first younger one. */
rheo_status rheo_trim_options_set_max_age_ms(rheo_trim_options *options, int64_t max_age_ms, rheo_error **error);

/** Keeps at most so many bytes per partition, counted as `rheo_partition_info.bytes` is. */
rheo_status rheo_trim_options_set_max_bytes(rheo_trim_options *options, int64_t max_bytes, rheo_error **error);

/** Removes also what some group has not passed or lists as a dead letter; false when not set. */
rheo_status rheo_trim_options_set_force(rheo_trim_options *options, bool force, rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_trim_options_free(rheo_trim_options *options);

/* ====================================================================================================
 * Options of a fetch
 * ==================================================================================================== */

/** How to fetch. One thread at a time; several may fetch with the same unchanging options. */
typedef struct rheo_fetch_options rheo_fetch_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_fetch_options_new(rheo_fetch_options **out, rheo_error **error);

/**
 * Sets one option by name: `limit`, `lease_ms`, `consumer_id`, `partitions` (`[0, 2]`), `wait_ms`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_fetch_options_set(rheo_fetch_options *options,
                                   const char *key,
                                   size_t key_len,
                                   const char *value,
                                   size_t value_len,
                                   rheo_error **error);

/** Sets the most leases to take: 0 to 10,000; the instance's `default_max_demand` when not set. */
rheo_status rheo_fetch_options_set_limit(rheo_fetch_options *options, int64_t limit, rheo_error **error);

/** Sets how long the leases last, in milliseconds: 1 to ten years; the instance's `default_lease_ms` when not set. */
rheo_status rheo_fetch_options_set_lease_ms(rheo_fetch_options *options, int64_t lease_ms, rheo_error **error);

/** Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set. */
rheo_status rheo_fetch_options_set_consumer_id(rheo_fetch_options *options,
                                               const char *consumer_id,
                                               size_t consumer_id_len,
                                               rheo_error **error);

/**
 * Fetches from these partitions only, a set that is copied; NULL with length 0: from all. An empty set (a pointer
 * with length 0) fetches nothing.
 */
rheo_status rheo_fetch_options_set_partitions(rheo_fetch_options *options,
                                              const uint32_t *partitions,
                                              size_t partitions_len,
                                              rheo_error **error);

/** Sets how long to wait for work when there is none, in milliseconds: 0 (when not set) to ten years. */
rheo_status rheo_fetch_options_set_wait_ms(rheo_fetch_options *options, int64_t wait_ms, rheo_error **error);

/** Lets an interrupt end the wait; NULL: none. The options keep what they need of it: the caller may free it. */
rheo_status rheo_fetch_options_set_interrupt(rheo_fetch_options *options,
                                             const rheo_interrupt *interrupt,
                                             rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_fetch_options_free(rheo_fetch_options *options);

/* ====================================================================================================
 * Options of a producer
 * ==================================================================================================== */

/** How a producer takes leases. One thread at a time; several may start producers with the same unchanging options. */
typedef struct rheo_producer_options rheo_producer_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_producer_options_new(rheo_producer_options **out, rheo_error **error);

/**
 * Sets one option by name: `max_demand`, `lease_ms`, `poll_ms`, `consumer_id`, `partitions` (`[0, 2]`), `on_failure`
 * (`retry` or `reject`), `retry_delay` (milliseconds, or `exponential:FIRST_MS:MOST_MS`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_producer_options_set(rheo_producer_options *options,
                                      const char *key,
                                      size_t key_len,
                                      const char *value,
                                      size_t value_len,
                                      rheo_error **error);

/** Sets the most unsettled leases held at once: 1 to 10,000; the instance's `default_max_demand` when not set. */
rheo_status rheo_producer_options_set_max_demand(rheo_producer_options *options,
                                                 int64_t max_demand,
                                                 rheo_error **error);

/**
 * Sets how long the leases last unless they are renewed, in milliseconds: 1 to ten years; the instance's
 * `default_lease_ms` when not set. They are renewed when half of that is over.
 */
rheo_status rheo_producer_options_set_lease_ms(rheo_producer_options *options, int64_t lease_ms, rheo_error **error);

/**
 * Sets how often to look for work where the store does not notify, in milliseconds: 1 to ten years; 200 when not set.
 */
rheo_status rheo_producer_options_set_poll_ms(rheo_producer_options *options, int64_t poll_ms, rheo_error **error);

/** Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set. */
rheo_status rheo_producer_options_set_consumer_id(rheo_producer_options *options,
                                                  const char *consumer_id,
                                                  size_t consumer_id_len,
                                                  rheo_error **error);

/** Takes from these partitions only, a set that is copied and not empty; NULL with length 0: from all. */
rheo_status rheo_producer_options_set_partitions(rheo_producer_options *options,
                                                 const uint32_t *partitions,
                                                 size_t partitions_len,
                                                 rheo_error **error);

/**
 * Sets what `rheo_producer_fail` does: `RHEO_ON_FAILURE_RETRY` (when not set) or `RHEO_ON_FAILURE_REJECT`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
 */
rheo_status rheo_producer_options_set_on_failure(rheo_producer_options *options,
                                                 rheo_on_failure on_failure,
                                                 rheo_error **error);

/**
 * Sets how long a delivery waits for its next attempt where nobody says, in milliseconds: 0 to ten years. When not
 * set, it is as `rheo_producer_options_set_retry_delay_exponential` with 100 and 5,000.
 */
rheo_status rheo_producer_options_set_retry_delay(rheo_producer_options *options, int64_t delay_ms, rheo_error **error);

/**
 * The same with a delay that grows: `first_ms` milliseconds after the first attempt, doubled after each further one, up
 * to `most_ms`.
 */
rheo_status rheo_producer_options_set_retry_delay_exponential(rheo_producer_options *options,
                                                              int64_t first_ms,
                                                              int64_t most_ms,
                                                              rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_producer_options_free(rheo_producer_options *options);

/* ====================================================================================================
 * Options of a consumer
 *
 * Those of a producer, and how the handler is run.
 * ==================================================================================================== */

/**
 * How a consumer runs its handler. One thread at a time; several may start consumers with the same unchanging options.
 */
typedef struct rheo_consumer_options rheo_consumer_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_consumer_options_new(rheo_consumer_options **out, rheo_error **error);

/**
 * Sets one option by name: `concurrency`, `batch_size`, `batch_timeout_ms`, `max_lease_ms`, and those of
 * `rheo_producer_options_set`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_consumer_options_set(rheo_consumer_options *options,
                                      const char *key,
                                      size_t key_len,
                                      const char *value,
                                      size_t value_len,
                                      rheo_error **error);

/** Sets how many handlers run at a time, each on a thread of its own: 1 (when not set) to 10,000. */
rheo_status rheo_consumer_options_set_concurrency(rheo_consumer_options *options,
                                                  int64_t concurrency,
                                                  rheo_error **error);

/** Sets the most events that the handler gets at once: 1 (when not set) to 10,000. */
rheo_status rheo_consumer_options_set_batch_size(rheo_consumer_options *options,
                                                 int64_t batch_size,
                                                 rheo_error **error);

/**
 * Sets how long to wait for a batch to fill once it has its first event, in milliseconds: 0 (when not set: the handler
 * gets what there is) to ten years.
 */
rheo_status rheo_consumer_options_set_batch_timeout_ms(rheo_consumer_options *options,
                                                       int64_t batch_timeout_ms,
                                                       rheo_error **error);

/**
 * Sets after how long the leases of a handler that does not return are no longer renewed and its cancel signal fires,
 * in milliseconds: 0 (when not set: never) to ten years.
 */
rheo_status rheo_consumer_options_set_max_lease_ms(rheo_consumer_options *options,
                                                   int64_t max_lease_ms,
                                                   rheo_error **error);

/**
 * Sets the most unsettled leases held at once: 1 to 10,000, and at least `batch_size`. When not set it is the
 * instance's `default_max_demand`, or what the handlers can hold (`concurrency` times `batch_size`) if that is more.
 */
rheo_status rheo_consumer_options_set_max_demand(rheo_consumer_options *options,
                                                 int64_t max_demand,
                                                 rheo_error **error);

/**
 * Sets how long the leases last unless they are renewed, in milliseconds: 1 to ten years; the instance's
 * `default_lease_ms` when not set. They are renewed when half of that is over.
 */
rheo_status rheo_consumer_options_set_lease_ms(rheo_consumer_options *options, int64_t lease_ms, rheo_error **error);

/**
 * Sets how often to look for work where the store does not notify, in milliseconds: 1 to ten years; 200 when not set.
 */
rheo_status rheo_consumer_options_set_poll_ms(rheo_consumer_options *options, int64_t poll_ms, rheo_error **error);

/** Sets who takes the leases: 1 to 255 bytes without control characters; an id made for the instance when not set. */
rheo_status rheo_consumer_options_set_consumer_id(rheo_consumer_options *options,
                                                  const char *consumer_id,
                                                  size_t consumer_id_len,
                                                  rheo_error **error);

/** Takes from these partitions only, a set that is copied and not empty; NULL with length 0: from all. */
rheo_status rheo_consumer_options_set_partitions(rheo_consumer_options *options,
                                                 const uint32_t *partitions,
                                                 size_t partitions_len,
                                                 rheo_error **error);

/**
 * Sets what becomes of a delivery whose handler failed: `RHEO_ON_FAILURE_RETRY` (when not set) or
 * `RHEO_ON_FAILURE_REJECT`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another number.
 */
rheo_status rheo_consumer_options_set_on_failure(rheo_consumer_options *options,
                                                 rheo_on_failure on_failure,
                                                 rheo_error **error);

/**
 * Sets how long a delivery waits for its next attempt where nobody says, in milliseconds: 0 to ten years. When not
 * set, it is as `rheo_consumer_options_set_retry_delay_exponential` with 100 and 5,000.
 */
rheo_status rheo_consumer_options_set_retry_delay(rheo_consumer_options *options, int64_t delay_ms, rheo_error **error);

/**
 * The same with a delay that grows: `first_ms` milliseconds after the first attempt, doubled after each further one, up
 * to `most_ms`.
 */
rheo_status rheo_consumer_options_set_retry_delay_exponential(rheo_consumer_options *options,
                                                              int64_t first_ms,
                                                              int64_t most_ms,
                                                              rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_consumer_options_free(rheo_consumer_options *options);

/* ====================================================================================================
 * Interrupt
 *
 * Ends waits from another thread. A fetch that waits under an interrupt returns what it has, usually nothing, with
 * `RHEO_OK`, once the interrupt is fired. A fired interrupt ends every later wait at once until it is reset.
 * ==================================================================================================== */

/** Ends waits. Any thread, several at once. May be freed while a fetch waits under it. */
typedef struct rheo_interrupt rheo_interrupt;

/** Makes an interrupt that is not fired. The caller frees it. */
rheo_status rheo_interrupt_new(rheo_interrupt **out, rheo_error **error);

/** Ends every wait under this interrupt, now and until it is reset. Takes a lock: not for signal handlers. */
rheo_status rheo_interrupt_fire(const rheo_interrupt *interrupt, rheo_error **error);

/** Lets waits wait again. */
rheo_status rheo_interrupt_reset(const rheo_interrupt *interrupt, rheo_error **error);

/** Whether it was fired and not reset since; false for NULL. */
bool rheo_interrupt_is_fired(const rheo_interrupt *interrupt);

/** Frees an interrupt; NULL is fine. Options that hold it keep working with it. */
void rheo_interrupt_free(rheo_interrupt *interrupt);

/* ====================================================================================================
 * Options of a list of dead letters
 * ==================================================================================================== */

/** How to list dead letters. One thread at a time. */
typedef struct rheo_dead_letter_options rheo_dead_letter_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_dead_letter_options_new(rheo_dead_letter_options **out, rheo_error **error);

/**
 * Sets one option by name: `limit`, `after`, `partitions` (`[0, 2]`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_dead_letter_options_set(rheo_dead_letter_options *options,
                                         const char *key,
                                         size_t key_len,
                                         const char *value,
                                         size_t value_len,
                                         rheo_error **error);

/** Sets the most to list: 0 or more; 100 when not set. */
rheo_status rheo_dead_letter_options_set_limit(rheo_dead_letter_options *options, int64_t limit, rheo_error **error);

/** Goes on after the dead letter of this event id: the last one of the list before. */
rheo_status rheo_dead_letter_options_set_after(rheo_dead_letter_options *options,
                                               const char *event_id,
                                               size_t event_id_len,
                                               rheo_error **error);

/** Lists those of these partitions only, a set that is copied; NULL with length 0: of all. */
rheo_status rheo_dead_letter_options_set_partitions(rheo_dead_letter_options *options,
                                                    const uint32_t *partitions,
                                                    size_t partitions_len,
                                                    rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_dead_letter_options_free(rheo_dead_letter_options *options);

/* ====================================================================================================
 * Options of a replay
 *
 * What to replay: exactly one of `from_sequence`, `from`, event ids and a query.
 * ==================================================================================================== */

/** What to replay. One thread at a time. */
typedef struct rheo_replay_options rheo_replay_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_replay_options_new(rheo_replay_options **out, rheo_error **error);

/**
 * Sets one option by name: `from_sequence` (`3` or `{"0": 3, "2": 1}`), `from`, `event_ids` (`["a", "b"]`), `query`
 * (an object of the names that `rheo_query_set` takes), `partitions` (`[0, 2]`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_replay_options_set(rheo_replay_options *options,
                                    const char *key,
                                    size_t key_len,
                                    const char *value,
                                    size_t value_len,
                                    rheo_error **error);

/** Replays everything after this sequence (exclusive), in every partition. */
rheo_status rheo_replay_options_set_from_sequence(rheo_replay_options *options, uint64_t sequence, rheo_error **error);

/**
 * Replays everything after this sequence in one partition; called again for each further partition. The others are
 * left alone.
 */
rheo_status rheo_replay_options_set_from_sequence_in(rheo_replay_options *options,
                                                     uint32_t partition,
                                                     uint64_t sequence,
                                                     rheo_error **error);

/**
 * Replays, per partition, everything from the first event on whose timestamp is at or after this time, in
 * microseconds since the Unix epoch.
 */
rheo_status rheo_replay_options_set_from(rheo_replay_options *options, int64_t micros, rheo_error **error);

/** Replays the event with this id too. An id that the stream does not hold reopens nothing. */
rheo_status rheo_replay_options_add_event_id(rheo_replay_options *options,
                                             const char *event_id,
                                             size_t event_id_len,
                                             rheo_error **error);

/** Replays the events that match a query, which is copied; without a limit of its own, all of them. */
rheo_status rheo_replay_options_set_query(rheo_replay_options *options, const rheo_query *query, rheo_error **error);

/** Replays in these partitions only, a set that is copied; NULL with length 0: in all. */
rheo_status rheo_replay_options_set_partitions(rheo_replay_options *options,
                                               const uint32_t *partitions,
                                               size_t partitions_len,
                                               rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_replay_options_free(rheo_replay_options *options);

/* ====================================================================================================
 * Options of a reset
 *
 * A reset wants `confirm`, for what the group knows is lost. The new start is said as when a group is created;
 * without one it is the beginning. Partitions that a map or `partitions` leaves out are left alone.
 * ==================================================================================================== */

/** How to reset a group. One thread at a time. */
typedef struct rheo_reset_options rheo_reset_options;

/** Makes options with nothing set. The caller frees them. */
rheo_status rheo_reset_options_new(rheo_reset_options **out, rheo_error **error);

/**
 * Sets one option by name: `confirm` (`true` or `false`), `start_after` (`3` or `{"0": 3, "2": 1}`), `start_at`,
 * `partitions` (`[0, 2]`).
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name and for a value that does not parse;
 * `RHEO_ERROR_INVALID_PARTITION` for a number that no partition has.
 */
rheo_status rheo_reset_options_set(rheo_reset_options *options,
                                   const char *key,
                                   size_t key_len,
                                   const char *value,
                                   size_t value_len,
                                   rheo_error **error);

/** Says that the reset is meant; false when not set, which gives `RHEO_ERROR_CONFIRM_REQUIRED`. */
rheo_status rheo_reset_options_set_confirm(rheo_reset_options *options, bool confirm, rheo_error **error);

/** Starts anew after this sequence in every partition (exclusive). Beyond the last event: at the end. */
rheo_status rheo_reset_options_set_start_after(rheo_reset_options *options, uint64_t sequence, rheo_error **error);

/** Starts anew after this sequence in one partition; called again for each further partition. */
rheo_status rheo_reset_options_set_start_after_in(rheo_reset_options *options,
                                                  uint32_t partition,
                                                  uint64_t sequence,
                                                  rheo_error **error);

/**
 * Starts anew, per partition, with the first event whose timestamp is at or after this time, in microseconds since
 * the Unix epoch; at the end when there is none.
 */
rheo_status rheo_reset_options_set_start_at(rheo_reset_options *options, int64_t micros, rheo_error **error);

/** Resets these partitions only, a set that is copied; NULL with length 0: all. */
rheo_status rheo_reset_options_set_partitions(rheo_reset_options *options,
                                              const uint32_t *partitions,
                                              size_t partitions_len,
                                              rheo_error **error);

/** Frees options; NULL is fine. */
void rheo_reset_options_free(rheo_reset_options *options);

/* ====================================================================================================
 * Event
 *
 * One immutable record of a partition, lists of them, and an iterator. An event refers to the store's bytes and
 * copies none; one that is held keeps the memory around it alive, usually at most 1 MiB.
 * ==================================================================================================== */

/** One event. Never changes; any thread may read it, several at once. Views that it gives live as long as it does. */
typedef struct rheo_event rheo_event;

/** The id: the one given at append, or a generated UUIDv7. */
rheo_bytes rheo_event_id(const rheo_event *event);

/** The stream's name. */
rheo_bytes rheo_event_stream(const rheo_event *event);

/** The partition, from 0. */
uint32_t rheo_event_partition(const rheo_event *event);

/** The position in the partition, from 1, without gaps. 0 for NULL. */
uint64_t rheo_event_sequence(const rheo_event *event);

/** When it happened, in microseconds since the Unix epoch. Timestamps need not ascend. */
int64_t rheo_event_timestamp(const rheo_event *event);

/** The key; `data` is NULL when it was given none. */
rheo_bytes rheo_event_key(const rheo_event *event);

/** The type; `data` is NULL when it was given none. */
rheo_bytes rheo_event_type(const rheo_event *event);

/** The metadata: the text of a JSON object, `{}` when it was given none. */
rheo_bytes rheo_event_metadata(const rheo_event *event);

/** The payload, byte for byte as it was appended. */
rheo_bytes rheo_event_payload(const rheo_event *event);

/** How the producer tagged the payload: `RHEO_ENCODING_...`. */
rheo_encoding rheo_event_encoding(const rheo_event *event);

/** Whether this is what stood already when an append with its id appended nothing. */
bool rheo_event_deduplicated(const rheo_event *event);

/**
 * Makes a handle of the event that outlives the list, lease or dead letter it is part of. Copies no bytes. The
 * caller frees it.
 */
rheo_status rheo_event_clone(const rheo_event *event, rheo_event **out, rheo_error **error);

/**
 * Frees an event that a function wrote out or that was cloned; NULL is fine. One that is part of a list, a lease, a
 * dead letter or an iterator belongs to it.
 */
void rheo_event_free(rheo_event *event);

/**
 * Events, in order. Filled by reads, queries and batches, each of which replaces what was in it, also when it fails.
 * Filled by one thread while no other uses it; read by any number.
 */
typedef struct rheo_event_list rheo_event_list;

/** Makes an empty list. The caller frees it. */
rheo_status rheo_event_list_new(rheo_event_list **out, rheo_error **error);

/** How many events it holds; 0 for NULL. */
size_t rheo_event_list_len(const rheo_event_list *events);

/** The event at a position from 0; NULL beyond the end. It belongs to the list, until that is filled again or freed. */
const rheo_event *rheo_event_list_get(const rheo_event_list *events, size_t index);

/** After a `..._query_page`: the cursor of the next page; `data` is NULL when this was the last one. */
rheo_bytes rheo_event_list_next_cursor(const rheo_event_list *events);

/** Frees a list with its events; NULL is fine. */
void rheo_event_list_free(rheo_event_list *events);

/**
 * What a `..._query_stream` gives: all events that match, a page at a time as they are asked for. One thread at a
 * time. Keeps the instance open.
 */
typedef struct rheo_event_iterator rheo_event_iterator;

/**
 * Gives the next event; NULL with `RHEO_OK` at the end. It belongs to the iterator, until the next call or free.
 *
 * Statuses: as `rheo_instance_query`; an error ends the iteration.
 */
rheo_status rheo_event_iterator_next(rheo_event_iterator *iterator, const rheo_event **out, rheo_error **error);

/** Frees an iterator with the event that it gave last; NULL is fine. */
void rheo_event_iterator_free(rheo_event_iterator *iterator);

/* ====================================================================================================
 * Lease
 *
 * A claim on one delivery until `expires_at`, fenced by its lease id. It is settled through the instance
 * (`rheo_instance_ack` and so on). Freeing a lease or its list settles nothing: the claim ends by a settle or by
 * expiry.
 * ==================================================================================================== */

/** One lease. Never changes; any thread may read and settle it. Views that it gives live as long as it does. */
typedef struct rheo_lease rheo_lease;

/** The fence: 32 hexadecimal digits, new at each claim, kept by renew. */
rheo_bytes rheo_lease_id(const rheo_lease *lease);

/** The store's own identity of the claim; the same text as the lease id where the store has none. */
rheo_bytes rheo_lease_receipt(const rheo_lease *lease);

/** The stream's name. */
rheo_bytes rheo_lease_stream(const rheo_lease *lease);

/** The group's name. */
rheo_bytes rheo_lease_group(const rheo_lease *lease);

/** Who holds it. */
rheo_bytes rheo_lease_consumer_id(const rheo_lease *lease);

/**
 * The token: printable text without the event. Whoever reaches the same store can settle by it
 * (`rheo_instance_ack_token` and so on), from another thread, process or language.
 */
rheo_bytes rheo_lease_token(const rheo_lease *lease);

/** The event that is claimed. It belongs to the lease; `rheo_event_clone` makes one that outlives it. NULL for NULL. */
const rheo_event *rheo_lease_event(const rheo_lease *lease);

/** Which delivery of the event to the group this is, from 1. */
uint32_t rheo_lease_attempt(const rheo_lease *lease);

/** The duration asked for, in milliseconds. */
int64_t rheo_lease_ms(const rheo_lease *lease);

/** When it was claimed, by the instance's clock, in microseconds since the Unix epoch. */
int64_t rheo_lease_leased_at(const rheo_lease *lease);

/**
 * When it expires, in microseconds since the Unix epoch. Informational: the store's own deadline counts. A renew
 * does not change it; that gives the new time itself.
 */
int64_t rheo_lease_expires_at(const rheo_lease *lease);

/** Makes a handle of the lease that outlives its list. It is the same claim: it settles once. The caller frees it. */
rheo_status rheo_lease_clone(const rheo_lease *lease, rheo_lease **out, rheo_error **error);

/** Frees a lease that was cloned; NULL is fine. One that is part of a list belongs to it. */
void rheo_lease_free(rheo_lease *lease);

/**
 * Leases, in order. Filled by a fetch, which replaces what was in it, also when it fails; a list that is filled
 * again uses its memory again, so that a loop of fetches allocates nothing. Filled by one thread while no other uses
 * it; read by any number.
 */
typedef struct rheo_lease_list rheo_lease_list;

/** Makes an empty list. The caller frees it. */
rheo_status rheo_lease_list_new(rheo_lease_list **out, rheo_error **error);

/** How many leases it holds; 0 for NULL. */
size_t rheo_lease_list_len(const rheo_lease_list *leases);

/** The lease at a position from 0; NULL beyond the end. It belongs to the list, until that is filled again or freed. */
const rheo_lease *rheo_lease_list_get(const rheo_lease_list *leases, size_t index);

/** Frees a list with its leases; NULL is fine. Settles nothing. */
void rheo_lease_list_free(rheo_lease_list *leases);

/* ====================================================================================================
 * List of names
 * ==================================================================================================== */

/** Names of streams or groups, sorted by code point. Never changes; any thread may read it, several at once. */
typedef struct rheo_name_list rheo_name_list;

/** How many names it holds; 0 for NULL. */
size_t rheo_name_list_len(const rheo_name_list *names);

/** The name at a position from 0; `data` is NULL beyond the end. */
rheo_bytes rheo_name_list_get(const rheo_name_list *names, size_t index);

/** Frees a list; NULL is fine. */
void rheo_name_list_free(rheo_name_list *names);

/* ====================================================================================================
 * Stream info
 *
 * What there is to know of a stream, partition by partition.
 * ==================================================================================================== */

/** What there is to know of a stream. Never changes; any thread may read it, several at once. */
typedef struct rheo_stream_info rheo_stream_info;

/** The stream's name. */
rheo_bytes rheo_stream_info_stream(const rheo_stream_info *info);

/** How many partitions the stream has; 0 for NULL. */
size_t rheo_stream_info_len(const rheo_stream_info *info);

/**
 * Writes what there is to know of the partition at a position from 0, which is its number. What `out` points to
 * belongs to the info.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` beyond the end.
 */
rheo_status rheo_stream_info_get(const rheo_stream_info *info,
                                 size_t index,
                                 rheo_partition_info *out,
                                 rheo_error **error);

/** Frees an info; NULL is fine. */
void rheo_stream_info_free(rheo_stream_info *info);

/* ====================================================================================================
 * Lag
 *
 * How far a group is behind: exact at the moment it was taken.
 * ==================================================================================================== */

/** A group's progress. Never changes; any thread may read it, several at once. */
typedef struct rheo_lag rheo_lag;

/** The stream's name. */
rheo_bytes rheo_lag_stream(const rheo_lag *lag);

/** The group's name. */
rheo_bytes rheo_lag_group(const rheo_lag *lag);

/** The group's lag: the sum over the partitions that were asked for. */
uint64_t rheo_lag_total(const rheo_lag *lag);

/** How many partitions were asked for; 0 for NULL. */
size_t rheo_lag_len(const rheo_lag *lag);

/**
 * Writes the progress in the partition at a position from 0; partitions ascend.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` beyond the end.
 */
rheo_status rheo_lag_get(const rheo_lag *lag, size_t index, rheo_partition_lag *out, rheo_error **error);

/** Frees a lag that a function wrote out; NULL is fine. One that is part of a group's info belongs to it. */
void rheo_lag_free(rheo_lag *lag);

/* ====================================================================================================
 * Group info
 *
 * What there is to know of a group: exact at the moment it was taken, over the partitions that were asked for.
 * ==================================================================================================== */

/** What there is to know of a group. Never changes; any thread may read it, several at once. */
typedef struct rheo_group_info rheo_group_info;

/** Frontier, high watermark and lag. It belongs to the info. NULL for NULL. */
const rheo_lag *rheo_group_info_lag(const rheo_group_info *info);

/** Leases that have not expired. */
uint64_t rheo_group_info_inflight_count(const rheo_group_info *info);

/** Deliveries that are open and can be claimed now. */
uint64_t rheo_group_info_available_count(const rheo_group_info *info);

/** Deliveries that are open and whose retry is not due yet. */
uint64_t rheo_group_info_delayed_count(const rheo_group_info *info);

/** Dead letters. */
uint64_t rheo_group_info_dead_letter_count(const rheo_group_info *info);

/**
 * Writes the oldest timestamp among the events right after each partition's frontier, in microseconds since the Unix
 * epoch (NULL allowed), and says whether there is one: there is none at lag 0.
 */
bool rheo_group_info_oldest_unsettled_at(const rheo_group_info *info, int64_t *micros);

/** At which attempt a retry dead-letters. */
uint32_t rheo_group_info_max_attempts(const rheo_group_info *info);

/** After how many leases a delivery is dead-lettered instead of being offered again; 0: never. */
uint32_t rheo_group_info_max_deliveries(const rheo_group_info *info);

/** Whether the order per key is kept: `RHEO_ORDERING_...`. */
rheo_ordering rheo_group_info_ordering(const rheo_group_info *info);

/** Frees an info; NULL is fine. */
void rheo_group_info_free(rheo_group_info *info);

/* ====================================================================================================
 * Dead letter
 *
 * A delivery that was rejected, or that ran into a limit, with its reason; it is not fetched again until replayed.
 * Its stream, partition, sequence and id are its event's.
 * ==================================================================================================== */

/** One dead letter; belongs to its list. Never changes; any thread may read it, several at once. */
typedef struct rheo_dead_letter rheo_dead_letter;

/** The event. It belongs to the dead letter. NULL for NULL. */
const rheo_event *rheo_dead_letter_event(const rheo_dead_letter *letter);

/** The group's name. */
rheo_bytes rheo_dead_letter_group(const rheo_dead_letter *letter);

/** How often it had been delivered. */
uint32_t rheo_dead_letter_attempt(const rheo_dead_letter *letter);

/** Why, at most 1 KiB. */
rheo_bytes rheo_dead_letter_reason(const rheo_dead_letter *letter);

/** When, by the instance's clock, in microseconds since the Unix epoch. */
int64_t rheo_dead_letter_dead_lettered_at(const rheo_dead_letter *letter);

/** Dead letters, ordered by partition and sequence. Never changes; any thread may read it, several at once. */
typedef struct rheo_dead_letter_list rheo_dead_letter_list;

/** How many dead letters it holds; 0 for NULL. */
size_t rheo_dead_letter_list_len(const rheo_dead_letter_list *letters);

/** The dead letter at a position from 0; NULL beyond the end. It belongs to the list. */
const rheo_dead_letter *rheo_dead_letter_list_get(const rheo_dead_letter_list *letters, size_t index);

/** Frees a list with its dead letters; NULL is fine. */
void rheo_dead_letter_list_free(rheo_dead_letter_list *letters);

/* ====================================================================================================
 * Capabilities
 *
 * What an instance's backend guarantees, and by which mechanisms: two mappings of names to booleans. They can be
 * asked by name and walked by position.
 * ==================================================================================================== */

/** What a backend guarantees and how. Never changes; any thread may read it, several at once. */
typedef struct rheo_capabilities rheo_capabilities;

/** How many guarantees there are; 0 for NULL. */
size_t rheo_capabilities_guarantees_len(const rheo_capabilities *capabilities);

/** The name of the guarantee at a position from 0; `data` is NULL beyond the end. */
rheo_bytes rheo_capabilities_guarantee_name(const rheo_capabilities *capabilities, size_t index);

/**
 * Writes whether a guarantee is given: `durable`, `distributed`, `at_least_once`, `lease_fencing`, `partitions`,
 * `contiguous_frontier`, `replay`, `ordered_range_scan`, `secondary_indexes`, `batch_writes`, `multi_process`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name.
 */
rheo_status rheo_capabilities_guarantee(const rheo_capabilities *capabilities,
                                        const char *name,
                                        size_t name_len,
                                        bool *out,
                                        rheo_error **error);

/** How many mechanisms there are; 0 for NULL. */
size_t rheo_capabilities_mechanisms_len(const rheo_capabilities *capabilities);

/** The name of the mechanism at a position from 0; `data` is NULL beyond the end. */
rheo_bytes rheo_capabilities_mechanism_name(const rheo_capabilities *capabilities, size_t index);

/**
 * Writes whether a mechanism is used: `atomic_compare_and_set`, `notifications`, `change_feed`,
 * `native_consumer_groups`, `native_pending_list`, `native_reclaim`, `blocking_reads`, `native_group_lag`.
 *
 * Statuses: `RHEO_ERROR_INVALID_ARGUMENT` for another name.
 */
rheo_status rheo_capabilities_mechanism(const rheo_capabilities *capabilities,
                                        const char *name,
                                        size_t name_len,
                                        bool *out,
                                        rheo_error **error);

/** Frees capabilities; NULL is fine. */
void rheo_capabilities_free(rheo_capabilities *capabilities);

#ifdef __cplusplus
}
#endif

#endif /* RHEO_H */
