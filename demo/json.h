/* Just as much JSON as the earthquakes need. */

#ifndef DEMO_JSON_H
#define DEMO_JSON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text that lies within another one; `data` is NULL when there is none. */
typedef struct json_text {
    const char *data;
    size_t len;
} json_text;

/*
 * The value of a field of a flat JSON object: a string without its quotes, anything else as it is written. Escapes are
 * left as they are; the earthquakes have none.
 */
json_text json_field(json_text object, const char *name);

#ifdef __cplusplus
}
#endif

#endif
