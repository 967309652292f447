/*
 * Producers and consumers from C, with real threads: what a handler sees and says, when its context is freed, and every
 * way in which a consumer ends. Nothing waits for time to pass, but for something to happen, half a minute at most.
 * Returns non-zero at the first deviation.
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == RHEO_OK)

enum { SOON = 30000 };

static rheo_instance *db;
static rheo_group *billing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* What the threads tell each other; under the lock. */
static int begun;   /* handlers that were called */
static int may_end; /* handlers that may return */
static int freed;   /* contexts that were freed */

static void raise_count(int *count, int by) {
    pthread_mutex_lock(&lock);
    *count += by;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static int read_count(const int *count) {
    pthread_mutex_lock(&lock);
    int value = *count;
    pthread_mutex_unlock(&lock);
    return value;
}

static void wait_for(const int *count, int value) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SOON / 1000;
    pthread_mutex_lock(&lock);
    while (*count < value)
        CHECK(pthread_cond_timedwait(&changed, &lock, &end) == 0);
    pthread_mutex_unlock(&lock);
}

static void forget(void *context) {
    CHECK(context == &db);
    raise_count(&freed, 1);
}

static void append(const char *payload) {
    OK(rheo_instance_append(db, RHEO_TEXT("orders"), RHEO_TEXT(payload), RHEO_ENCODING_BYTES, NULL, NULL, NULL, NULL));
}

static void set_up(int events) {
    begun = may_end = freed = 0;
    OK(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, NULL));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, NULL));
    OK(rheo_instance_create_stream(db, RHEO_TEXT("invoices"), NULL, NULL));
    OK(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, NULL));
    OK(rheo_instance_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), &billing, NULL));
    for (int event = 0; event < events; event++) {
        char payload[12];
        snprintf(payload, sizeof payload, "%d", event);
        append(payload);
    }
}

static void take_down(void) {
    rheo_group_free(billing);
    rheo_instance_free(db);
}

/* How many events of the group are not settled. */
static uint64_t lag(void) {
    rheo_lag *lag;
    OK(rheo_group_lag(billing, NULL, 0, &lag, NULL));
    uint64_t total = rheo_lag_total(lag);
    rheo_lag_free(lag);
    return total;
}

static rheo_consumer *start(rheo_handler handler, const char *options) {
    rheo_consumer_options *builder;
    rheo_consumer *consumer;
    OK(rheo_consumer_options_new(&builder, NULL));
    for (char key[32]; sscanf(options, "%31s", key) == 1; options += strspn(options, " ")) {
        char *value = strchr(key, '=');
        options += strspn(options, " ");
        options += strlen(key);
        OK(rheo_consumer_options_set(builder, key, (size_t)(value - key), RHEO_TEXT(value + 1), NULL));
    }
    OK(rheo_group_consumer(billing, builder, handler, &db, forget, &consumer, NULL));
    rheo_consumer_options_free(builder);
    return consumer;
}

static void close_and_free(rheo_consumer *consumer) {
    bool ended;
    OK(rheo_consumer_close(consumer, SOON, NULL));
    OK(rheo_consumer_wait(consumer, SOON, &ended, NULL));
    CHECK(ended && !rheo_consumer_is_running(consumer));
    CHECK(read_count(&freed) == 0);
    rheo_consumer_free(consumer);
    wait_for(&freed, 1);
}

/* A handler that calls back in. */
static rheo_status bill(rheo_work *work, void *context) {
    CHECK(context == &db && rheo_work_len(work) == 1 && !rheo_work_is_cancelled(work));
    CHECK(rheo_work_lease(work, 1) == NULL && rheo_work_event(work, 1) == NULL);
    CHECK(rheo_lease_event(rheo_work_lease(work, 0)) == rheo_work_event(work, 0));
    CHECK(rheo_lease_attempt(rheo_work_lease(work, 0)) == 1);
    rheo_bytes order = rheo_event_payload(rheo_work_event(work, 0));
    OK(rheo_instance_append(db, RHEO_TEXT("invoices"), order.data, order.len, RHEO_ENCODING_BYTES, NULL, NULL, NULL,
                            NULL));
    raise_count(&begun, 1);
    return RHEO_OK;
}

