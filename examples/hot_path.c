/*
 * The hot path: names are resolved once, options are set anew, lists are filled again. After the first round neither
 * the program nor a call allocates anything but the room for the events themselves.
 *
 * prints: appended and acked: 100000
 */

#include <rheo.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 1000, EVENTS_PER_ROUND = 100 };

static rheo_error *error;

/* Ends the program, and says why, when a call failed. */
static void ok(rheo_status status) {
    if (status != RHEO_OK) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
        exit(1);
    }
}

int main(void) {
    rheo_instance *db;
    ok(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    ok(rheo_instance_create_stream(db, RHEO_TEXT("readings"), NULL, &error));
    ok(rheo_instance_create_group(db, RHEO_TEXT("readings"), RHEO_TEXT("average"), NULL, &error));

    rheo_stream *readings;          /* bound: its name is resolved once */
    rheo_group *average;            /* so are the names of this one */
    rheo_append_options *of_sensor; /* set for each event, in memory that it has */
    rheo_fetch_options *a_hundred;  /* set once, read by every fetch */
    rheo_lease_list *leases;        /* filled by every fetch */
    rheo_results *results;          /* filled by every ack */
    ok(rheo_instance_stream(db, RHEO_TEXT("readings"), &readings, &error));
    ok(rheo_instance_group(db, RHEO_TEXT("readings"), RHEO_TEXT("average"), &average, &error));
    ok(rheo_append_options_new(&of_sensor, &error));
    ok(rheo_fetch_options_new(&a_hundred, &error));
    ok(rheo_fetch_options_set_limit(a_hundred, EVENTS_PER_ROUND, &error));
    ok(rheo_lease_list_new(&leases, &error));
    ok(rheo_results_new(&results, &error));

    size_t acked = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < EVENTS_PER_ROUND; i++) {
            char sensor[16];
            double value = i * 0.5;
            int len = snprintf(sensor, sizeof sensor, "sensor-%d", i);
            ok(rheo_append_options_set_key(of_sensor, sensor, (size_t)len, &error));
            /* No event is asked for in return; where one is needed, a rheo_position often does. */
            ok(rheo_stream_append(readings, &value, sizeof value, RHEO_ENCODING_BYTES, of_sensor, NULL, NULL, &error));
        }

        ok(rheo_group_fetch(average, a_hundred, leases, &error));
        ok(rheo_group_ack_list(average, leases, results, &error)); /* all were tried; were all done? */
        if (rheo_results_failed(results) > 0) {
            fprintf(stderr, "not acked in round %d: %zu\n", round, rheo_results_failed(results));
            return 1;
        }
        acked += rheo_results_len(results);
    }
    printf("appended and acked: %zu\n", acked);

    rheo_results_free(results);
    rheo_lease_list_free(leases);
    rheo_fetch_options_free(a_hundred);
    rheo_append_options_free(of_sensor);
    rheo_group_free(average);
    rheo_stream_free(readings);
    rheo_instance_free(db);
}
