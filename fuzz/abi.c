/*
 * A libFuzzer target: the input is a program of calls of rheo.h. Each call takes its arguments from the input too:
 * handles that are alive (or NULL), texts and arrays of any length that the buffer has, numbers of any size. What the
 * header promises of every call is checked after it; address sanitizer checks the rest. scripts/fuzz.sh builds it.
 *
 * Within the header's rules: what a handle lends is not used once that handle was freed or filled again, and no array
 * is said to be longer than it is. Those a C library cannot survive.
 */

#define _XOPEN_SOURCE 700

#include <ftw.h>
#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n  in %s\n", __FILE__, __LINE__, #condition, current);                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The function that is being called; told as it is when RHEO_FUZZ_TRACE is set. */
static const char *current;

/* ------------------------------------------------------------------------------------------------------- the input */

static const uint8_t *input;
static size_t input_left;

static uint8_t take(void) {
    if (input_left == 0)
        return 0;
    input_left--;
    return *input++;
}

/* Numbers around which something changes, or a small one. */
static int64_t take_number(void) {
    static const int64_t edges[] = {
        -1,        0,          1,     2,         100,        255,         256,          1000,         1024,
        10000,     10001,      65535, 65536,     65537,      1 << 20,     INT32_MAX,    INT32_MIN,    INT64_MAX,
        INT64_MIN, UINT32_MAX, 30000, 315360000, 1000000000, 60000000000, 315360000000, 315576000001,
    };
    uint8_t byte = take();
    return byte < 192 ? byte % 8 : edges[byte % COUNT(edges)];
}

static int32_t take_constant(void) {
    uint8_t byte = take();
    return byte < 240 ? byte % 3 : (int32_t)take_number();
}

/* More partitions are fine, and slow. */
static int64_t at_most_64(int64_t count) {
    return count > 64 && count <= 65536 ? 64 : count;
}

/* A consumer has so many threads. */
static int64_t at_most_4(int64_t count) {
    return count > 4 && count <= 10000 ? 4 : count;
}

/* What waits, waits that long in earnest, for nobody moves the clock meanwhile. */
static int64_t at_most_a_moment(int64_t timeout_ms) {
    return timeout_ms > 1 && timeout_ms <= 315360000000 ? 1 : timeout_ms;
}

/* What a call gets is in memory of its own size, so that a read beyond its end is seen; freed after the call. */
static void *scratch[64];
static size_t scratch_used;

static void *scratch_copy(const void *data, size_t size) {
    void *copy = malloc(size);
    CHECK(copy != NULL && scratch_used < COUNT(scratch));
    if (size > 0 && data != NULL)
        memcpy(copy, data, size);
    return scratch[scratch_used++] = copy;
}

/* ------------------------------------------------------------------------------------------------------- the handles */

enum { SLOTS = 3 };

/* What an output holds before a call; no call may leave it there. */
static void *const impossible = (void *)0x5a5a;

/*
 * A table of the handles of one type: one that is alive (or NULL) for a call, a place for one that a call gave, and one
 * that a call is to free.
 */
#define TABLE(type)                                                                                                    \
    static rheo_##type *type##s[SLOTS];                                                                                \
    static rheo_##type *own_##type(void) {                                                                             \
        uint8_t number = take();                                                                                       \
        for (int i = 0; i < SLOTS && number < 248; i++) {                                                              \
            if (type##s[(number + i) % SLOTS] != NULL)                                                                 \
                return type##s[(number + i) % SLOTS];                                                                  \
        }                                                                                                              \
        return NULL;                                                                                                   \
    }                                                                                                                  \
    static void keep_##type(rheo_##type *handle) {                                                                     \
        rheo_##type **slot = &type##s[take() % SLOTS];                                                                 \
        if (handle != NULL) {                                                                                          \
            rheo_##type##_free(*slot);                                                                                 \
            *slot = handle;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static rheo_##type *give_up_##type(void) {                                                                         \
        rheo_##type **slot = &type##s[take() % SLOTS], *handle = *slot;                                                \
        *slot = NULL;                                                                                                  \
        return handle;                                                                                                 \
    }                                                                                                                  \
    static void free_##type##s(void) {                                                                                 \
        for (int slot = 0; slot < SLOTS; slot++) {                                                                     \
            rheo_##type##_free(type##s[slot]);                                                                         \
            type##s[slot] = NULL;                                                                                      \
        }                                                                                                              \
    }

