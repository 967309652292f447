/*
 * A consumer: a function for each event, on threads of the consumer's own. It fetches, waits, renews and settles; the
 * function says only what is to become of an event that is not simply done.
 *
 * prints: invoice 1 sent
 * prints: invoice 2 sent at the second attempt
 * prints: dead letter: "nonsense", for it is no number
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local rheo_error *error;

/* Ends the program, and says why, when a call failed. */
static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
        exit(1);
    }
}

/* What the function is given with every event. With a concurrency above 1, several threads use it at once. */
struct mailer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int to_send;
};

/* Returning RHEO_OK acks; anything else lets the event fail, which by default is another attempt a little later. */
static rheo_status send_invoice(rheo_work *work, void *context) {
    struct mailer *mailer = context;
    rheo_bytes order = rheo_event_payload(rheo_work_event(work, 0));
    unsigned attempt = rheo_lease_attempt(rheo_work_lease(work, 0));
    if (order.data[0] < '0' || order.data[0] > '9')
        return rheo_work_reject(work, 0, RHEO_TEXT("it is no number"), NULL); /* RHEO_OK, once that is noted */
    if (order.data[0] == '2' && attempt == 1)
        return RHEO_ERROR_BACKEND_UNAVAILABLE; /* the mail server does not answer */
    printf("invoice %.*s sent%s\n", RHEO_PRINT(order), attempt == 1 ? "" : " at the second attempt");
    pthread_mutex_lock(&mailer->lock);
    mailer->to_send--;
    pthread_cond_signal(&mailer->changed);
    pthread_mutex_unlock(&mailer->lock);
    return RHEO_OK;
}

int main(void) {
    struct mailer mailer = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 2};
    rheo_instance *db;
    rheo_consumer *consumer;
    ok(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    ok(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, &error));
    ok(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &error));
    for (const char *const *order = (const char *const[]){"1", "2", "nonsense", NULL}; *order != NULL; order++)
        ok(rheo_instance_append(db, RHEO_TEXT("orders"), RHEO_TEXT(*order), RHEO_ENCODING_BYTES, NULL, NULL, NULL,
                                &error));

    ok(rheo_instance_consumer(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, send_invoice, &mailer, NULL,
                              &consumer, &error));
    pthread_mutex_lock(&mailer.lock);
    while (mailer.to_send > 0)
        pthread_cond_wait(&mailer.changed, &mailer.lock);
    pthread_mutex_unlock(&mailer.lock);
    ok(rheo_consumer_close(consumer, 30000, &error)); /* waits for the function to return, and for its settles */
    rheo_consumer_free(consumer);

    rheo_dead_letter_list *letters;
    ok(rheo_instance_dead_letters(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &letters, &error));
    const rheo_dead_letter *letter = rheo_dead_letter_list_get(letters, 0);
    printf("dead letter: \"%.*s\", for %.*s\n", RHEO_PRINT(rheo_event_payload(rheo_dead_letter_event(letter))),
           RHEO_PRINT(rheo_dead_letter_reason(letter)));
    rheo_dead_letter_list_free(letters);
    rheo_instance_free(db);
}