static void a_handler_gets_every_event_and_calls_back_in(void) {
    set_up(100);
    rheo_consumer *consumer = start(bill, "concurrency=4");
    wait_for(&begun, 100);
    append("one more, for a consumer that waits");
    wait_for(&begun, 101);
    bool settled;
    OK(rheo_consumer_drain(consumer, SOON, &settled, NULL));
    uint64_t inflight = 7;
    OK(rheo_consumer_inflight_count(consumer, &inflight, NULL));
    CHECK(settled && inflight == 0 && lag() == 0 && begun == 101);
    close_and_free(consumer);
    take_down();
}

/* Says something else of each event of a batch. */
static rheo_status judge(rheo_work *work, void *context) {
    static const int64_t day = INT64_C(24) * 3600 * 1000, never = -1;
    (void)context;
    CHECK(rheo_work_len(work) == 6);
    OK(rheo_work_retry(work, 0, RHEO_TEXT("later"), &day, NULL));
    OK(rheo_work_reject(work, 1, RHEO_TEXT("bad"), NULL));
    OK(rheo_work_fail(work, 2, RHEO_TEXT("broke"), NULL));
    OK(rheo_work_ack(work, 3, NULL));
    OK(rheo_work_release(work, 4, NULL));
    OK(rheo_work_reject(work, 4, RHEO_TEXT("after all"), NULL)); /* what is said last counts */
    /* What cannot be is refused, and changes nothing. */
    rheo_error *error = NULL;
    CHECK(rheo_work_ack(work, 6, &error) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_error_code(error) == RHEO_ERROR_INVALID_ARGUMENT);
    rheo_error_free(error);
    CHECK(rheo_work_retry(work, 3, NULL, 0, &never, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    /* And what fails without a word of it has this reason. */
    OK(rheo_work_set_reason(work, RHEO_TEXT("no paper"), NULL));
    raise_count(&begun, 1);
    return RHEO_ERROR_BACKEND_UNAVAILABLE;
}

static rheo_status give_up(rheo_work *work, void *context) {
    (void)work, (void)context;
    raise_count(&begun, 1);
    return begun % 2 ? RHEO_ERROR_BACKEND_UNAVAILABLE : 42;
}

static void expect_dead_letters(const char *const reasons[], size_t count) {
    rheo_dead_letter_list *letters;
    OK(rheo_group_dead_letters(billing, NULL, &letters, NULL));
    CHECK(rheo_dead_letter_list_len(letters) == count);
    for (size_t at = 0; at < count; at++) {
        rheo_bytes reason = rheo_dead_letter_reason(rheo_dead_letter_list_get(letters, at));
        CHECK(reason.len == strlen(reasons[at]) && memcmp(reason.data, reasons[at], reason.len) == 0);
    }
    rheo_dead_letter_list_free(letters);
}

static void events_end_as_the_handler_says(void) {
    set_up(6);
    rheo_consumer *consumer = start(judge, "batch_size=6 batch_timeout_ms=30000 on_failure=reject");
    wait_for(&begun, 1);
    close_and_free(consumer);
    expect_dead_letters((const char *const[]){"bad", "broke", "after all", "no paper"}, 4);
    CHECK(lag() == 6); /* the first waits for tomorrow */
    take_down();
    set_up(2);
    consumer = start(give_up, "on_failure=reject");
    wait_for(&begun, 2);
    close_and_free(consumer);
    expect_dead_letters(
        (const char *const[]){"the handler returned backend_unavailable (401)", "the handler returned 42"}, 2);
    take_down();
}

/* Stays until it may go. */
static rheo_status stay(rheo_work *work, void *context) {
    (void)work, (void)context;
    raise_count(&begun, 1);
    wait_for(&may_end, 1);
    return RHEO_OK;
}

/* Stays until its signal fires. */
static rheo_status stay_until_cancelled(rheo_work *work, void *context) {
    (void)context;
    rheo_fetch_options *options;
    rheo_lease_list *leases;
    OK(rheo_fetch_options_new(&options, NULL));
    OK(rheo_lease_list_new(&leases, NULL));
    OK(rheo_fetch_options_set_wait_ms(options, SOON, NULL));
    OK(rheo_fetch_options_set_interrupt(options, rheo_work_interrupt(work), NULL));
    OK(rheo_instance_create_group(db, RHEO_TEXT("invoices"), RHEO_TEXT("nothing"), NULL, NULL));
    raise_count(&begun, 1);
    OK(rheo_instance_fetch(db, RHEO_TEXT("invoices"), RHEO_TEXT("nothing"), options, leases, NULL));
    CHECK(rheo_work_is_cancelled(work) && rheo_lease_list_len(leases) == 0);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(options);
    wait_for(&may_end, 1);
    return RHEO_OK;
}

static void closing_cancels_a_handler_whose_time_is_over(void) {
    set_up(3);
    rheo_consumer *consumer = start(stay_until_cancelled, "");
    wait_for(&begun, 1);
    OK(rheo_consumer_close(consumer, 1, NULL));
    /* All three are there at once, also that which the handler has. */
    rheo_lease_list *leases;
    OK(rheo_lease_list_new(&leases, NULL));
    OK(rheo_group_fetch(billing, NULL, leases, NULL));
    CHECK(rheo_lease_list_len(leases) == 3);
    raise_count(&may_end, 1);
    close_and_free(consumer);
    CHECK(lag() == 3); /* its ack came too late */
    OK(rheo_group_ack(billing, rheo_lease_list_get(leases, 0), NULL));
    rheo_lease_list_free(leases);
    take_down();
}

struct drain {
    rheo_consumer *consumer;
    rheo_status status;
    bool settled;
};

static void *drain(void *given) {
    struct drain *drain = given;
    drain->status = rheo_consumer_drain(drain->consumer, SOON, &drain->settled, NULL);
    if (drain->status == RHEO_ERROR_ALREADY_DRAINING)
        raise_count(&may_end, 1);
    return NULL;
}

static void of_two_drains_one_is_refused(void) {
    set_up(2);
    rheo_consumer *consumer = start(stay, "");
    wait_for(&begun, 1);
    /* The handler stays until one of them was refused; the other waits for it meanwhile. */
    struct drain drains[] = {{consumer, RHEO_OK, false}, {consumer, RHEO_OK, false}};
    pthread_t threads[2];
    for (int n = 0; n < 2; n++)
        CHECK(pthread_create(&threads[n], NULL, drain, &drains[n]) == 0);
    for (int n = 0; n < 2; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    const struct drain *done = &drains[drains[0].status == RHEO_OK ? 0 : 1];
    const struct drain *refused = &drains[done == drains ? 1 : 0];
    CHECK(done->status == RHEO_OK && done->settled && refused->status == RHEO_ERROR_ALREADY_DRAINING);
    CHECK(lag() == 1);
    close_and_free(consumer);
    take_down();
}

static rheo_consumer *own;

/* Ends its own consumer, or frees it. */
static rheo_status end_own(rheo_work *work, void *context) {
    bool settled = true, ended = true;
    (void)work, (void)context;
    raise_count(&begun, 1);
    wait_for(&may_end, 1);
    OK(rheo_consumer_close(own, SOON, NULL));
    OK(rheo_consumer_drain(own, SOON, &settled, NULL));
    OK(rheo_consumer_wait(own, SOON, &ended, NULL));
    CHECK(!settled && !ended && !rheo_consumer_is_running(own));
    raise_count(&may_end, 1);
    return RHEO_OK;
}

static rheo_status free_own(rheo_work *work, void *context) {
    (void)work, (void)context;
    raise_count(&begun, 1);
    wait_for(&may_end, 1);
    rheo_consumer_free(own);
    CHECK(read_count(&freed) == 0);
    return RHEO_OK;
}

static void a_handler_may_end_its_own_consumer(void) {
    set_up(5);
    own = start(end_own, "");
    raise_count(&may_end, 1);
    wait_for(&may_end, 2);
    close_and_free(own);
    CHECK(begun == 1 && lag() == 4);
    take_down();
    set_up(5);
    own = start(free_own, "");
    raise_count(&may_end, 1);
    wait_for(&freed, 1);
    CHECK(begun == 1 && lag() == 4);
    take_down();
}

static void what_is_freed_while_it_runs_runs_to_its_end(void) {
    set_up(5);
    rheo_consumer_free(start(stay, "concurrency=2"));
    /* Of handlers there are as many as had begun by then; all others are given back. */
    raise_count(&may_end, 1);
    wait_for(&freed, 1);
    CHECK(lag() == 5 - (uint64_t)begun);
    take_down();
    set_up(2);
    rheo_consumer *consumer = start(stay, "");
    wait_for(&begun, 1);
    rheo_consumer_free(consumer);
    rheo_group_free(billing);
    rheo_instance_free(db); /* what runs keeps it open */
    CHECK(read_count(&freed) == 0);
    raise_count(&may_end, 1);
    wait_for(&freed, 1);
}

static void a_consumer_ends_with_its_group(void) {
    set_up(1);
    rheo_consumer *consumer = start(bill, "concurrency=3");
    wait_for(&begun, 1);
    bool ended = true;
    OK(rheo_consumer_wait(consumer, 0, &ended, NULL));
    CHECK(!ended && rheo_consumer_is_running(consumer));
    OK(rheo_group_delete(billing, NULL));
    rheo_error *error = NULL;
    CHECK(rheo_consumer_wait(consumer, SOON, &ended, &error) == RHEO_ERROR_GROUP_NOT_FOUND);
    CHECK(rheo_error_code(error) == RHEO_ERROR_GROUP_NOT_FOUND && !ended && !rheo_consumer_is_running(consumer));
    rheo_error_free(error);
    OK(rheo_consumer_close(consumer, SOON, NULL));
    rheo_consumer_free(consumer);
    wait_for(&freed, 1);
    take_down();
    /* And with its instance. */
    set_up(0);
    consumer = start(bill, "");
    OK(rheo_instance_close(db, NULL));
    CHECK(rheo_consumer_wait(consumer, SOON, &ended, NULL) == RHEO_ERROR_CLOSED);
    CHECK(rheo_consumer_drain(consumer, 0, &ended, NULL) == RHEO_ERROR_CLOSED || ended);
    rheo_consumer_free(consumer);
    wait_for(&freed, 1);
    take_down();
}

static void a_start_that_fails_frees_the_context(void) {
    set_up(1);
    rheo_consumer *consumer = (rheo_consumer *)&db;
    rheo_consumer_options *options;
    OK(rheo_consumer_options_new(&options, NULL));
    CHECK(rheo_group_consumer(billing, NULL, NULL, &db, forget, &consumer, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(consumer == NULL && freed == 1);
    CHECK(rheo_group_consumer(NULL, NULL, bill, &db, forget, &consumer, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_group_consumer(billing, NULL, bill, &db, forget, NULL, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(freed == 3);
    CHECK(rheo_instance_consumer(db, RHEO_TEXT("orders"), RHEO_TEXT("missing"), NULL, bill, &db, forget, &consumer,
                                 NULL) == RHEO_ERROR_GROUP_NOT_FOUND);
    CHECK(rheo_instance_consumer(db, RHEO_TEXT("missing"), RHEO_TEXT("billing"), NULL, bill, &db, forget, &consumer,
                                 NULL) == RHEO_ERROR_STREAM_NOT_FOUND);
    CHECK(freed == 5);
    OK(rheo_consumer_options_set_concurrency(options, 10001, NULL));
    CHECK(rheo_group_consumer(billing, options, bill, &db, forget, &consumer, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_consumer_options_set_batch_size(options, -1, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_consumer_options_set_on_failure(options, 2, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_consumer_options_set(options, RHEO_TEXT("concurency"), RHEO_TEXT("1"), NULL) ==
          RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(freed == 6 && consumer == NULL && begun == 0 && lag() == 1);
    rheo_consumer_options_free(options);
    take_down();
}

/* ----------------------------------------------------------------------------------------------------- producers */

static size_t next(const rheo_producer *producer, int64_t most, int64_t timeout_ms, rheo_lease_list *leases) {
    bool stopped = true;
    OK(rheo_producer_next(producer, most, timeout_ms, NULL, leases, &stopped, NULL));
    CHECK(!stopped);
    return rheo_lease_list_len(leases);
}

static uint64_t held(const rheo_producer *producer) {
    uint64_t count = 7;
    OK(rheo_producer_inflight_count(producer, &count, NULL));
    return count;
}

static void settles_through_a_producer_free_slots(void) {
    set_up(20);
    rheo_producer_options *options;
    rheo_producer *producer;
    rheo_lease_list *leases;
    rheo_results *results;
    OK(rheo_producer_options_new(&options, NULL));
    OK(rheo_producer_options_set_max_demand(options, 12, NULL));
    OK(rheo_producer_options_set_on_failure(options, RHEO_ON_FAILURE_REJECT, NULL));
    OK(rheo_producer_options_set_retry_delay(options, SOON, NULL));
    OK(rheo_group_producer(billing, options, &producer, NULL));
    OK(rheo_lease_list_new(&leases, NULL));
    OK(rheo_results_new(&results, NULL));

    CHECK(next(producer, 100, 0, leases) == 12 && held(producer) == 12);
#define LEASE(at) rheo_lease_list_get(leases, (at))
#define TOKEN(at) (const char *)rheo_lease_token(LEASE(at)).data, rheo_lease_token(LEASE(at)).len
    const int64_t at_once = 0;
    OK(rheo_producer_ack(producer, LEASE(0), NULL));
    CHECK(rheo_producer_ack(producer, LEASE(0), NULL) == RHEO_ERROR_STALE_LEASE);
    OK(rheo_producer_retry(producer, LEASE(1), RHEO_TEXT("later"), NULL, NULL));
    OK(rheo_producer_retry_token(producer, TOKEN(2), RHEO_TEXT("now"), &at_once, NULL));
    OK(rheo_producer_reject(producer, LEASE(3), RHEO_TEXT("bad"), NULL));
    OK(rheo_producer_fail(producer, LEASE(4), RHEO_TEXT("broke"), NULL));
    OK(rheo_producer_release(producer, LEASE(5), NULL));
    CHECK(held(producer) == 6);
    OK(rheo_producer_ack_many(producer, (const rheo_lease *const[]){LEASE(6), LEASE(0)}, 2, results, NULL));
    CHECK(rheo_results_failed(results) == 1 && held(producer) == 5);
    rheo_bytes token = rheo_lease_token(LEASE(7));
    OK(rheo_producer_ack_tokens(producer, &token, 1, results, NULL));
    CHECK(rheo_results_failed(results) == 0 && held(producer) == 4);
    /* What is settled in another way is to be confirmed. */
    OK(rheo_group_ack(billing, LEASE(8), NULL));
    rheo_bytes ids[] = {rheo_lease_id(LEASE(8)), rheo_lease_id(LEASE(0)), {(const uint8_t *)"x", 1}};
    uint64_t confirmed = 7;
    CHECK(rheo_producer_confirm(producer, ids, 3, &confirmed, NULL) == RHEO_ERROR_INVALID_ARGUMENT && confirmed == 0);
    CHECK(held(producer) == 4);
    OK(rheo_producer_confirm(producer, ids, 2, &confirmed, NULL));
    CHECK(confirmed == 1 && held(producer) == 3);
    expect_dead_letters((const char *const[]){"bad", "broke"}, 2);
    /* What was given back at once comes again: with the three that are held, one that was released and one retried. */
    CHECK(next(producer, 100, 0, leases) == 9 && held(producer) == 12);
    OK(rheo_producer_ack_list(producer, leases, results, NULL));
    CHECK(rheo_results_len(results) == 9 && rheo_results_failed(results) == 0 && held(producer) == 3);

    bool settled = true, stopped = false;
    OK(rheo_producer_drain(producer, 0, &settled, NULL));
    OK(rheo_producer_next(producer, 1, SOON, NULL, leases, &stopped, NULL));
    CHECK(!settled && stopped && rheo_lease_list_len(leases) == 0 && rheo_producer_is_stopped(producer));
    OK(rheo_producer_close(producer, 0, NULL));
    OK(rheo_producer_close(producer, 0, NULL));
    OK(rheo_group_fetch(billing, NULL, leases, NULL));
    CHECK(rheo_lease_list_len(leases) == 4); /* the three that were held, and one that was not fetched */
    rheo_results_free(results);
    rheo_lease_list_free(leases);
    rheo_producer_options_free(options);
    rheo_producer_free(producer);
    take_down();
}

struct waiter {
    rheo_producer *producer;
    rheo_interrupt *interrupt;
    size_t leases;
    bool stopped;
    rheo_status status;
};

static void *wait_for_leases(void *given) {
    struct waiter *waiter = given;
    rheo_lease_list *leases;
    OK(rheo_lease_list_new(&leases, NULL));
    raise_count(&begun, 1);
    waiter->status =
        rheo_producer_next(waiter->producer, 1, 2 * SOON, waiter->interrupt, leases, &waiter->stopped, NULL);
    waiter->leases = rheo_lease_list_len(leases);
    rheo_lease_list_free(leases);
    return NULL;
}

/* Lets a thread wait and ends its wait in one of the ways. */
static void a_wait_ends_by(int way) {
    set_up(0);
    struct waiter waiter = {NULL, NULL, 7, false, RHEO_OK};
    pthread_t thread;
    OK(rheo_interrupt_new(&waiter.interrupt, NULL));
    OK(rheo_instance_producer(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &waiter.producer, NULL));
    CHECK(pthread_create(&thread, NULL, wait_for_leases, &waiter) == 0);
    wait_for(&begun, 1);
    bool settled;
    switch (way) {
    case 0:
        append("x");
        break;
    case 1:
        OK(rheo_interrupt_fire(waiter.interrupt, NULL));
        break;
    case 2:
        OK(rheo_producer_drain(waiter.producer, SOON, &settled, NULL));
        break;
    case 3:
        OK(rheo_producer_close(waiter.producer, 0, NULL));
        break;
    case 4:
        OK(rheo_group_delete(billing, NULL));
        break;
    default:
        OK(rheo_instance_close(db, NULL));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(waiter.leases == (way == 0) && waiter.stopped == (way == 2 || way == 3));
    CHECK(waiter.status == (way == 4 ? RHEO_ERROR_GROUP_NOT_FOUND : way == 5 ? RHEO_ERROR_CLOSED : RHEO_OK));
    rheo_interrupt_free(waiter.interrupt);
    rheo_producer_free(waiter.producer);
    take_down();
}

static void bad_producers(void) {
    set_up(1);
    rheo_producer *producer = NULL;
    rheo_producer_options *options;
    rheo_lease_list *leases;
    bool stopped;
    OK(rheo_lease_list_new(&leases, NULL));
    OK(rheo_producer_options_new(&options, NULL));
    CHECK(rheo_instance_producer(db, RHEO_TEXT("orders"), RHEO_TEXT("missing"), NULL, &producer, NULL) ==
          RHEO_ERROR_GROUP_NOT_FOUND);
    OK(rheo_producer_options_set_partitions(options, &(uint32_t){7}, 1, NULL));
    CHECK(rheo_group_producer(billing, options, &producer, NULL) == RHEO_ERROR_INVALID_PARTITION);
    OK(rheo_producer_options_set_partitions(options, NULL, 0, NULL));
    OK(rheo_producer_options_set_retry_delay_exponential(options, 2, 1, NULL));
    CHECK(rheo_group_producer(billing, options, &producer, NULL) == RHEO_ERROR_INVALID_ARGUMENT && producer == NULL);
    OK(rheo_group_producer(billing, NULL, &producer, NULL));
    CHECK(rheo_producer_next(producer, 0, 0, NULL, leases, &stopped, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_producer_next(producer, 1, -1, NULL, leases, &stopped, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(rheo_producer_next(producer, 1, 0, NULL, leases, NULL, NULL) == RHEO_ERROR_INVALID_ARGUMENT);
    CHECK(held(producer) == 0);
    rheo_producer_free(producer);
    rheo_producer_options_free(options);
    rheo_lease_list_free(leases);
    take_down();
}

int main(void) {
    a_handler_gets_every_event_and_calls_back_in();
    events_end_as_the_handler_says();
    closing_cancels_a_handler_whose_time_is_over();
    of_two_drains_one_is_refused();
    a_handler_may_end_its_own_consumer();
    what_is_freed_while_it_runs_runs_to_its_end();
    a_consumer_ends_with_its_group();
    a_start_that_fails_frees_the_context();
    settles_through_a_producer_free_slots();
    for (int way = 0; way < 6; way++)
        a_wait_ends_by(way);
    bad_producers();
    return 0;
}
