/* What somebody writes who has the installed library and nothing else. */

#include <rheo.h>
#include <stdio.h>

#define TRY(call)                                                                                                      \
    if (call)                                                                                                          \
    return fprintf(stderr, "%s: %.*s\n", #call, RHEO_PRINT(rheo_error_message(error))), 1

int main(void) {
    rheo_error *error = NULL;
    rheo_instance *db;
    rheo_lease_list *leases;
    if (!RHEO_ABI_MATCHES())
        return fprintf(stderr, "rheo.h is of another ABI than librheo %s\n", rheo_version()), 1;
    TRY(rheo_instance_open(RHEO_TEXT("memory:"), NULL, &db, &error));
    TRY(rheo_instance_create_stream(db, RHEO_TEXT("orders"), NULL, &error));
    TRY(rheo_instance_create_group(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, &error));
    TRY(rheo_instance_append(db, RHEO_TEXT("orders"), RHEO_TEXT("from C"), RHEO_ENCODING_BYTES, NULL, NULL, NULL,
                             &error));
    TRY(rheo_lease_list_new(&leases, &error));
    TRY(rheo_instance_fetch(db, RHEO_TEXT("orders"), RHEO_TEXT("billing"), NULL, leases, &error));
    for (size_t i = 0; i < rheo_lease_list_len(leases); i++) {
        const rheo_lease *lease = rheo_lease_list_get(leases, i);
        TRY(rheo_instance_ack(db, lease, &error));
        printf("%s: %.*s\n", rheo_version(), RHEO_PRINT(rheo_event_payload(rheo_lease_event(lease))));
    }
    rheo_lease_list_free(leases);
    rheo_instance_free(db);
    return 0;
}