#define TAKEN_FROM_TABLE(type)                                                                                         \
    TABLE(type)                                                                                                        \
    static rheo_##type *take_##type(void) {                                                                            \
        return own_##type();                                                                                           \
    }

/* All types: those that a program makes, those that it is given, and those that handles of other types lend as well. */
#define MADE_TYPES(EACH)                                                                                               \
    EACH(options)                                                                                                      \
    EACH(results)                                                                                                      \
    EACH(stream_options)                                                                                               \
    EACH(group_options)                                                                                                \
    EACH(update_options)                                                                                               \
    EACH(append_options)                                                                                               \
    EACH(batch)                                                                                                        \
    EACH(query)                                                                                                        \
    EACH(trim_options)                                                                                                 \
    EACH(fetch_options)                                                                                                \
    EACH(producer_options)                                                                                             \
    EACH(consumer_options)                                                                                             \
    EACH(interrupt)                                                                                                    \
    EACH(dead_letter_options)                                                                                          \
    EACH(replay_options)                                                                                               \
    EACH(reset_options)                                                                                                \
    EACH(event_list)                                                                                                   \
    EACH(lease_list)

#define GIVEN_TYPES(EACH)                                                                                              \
    EACH(stream)                                                                                                       \
    EACH(group)                                                                                                        \
    EACH(producer)                                                                                                     \
    EACH(consumer)                                                                                                     \
    EACH(event_iterator)                                                                                               \
    EACH(name_list)                                                                                                    \
    EACH(stream_info)                                                                                                  \
    EACH(group_info)                                                                                                   \
    EACH(dead_letter_list)                                                                                             \
    EACH(capabilities)

#define LENT_TYPES(EACH)                                                                                               \
    EACH(error)                                                                                                        \
    EACH(instance)                                                                                                     \
    EACH(event)                                                                                                        \
    EACH(lease)                                                                                                        \
    EACH(lag)

MADE_TYPES(TAKEN_FROM_TABLE)
GIVEN_TYPES(TAKEN_FROM_TABLE)
LENT_TYPES(TABLE)

/* A position in something of this length, or beyond. */
static size_t take_index(size_t len) {
    uint8_t number = take();
    return number < 240 && len > 0 ? number % len : (size_t)take_number();
}

static rheo_error *take_error(void) {
    if (take() % 2)
        return own_error();
    const rheo_results *results = take_results();
    return (rheo_error *)rheo_results_error(results, take_index(rheo_results_len(results)));
}

static rheo_instance *take_instance(void) {
    switch (take() % 8) {
    case 0:
        return (rheo_instance *)rheo_stream_instance(take_stream());
    case 1:
        return (rheo_instance *)rheo_group_instance(take_group());
    default:
        return own_instance();
    }
}

static rheo_lease *take_lease(void) {
    if (take() % 4 == 0)
        return own_lease();
    const rheo_lease_list *list = take_lease_list();
    return (rheo_lease *)rheo_lease_list_get(list, take_index(rheo_lease_list_len(list)));
}

static rheo_dead_letter *take_dead_letter(void) {
    const rheo_dead_letter_list *list = take_dead_letter_list();
    return (rheo_dead_letter *)rheo_dead_letter_list_get(list, take_index(rheo_dead_letter_list_len(list)));
}

static rheo_event *take_event(void) {
    const rheo_event_list *list;
    switch (take() % 4) {
    case 0:
        list = take_event_list();
        return (rheo_event *)rheo_event_list_get(list, take_index(rheo_event_list_len(list)));
    case 1:
        return (rheo_event *)rheo_lease_event(take_lease());
    case 2:
        return (rheo_event *)rheo_dead_letter_event(take_dead_letter());
    default:
        return own_event();
    }
}

static rheo_lag *take_lag(void) {
    return take() % 2 ? own_lag() : (rheo_lag *)rheo_group_info_lag(take_group_info());
}

/* --------------------------------------------------------------------------------------------- what a call may be given */

enum texts { STREAM, GROUP, NAME, URL, EVENT_ID, KEY, TOKEN, CURSOR, JSON, OPTION, VALUE, REASON };

