/*
 * Waiting, with a timeout, and ending the wait: a worker that sleeps until there is work, and that SIGTERM ends.
 *
 * prints: within 20 ms: 0
 * prints: worker: hello
 * prints: worker: told to stop
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rheo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static rheo_instance *db;
static rheo_interrupt *stop;
static _Thread_local rheo_error *error;

/* Ends the program, and says why, when a call failed. */
static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
        exit(1);
    }
}

/* Fetches with this much patience and prints what came; returns how many that were. */
static size_t fetch_and_print(int64_t wait_ms) {
    rheo_fetch_options *options;
    rheo_lease_list *leases;
    ok(rheo_fetch_options_new(&options, &error));
    ok(rheo_fetch_options_set_wait_ms(options, wait_ms, &error));
    ok(rheo_fetch_options_set_interrupt(options, stop, &error));
    ok(rheo_lease_list_new(&leases, &error));
    ok(rheo_instance_fetch(db, RHEO_TEXT("mail"), RHEO_TEXT("readers"), options, leases, &error));
    size_t count = rheo_lease_list_len(leases);
    for (size_t i = 0; i < count; i++) {
        const rheo_lease *lease = rheo_lease_list_get(leases, i);
        printf("worker: %.*s\n", RHEO_PRINT(rheo_event_payload(rheo_lease_event(lease))));
        ok(rheo_instance_ack(db, lease, &error));
    }
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(options);
    return count;
}

/* What is there is taken also when the interrupt has fired: an empty list is the end. */
static void *worker(void *unused) {
    while (fetch_and_print(INT64_C(24) * 3600 * 1000) > 0) {
    }
    puts("worker: told to stop");
    return unused;
}

int main(void) {
    ok(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    ok(rheo_interrupt_new(&stop, &error));
    ok(rheo_instance_create_stream(db, RHEO_TEXT("mail"), NULL, &error));
    ok(rheo_instance_create_group(db, RHEO_TEXT("mail"), RHEO_TEXT("readers"), NULL, &error));
    printf("within 20 ms: %zu\n", fetch_and_print(20));

    /* No function of Rheo may be called in a signal handler, so one thread waits for the signal instead. */
    int signal_number;
    pthread_t thread;
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &terminate, NULL); /* in the worker as well, which inherits it */
    pthread_create(&thread, NULL, worker, NULL);
    ok(rheo_instance_append(db, RHEO_TEXT("mail"), RHEO_TEXT("hello"), RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    raise(SIGTERM); /* as an operator would */
    sigwait(&terminate, &signal_number);
    ok(rheo_interrupt_fire(stop, &error));
    pthread_join(thread, NULL);
    rheo_interrupt_free(stop);
    rheo_instance_free(db);
}
