/*
 * Shutting down on SIGTERM: what runs is finished and settled, what has not begun is given back at once, the exit status
 * is 0. Run with a journal; run again, it goes on with what is left, and does not wait for a lease to expire.
 *
 * prints: job 1 begins
 * prints: job 1 done
 * prints: stopped
 * prints: job 2 begins
 * prints: job 2 done
 * prints: stopped
 *
 * ends by: SIGTERM
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rheo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static rheo_error *error;

/* Ends the program, and says why, when a call failed. */
static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
        exit(1);
    }
}

static _Atomic(rheo_consumer *) consumer;

/* Stands for work that takes its time: so much that SIGTERM comes in the middle of it. */
static rheo_status do_job(rheo_work *work, void *unused) {
    rheo_bytes job = rheo_event_payload(rheo_work_event(work, 0));
    (void)unused;
    printf("job %.*s begins\n", RHEO_PRINT(job));
    while (consumer == NULL || rheo_consumer_is_running(consumer))
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    printf("job %.*s done\n", RHEO_PRINT(job));
    return RHEO_OK;
}

int main(int argc, char **argv) {
    char url[1000];
    if (argc != 2 || snprintf(url, sizeof url, "journal:%s", argv[1]) >= (int)sizeof url)
        return fprintf(stderr, "usage: shutdown JOURNAL\n"), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);

    /* First of all, so that every thread inherits it: the signal is for the thread that waits for it, and no handler
     * of it ever runs. Nothing of Rheo may be called in one. */
    sigset_t terminate;
    int signal_number;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &terminate, NULL);

    rheo_instance *db;
    ok(rheo_instance_open(RHEO_TEXT(url), NULL, &db, &error));
    if (rheo_instance_create_stream(db, RHEO_TEXT("jobs"), NULL, NULL) == RHEO_OK) { /* the first time */
        ok(rheo_instance_create_group(db, RHEO_TEXT("jobs"), RHEO_TEXT("workers"), NULL, &error));
        for (char job = '1'; job <= '3'; job++)
            ok(rheo_instance_append(db, RHEO_TEXT("jobs"), &job, 1, RHEO_ENCODING_BYTES, NULL, NULL, NULL, &error));
    }
    rheo_consumer *started;
    ok(rheo_instance_consumer(db, RHEO_TEXT("jobs"), RHEO_TEXT("workers"), NULL, do_job, NULL, NULL, &started, &error));
    consumer = started;

    sigwait(&terminate, &signal_number);
    ok(rheo_consumer_close(started, 20000, &error)); /* less than the patience of whoever sends SIGKILL afterwards */
    rheo_consumer_free(started);
    ok(rheo_instance_close(db, &error));
    rheo_instance_free(db);
    puts("stopped");
}