static const char *const samples[][16] = {
    [STREAM] = {"s", "s", "s", "t", "flaky!ambiguous:any:1", "flaky!failed:settle:2"},
    [GROUP] = {"g", "g", "g", "h"},
    [NAME] = {"n", "placed", "durable", "atomic_compare_and_set"},
    [URL] = {"memory:", "memory:", "native-stream-double:", "flaky:memory:", "flaky:native-stream-double:", "redis://r",
             "journal:j?sync=never", "journal:j?sync=interval:1&segment_bytes=4096", "journal:j?mode=ro"},
    [EVENT_ID] = {"a", "b", "c"},
    [KEY] = {"k", "l", "foobar"},
    [TOKEN] = {"rheo1.", "rheo1.AAAA"},
    [CURSOR] = {"c"},
    [JSON] = {"{}", "{\"type\":\"placed\"}", "{\"total\":{\"gte\":1}}", "{\"id\":{\"in\":[\"a\",\"b\"]}}",
              "{\"a.b\":{\"exists\":false}}", "{\"key\":{\"prefix\":\"k\"}}", "{\"partition\":0}", "[]",
              "{\"correlation_id\":\"x\"}", "{\"metadata.producer\":{\"ne\":null}}", "{\"total\":1e400}"},
    [OPTION] = {"limit", "query", "where", "partitions", "order_by", "wait_ms", "lease_ms", "start_after", "force",
                "confirm", "id", "event_ids", "from_sequence", "max_attempts", "before_sequence", "clock"},
    [VALUE] = {"0", "1", "3", "-1", "{\"0\":1}", "[0,1]", "[\"a\"]", "{\"where\":{\"id\":\"a\"}}", "true", "manual",
               "[[\"timestamp\",\"desc\"]]", "{}", "18446744073709551616", "1.5", "key", "system"},
    [REASON] = {"no luck", "nul\0here"},
};

/* A text of a handle that is alive, where there is one of that kind. */
static rheo_bytes lent_text(enum texts kind) {
    switch (kind) {
    case TOKEN:
        return rheo_lease_token(take_lease());
    case CURSOR:
        return rheo_event_list_next_cursor(take_event_list());
    case EVENT_ID:
        return rheo_event_id(take_event());
    default:
        return rheo_event_payload(take_event());
    }
}

static const char *take_text(enum texts kind, size_t *len) {
    static const size_t lengths[] = {0, 1, 254, 255, 256, 1023, 1024, 1025, 65535, 65536, 65537};
    uint8_t how = take();
    if (kind == URL)
        how %= 210;   /* no path but those below is ever opened, nor garbage as one */
    if (how >= 250) { /* no text */
        *len = how % 2 ? 0 : (size_t)take_number();
        return NULL;
    }
    if (how >= 240) { /* a long one */
        *len = lengths[take() % COUNT(lengths)];
        return memset(scratch_copy(NULL, *len), take(), *len);
    }
    if (how >= 210) { /* any bytes */
        size_t wanted = take();
        *len = wanted < input_left ? wanted : input_left;
        const char *text = scratch_copy(input, *len);
        input += *len;
        input_left -= *len;
        return text;
    }
    if ((how >= 120 || kind == TOKEN) && kind != URL) { /* one that Rheo gave; now and then not quite */
        rheo_bytes lent = lent_text(kind);
        if (lent.len > 0) {
            *len = how % 8 ? lent.len : lent.len - 1;
            char *text = scratch_copy(lent.data, *len);
            if (how % 8 == 1)
                text[take() % *len] ^= (char)(1 << take() % 8);
            return text;
        }
    }
    size_t known = 0;
    while (known < COUNT(samples[kind]) && samples[kind][known] != NULL)
        known++;
    const char *sample = samples[kind][how % known];
    *len = strlen(sample);
    return scratch_copy(sample, *len);
}

static const void *take_payload(size_t *len) {
    static const char *const payloads[] = {"", "{\"total\":1}", "{\"total\":2.5,\"a\":{\"b\":[]}}", "{\"a\":", "x"};
    uint8_t how = take();
    if (how >= 128)
        return take_text(REASON, len);
    const char *payload = payloads[how % COUNT(payloads)];
    *len = strlen(payload);
    return scratch_copy(payload, *len);
}

