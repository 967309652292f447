#include "ingest.h"

#include <stdio.h>
#include <stdlib.h>

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

/* Appends one line. What Rheo is to know of an event is said in options: a payload is never looked into. */
static bool append_line(const rheo_stream *stream, rheo_append_options *options, json_text line, ingest_report *report,
                        rheo_error **error) {
    json_text id = json_field(line, "id");
    json_text net = json_field(line, "net");
    json_text type = json_field(line, "type");
    json_text time = json_field(line, "time");
    if (!id.data || !net.data || !type.data || !time.data) {
        fprintf(stderr, "this line is no earthquake: %.*s\n", (int)line.len, line.data);
        return false;
    }

    int64_t micros = strtoll(time.data, NULL, 10) * 1000; /* the file has milliseconds */
    rheo_event *event = NULL;
    if (rheo_append_options_set_id(options, id.data, id.len, error) != RHEO_OK ||
        rheo_append_options_set_key(options, net.data, net.len, error) != RHEO_OK ||
        rheo_append_options_set_type(options, type.data, type.len, error) != RHEO_OK ||
        rheo_append_options_set_timestamp(options, micros, error) != RHEO_OK ||
        rheo_stream_append(stream, line.data, line.len, RHEO_ENCODING_JSON, options, NULL, &event, error) != RHEO_OK) {
        return false;
    }

    rheo_bytes payload = rheo_event_payload(event);
    report->identical += payload.len == line.len && memcmp(payload.data, line.data, line.len) == 0;
    report->known += rheo_event_deduplicated(event);
    report->appended += !rheo_event_deduplicated(event);
    report->lines++;
    rheo_event_free(event);
    return true;
}

/* Appends the lines of a text, the last one first. */
static bool append_lines(const rheo_stream *stream, rheo_append_options *options, json_text file, ingest_report *report,
                         rheo_error **error) {
    size_t end = file.len;
    while (end > 0) {
        size_t begin = end;
        while (begin > 0 && file.data[begin - 1] != '\n') {
            begin--;
        }
        json_text line = {file.data + begin, end - begin};
        if (line.len > 0 && !append_line(stream, options, line, report, error)) {
            return false;
        }
        end = begin > 0 ? begin - 1 : 0;
    }
    return true;
}

/* Reads a whole file, with a NUL behind it; the caller frees it. NULL, and the reason on stderr, if that fails. */
static char *read_file(const char *path, size_t *len) {
    char *content = NULL;
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0 &&
        (content = malloc((size_t)size + 1))) {
        *len = fread(content, 1, (size_t)size, file);
        content[*len] = '\0';
    }
    if (!content || *len != (size_t)size) {
        perror(path);
        free(content);
        content = NULL;
    }
    if (file) {
        fclose(file);
    }
    return content;
}

bool ingest(const rheo_instance *db, const char *stream_name, const char *path, ingest_report *report) {
    rheo_error *error = NULL;
    rheo_stream *stream = NULL;          /* bound: the name is looked up once */
    rheo_append_options *options = NULL; /* set anew for each event: nothing is allocated in the loop */
    json_text file = {NULL, 0};
    *report = (ingest_report){0, 0, 0, 0};

    bool done = (file.data = read_file(path, &file.len)) != NULL &&
                rheo_instance_stream(db, RHEO_TEXT(stream_name), &stream, &error) == RHEO_OK &&
                rheo_append_options_new(&options, &error) == RHEO_OK &&
                append_lines(stream, options, file, report, &error);
    if (error) {
        fprintf(stderr, "%s: %.*s\n", path, RHEO_PRINT(rheo_error_message(error)));
    }

    rheo_error_free(error);
    rheo_append_options_free(options);
    rheo_stream_free(stream);
    free((void *)file.data);
    return done;
}
