#include "json.h"

#include <string.h>

/* Reads the string whose opening quote is at `at`; returns what follows it, NULL when it does not end. */
static const char *read_string(const char *at, const char *end, json_text *string) {
    const char *begin = ++at;
    while (at < end && *at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    if (at >= end) {
        return NULL;
    }
    *string = (json_text){begin, (size_t)(at - begin)};
    return at + 1;
}

json_text json_field(json_text object, const char *name) {
    const char *end = object.data + object.len;
    const char *at = object.data;
    json_text key, value;
    /* From one key to the next. */
    while (at && at < end && (at = memchr(at, '"', (size_t)(end - at))) && (at = read_string(at, end, &key))) {
        while (at < end && strchr(": ", *at)) {
            at++;
        }
        if (at < end && *at == '"') {
            at = read_string(at, end, &value);
        } else {
            value.data = at;
            while (at < end && !strchr(",} ", *at)) {
                at++;
            }
            value.len = (size_t)(at - value.data);
        }
        if (at && key.len == strlen(name) && memcmp(key.data, name, key.len) == 0) {
            return value;
        }
    }
    return (json_text){NULL, 0};
}