/* How long an array is; true when there is none: then its length may be anything. */
static bool take_no_array(size_t *len) {
    uint8_t how = take();
    *len = how >= 248 ? (size_t)take_number() : how % 5;
    return how >= 240;
}

static const uint32_t *take_partitions(size_t *len) {
    if (take_no_array(len))
        return NULL;
    uint32_t *partitions = scratch_copy(NULL, *len * sizeof *partitions);
    for (size_t i = 0; i < *len; i++)
        partitions[i] = (uint32_t)take_number();
    return partitions;
}

static const rheo_bytes *take_texts(size_t *len) {
    if (take_no_array(len))
        return NULL;
    rheo_bytes *texts = scratch_copy(NULL, *len * sizeof *texts);
    for (size_t i = 0; i < *len; i++)
        texts[i].data = (const uint8_t *)take_text(take() % 2 ? TOKEN : EVENT_ID, &texts[i].len);
    return texts;
}

static const rheo_lease *const *take_leases(size_t *len) {
    if (take_no_array(len))
        return NULL;
    const rheo_lease **leases = scratch_copy(NULL, *len * sizeof *leases);
    for (size_t i = 0; i < *len; i++)
        leases[i] = take_lease();
    return leases;
}

/* Ends every wait at once: here nobody would. */
static rheo_interrupt *fired;

static void never_wait(rheo_fetch_options *options) {
    if (options != NULL)
        CHECK(rheo_fetch_options_set_interrupt(options, fired, NULL) == RHEO_OK);
}

/* ------------------------------------------------------------------------------------------ what a call has to have done */

static _Thread_local uint8_t sum; /* of all that was looked at, so that it is looked at */

static void look_at_bytes(rheo_bytes bytes) {
    CHECK(bytes.data != NULL || bytes.len == 0);
    for (size_t i = 0; i < bytes.len; i++)
        sum += bytes.data[i];
}

static void look_at_text(const char *text) {
    sum += text == NULL ? 0 : (uint8_t)strlen(text);
}

static void look_at_error(const rheo_error *error) {
    look_at_bytes(rheo_error_name(error));
    look_at_bytes(rheo_error_message(error));
    look_at_bytes(rheo_error_cause(error));
}

static void look_at_instance(const rheo_instance *instance) {
    look_at_bytes(rheo_instance_name(instance));
}

static void look_at_event(const rheo_event *event) {
    look_at_bytes(rheo_event_id(event));
    look_at_bytes(rheo_event_stream(event));
    look_at_bytes(rheo_event_key(event));
    look_at_bytes(rheo_event_type(event));
    look_at_bytes(rheo_event_metadata(event));
    look_at_bytes(rheo_event_payload(event));
}

static void look_at_lease(const rheo_lease *lease) {
    look_at_bytes(rheo_lease_id(lease));
    look_at_bytes(rheo_lease_receipt(lease));
    look_at_bytes(rheo_lease_consumer_id(lease));
    look_at_bytes(rheo_lease_token(lease));
    look_at_event(rheo_lease_event(lease));
}

static void look_at_lag(const rheo_lag *lag) {
    look_at_bytes(rheo_lag_stream(lag));
    look_at_bytes(rheo_lag_group(lag));
}

static void look_at_dead_letter(const rheo_dead_letter *letter) {
    look_at_bytes(rheo_dead_letter_reason(letter));
    look_at_event(rheo_dead_letter_event(letter));
}

/* One lives only while the hook is called, so there is none to be given to a call; nor is there any work. */
static rheo_telemetry_event *take_telemetry_event(void) {
    return NULL;
}

static rheo_work *take_work(void) {
    return NULL;
}

/* Consumers work beside the program. */
static _Atomic uint64_t heard;

/* The hook, which looks at all there is to see. */
static void hear(const rheo_telemetry_event *event, void *context) {
    CHECK(context == NULL || context == &heard);
    CHECK(rheo_telemetry_name_text(rheo_telemetry_event_name(event)) != NULL);
    look_at_bytes(rheo_telemetry_event_stream(event));
    look_at_bytes(rheo_telemetry_event_group(event));
    uint32_t partition = 7;
    CHECK(rheo_telemetry_event_partition(event, &partition) || partition == 0);
    uint64_t nanos = 7;
    CHECK(rheo_telemetry_event_duration(event, &nanos) || nanos == 0);
    heard += rheo_telemetry_event_count(event) + rheo_telemetry_event_failed(event);
    rheo_status error = rheo_telemetry_event_error(event);
    CHECK(rheo_status_name(error) != NULL && error != RHEO_ERROR_INTERNAL);
}

