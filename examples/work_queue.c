/*
 * A work queue: a job that fails is tried again after a while; one that cannot succeed is put aside with the reason.
 *
 * prints: cat.jpg: done at attempt 1
 * prints: sky.png: done at attempt 3
 * prints: put aside: notes.txt: not a picture
 */

#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>

static rheo_error *error;

/* Ends the program, and says why, when a call failed. */
static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
        exit(1);
    }
}

static bool is(rheo_bytes bytes, const char *text) {
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

/* Does one job and settles it, in one of three ways. Returns whether it is finished. */
static bool work(const rheo_group *jobs, const rheo_lease *lease) {
    rheo_bytes picture = rheo_event_payload(rheo_lease_event(lease));
    if (is(picture, "sky.png") && rheo_lease_attempt(lease) < 3) {
        ok(rheo_group_retry(jobs, lease, RHEO_TEXT("out of memory"), 10 /* ms from now */, &error));
        return false; /* the fifth time it would have become a dead letter: a group's max_attempts */
    }
    if (is(picture, "notes.txt")) {
        ok(rheo_group_reject(jobs, lease, RHEO_TEXT("not a picture"), &error));
    } else {
        ok(rheo_group_ack(jobs, lease, &error));
        printf("%.*s: done at attempt %u\n", RHEO_PRINT(picture), rheo_lease_attempt(lease));
    }
    return true;
}

int main(void) {
    rheo_instance *db;
    ok(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    ok(rheo_instance_create_stream(db, RHEO_TEXT("pictures"), NULL, &error));
    ok(rheo_instance_create_group(db, RHEO_TEXT("pictures"), RHEO_TEXT("resize"), NULL, &error));
    const char *pictures[] = {"cat.jpg", "notes.txt", "sky.png"};
    int unfinished = 0;
    for (; unfinished < 3; unfinished++)
        ok(rheo_instance_append(db, RHEO_TEXT("pictures"), RHEO_TEXT(pictures[unfinished]), RHEO_ENCODING_BYTES, NULL,
                                NULL, NULL, &error));

    rheo_group *jobs;
    rheo_fetch_options *patient;
    rheo_lease_list *leases;
    ok(rheo_instance_group(db, RHEO_TEXT("pictures"), RHEO_TEXT("resize"), &jobs, &error));
    ok(rheo_fetch_options_new(&patient, &error));
    ok(rheo_fetch_options_set_wait_ms(patient, 10000, &error)); /* for new work, or for a retry that is due */
    ok(rheo_lease_list_new(&leases, &error));
    while (unfinished > 0) {
        ok(rheo_group_fetch(jobs, patient, leases, &error));
        for (size_t i = 0; i < rheo_lease_list_len(leases); i++)
            unfinished -= work(jobs, rheo_lease_list_get(leases, i));
    }

    rheo_dead_letter_list *letters;
    ok(rheo_group_dead_letters(jobs, NULL, &letters, &error));
    for (size_t i = 0; i < rheo_dead_letter_list_len(letters); i++) {
        const rheo_dead_letter *letter = rheo_dead_letter_list_get(letters, i);
        rheo_bytes picture = rheo_event_payload(rheo_dead_letter_event(letter));
        printf("put aside: %.*s: %.*s\n", RHEO_PRINT(picture), RHEO_PRINT(rheo_dead_letter_reason(letter)));
    }
    rheo_dead_letter_list_free(letters);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(patient);
    rheo_group_free(jobs);
    rheo_instance_free(db);
}