static void look_at_interrupt(const rheo_interrupt *interrupt) {
    sum += rheo_interrupt_is_fired(interrupt);
}

/* A handler, which looks at everything too, and says something else of each event. */
static rheo_status handle(rheo_work *work, void *context) {
    static _Atomic uint8_t handled;
    static const int64_t at_once = 0;
    CHECK(context == NULL || context == &heard);
    CHECK(rheo_work_lease(work, rheo_work_len(work)) == NULL);
    CHECK(rheo_work_reject(work, rheo_work_len(work), NULL, 0, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < rheo_work_len(work); i++) {
        look_at_lease(rheo_work_lease(work, i));
        CHECK(rheo_work_event(work, i) == rheo_lease_event(rheo_work_lease(work, i)));
        switch (handled++ % 8) {
        case 0:
            CHECK(rheo_work_retry(work, i, RHEO_TEXT("later"), NULL, NULL) == RHEO_OK);
            break;
        case 1:
            CHECK(rheo_work_retry(work, i, NULL, 0, &at_once, NULL) == RHEO_OK);
            break;
        case 2:
            CHECK(rheo_work_reject(work, i, RHEO_TEXT("\xff"), NULL) == RHEO_OK);
            break;
        case 3:
            CHECK(rheo_work_fail(work, i, RHEO_TEXT("broke"), NULL) == RHEO_OK);
            break;
        case 4:
            CHECK(rheo_work_ack(work, i, NULL) == RHEO_OK);
            break;
        }
    }
    look_at_interrupt(rheo_work_interrupt(work));
    (void)rheo_work_is_cancelled(work);
    CHECK(rheo_work_set_reason(work, RHEO_TEXT("no luck"), NULL) == RHEO_OK);
    return handled % 3 ? RHEO_OK : handled;
}

static void forget(void *context) {
    CHECK(context == NULL || context == &heard);
}

/* A status that exists and is no bug; and with it an error that says the same, or none. */
static void check_status(rheo_status status, rheo_error **error) {
    CHECK(rheo_status_name(status) != NULL);
    if (error != NULL) {
        CHECK(*error != impossible && (*error == NULL) == (status == RHEO_OK));
        CHECK(rheo_error_code(*error) == status && (rheo_error_message(*error).len > 0) == (status != RHEO_OK));
        if (status == RHEO_ERROR_INTERNAL)
            fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(*error)));
        look_at_error(*error);
        keep_error(*error);
    }
    CHECK(status != RHEO_ERROR_INTERNAL);
}

/* A handle, or NULL; nothing when the call failed. */
static void check_made(rheo_status status, const void *made) {
    CHECK(made != impossible && (status == RHEO_OK || made == NULL));
}

/* A value; zero when the call failed. */
static void check_zero(rheo_status status, const void *made, size_t size) {
    for (size_t i = 0; i < size && status != RHEO_OK; i++)
        CHECK(((const uint8_t *)made)[i] == 0);
}

/* ------------------------------------------------------------------------------------------------------------ the calls */

#include "calls.h"

/* A store with something in it, and a handle of every kind, so that the first call already finds work. */
static void begin(void) {
    current = "begin";
#define MAKE(type) CHECK(rheo_##type##_new(&type##s[0], NULL) == RHEO_OK);
    MADE_TYPES(MAKE)
#undef MAKE
    CHECK(rheo_interrupt_new(&fired, NULL) == RHEO_OK && rheo_interrupt_fire(fired, NULL) == RHEO_OK);
    CHECK(rheo_options_set_clock_start(optionss[0], 0, NULL) == RHEO_OK);
    CHECK(rheo_options_set_telemetry(optionss[0], hear, &heard, forget, true, NULL) == RHEO_OK);
    CHECK(rheo_stream_options_set_partition_count(stream_optionss[0], 2, NULL) == RHEO_OK);
    CHECK(rheo_group_options_set_max_attempts(group_optionss[0], 3, NULL) == RHEO_OK);
    CHECK(rheo_fetch_options_set_limit(fetch_optionss[0], 3, NULL) == RHEO_OK);

    rheo_instance *db;
    const char *url = samples[URL][take() % 5];
    CHECK(rheo_instance_open(RHEO_TEXT(url), optionss[0], &db, NULL) == RHEO_OK);
    instances[0] = db;
    CHECK(rheo_instance_create_stream(db, RHEO_TEXT("s"), stream_optionss[0], NULL) == RHEO_OK);
    CHECK(rheo_instance_create_group(db, RHEO_TEXT("s"), RHEO_TEXT("g"), group_optionss[0], NULL) == RHEO_OK);
    CHECK(rheo_instance_stream(db, RHEO_TEXT("s"), &streams[0], NULL) == RHEO_OK);
    CHECK(rheo_instance_group(db, RHEO_TEXT("s"), RHEO_TEXT("g"), &groups[0], NULL) == RHEO_OK);
    for (int i = 0; i < 4; i++)
        CHECK(rheo_stream_append(streams[0], RHEO_TEXT("{\"total\":1}"), RHEO_ENCODING_JSON, NULL, NULL,
                                 i == 0 ? &events[0] : NULL, NULL) == RHEO_OK);
    CHECK(rheo_stream_read(streams[0], 0, 0, 2, event_lists[0], NULL) == RHEO_OK);
    CHECK(rheo_stream_query_stream(streams[0], NULL, &event_iterators[0], NULL) == RHEO_OK);
    CHECK(rheo_group_fetch(groups[0], fetch_optionss[0], lease_lists[0], NULL) == RHEO_OK);
    CHECK(rheo_group_reject(groups[0], rheo_lease_list_get(lease_lists[0], 0), RHEO_TEXT("bad"), NULL) == RHEO_OK);
    CHECK(rheo_group_dead_letters(groups[0], NULL, &dead_letter_lists[0], NULL) == RHEO_OK);
    CHECK(rheo_group_get_info(groups[0], NULL, 0, &group_infos[0], NULL) == RHEO_OK);
    CHECK(rheo_stream_get_info(streams[0], &stream_infos[0], NULL) == RHEO_OK);
    CHECK(rheo_stream_list_groups(streams[0], &name_lists[0], NULL) == RHEO_OK);
    CHECK(rheo_instance_capabilities(db, &capabilitiess[0], NULL) == RHEO_OK);
    CHECK(rheo_group_producer(groups[0], NULL, &producers[0], NULL) == RHEO_OK);
}

/* Frees what is left, beginning with any type. Consumers come to rest first, so that the next input finds nobody. */
static void end(void) {
    static void (*const all[])(void) = {
#define FREED(type) free_##type##s,
        MADE_TYPES(FREED) GIVEN_TYPES(FREED) LENT_TYPES(FREED)
#undef FREED
    };
    current = "end";
    for (int slot = 0; slot < SLOTS; slot++) {
        bool ended;
        (void)rheo_consumer_close(consumers[slot], 10000, NULL);
        (void)rheo_consumer_wait(consumers[slot], 10000, &ended, NULL);
    }
    for (size_t i = 0, first = take(); i < COUNT(all); i++) {
        for (int slot = 0; slot < SLOTS; slot++) {
            look_at_event(events[slot]);
            look_at_lease(leases[slot]);
            look_at_error(errors[slot]);
        }
        all[(first + i) % COUNT(all)]();
    }
    rheo_interrupt_free(fired);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type, (void)place;
    return remove(path);
}

/* The journal of one input, in the directory where this runs, is not found by the next. */
static void remove_journal(void) {
    if (access("j", F_OK) == 0)
        CHECK(nftw("j", remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const bool trace = getenv("RHEO_FUZZ_TRACE") != NULL;
    input = data;
    input_left = size;
    begin();
    while (input_left > 0) {
        unsigned number = take() | (unsigned)take() << 8;
        current = calls[number % COUNT(calls)].name;
        if (trace)
            fprintf(stderr, "call %s\n", current);
        calls[number % COUNT(calls)].call();
        while (scratch_used > 0)
            free(scratch[--scratch_used]);
    }
    end();
    remove_journal();
    return 0;
}
