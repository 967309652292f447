/*
 * Puts a week of earthquakes into a journal:
 *
 *     ingest JOURNAL FILE
 *
 * Each line of the file becomes an event of the stream `earthquakes`, oldest first and byte for byte, with the id that
 * the seismologists gave it. So it may be run again, or be killed and run again: what is there is not appended twice.
 */

#include "json.h"

#include <rheo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What became of the lines of the file. */
typedef struct report {
    size_t lines;     /* how many there are */
    size_t appended;  /* new events */
    size_t known;     /* the stream held an event of this id already, and nothing was appended */
    size_t identical; /* the event in the stream has the line as its payload, byte for byte */
} report;

/* Appends one line. What Rheo is to know of an event is said in options: a payload is never looked into. */
static bool append_line(const rheo_stream *stream, rheo_append_options *options, json_text line, report *report,
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
static bool append_lines(const rheo_stream *stream, rheo_append_options *options, json_text file, report *report,
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

/* Creates the stream with four partitions, unless it is there since an earlier run. */
static bool create_stream(const rheo_instance *db, rheo_error **error) {
    rheo_stream_options *options = NULL;
    rheo_status status = rheo_stream_options_new(&options, error);
    if (status == RHEO_OK) {
        status = rheo_stream_options_set_partition_count(options, 4, error);
    }
    if (status == RHEO_OK) {
        status = rheo_instance_create_stream(db, RHEO_TEXT("earthquakes"), options, error);
    }
    if (status == RHEO_ERROR_ALREADY_EXISTS) {
        rheo_error_free(*error);
        *error = NULL;
        status = RHEO_OK;
    }
    rheo_stream_options_free(options);
    return status == RHEO_OK;
}

/* Opens the journal, which a directory that is new or empty becomes, and binds its stream. */
static bool open_journal(const char *path, rheo_instance **db, rheo_stream **stream, rheo_error **error) {
    char url[4096];
    if (snprintf(url, sizeof url, "journal:%s", path) >= (int)sizeof url) {
        fprintf(stderr, "this path is too long: %s\n", path);
        return false;
    }
    return rheo_instance_open(RHEO_TEXT(url), NULL, db, error) == RHEO_OK && create_stream(*db, error) &&
           rheo_instance_stream(*db, RHEO_TEXT("earthquakes"), stream, error) == RHEO_OK;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s JOURNAL FILE\n", argv[0]);
        return 2;
    }
    rheo_error *error = NULL;
    rheo_instance *db = NULL;
    rheo_stream *stream = NULL;          /* bound: the name is looked up once */
    rheo_append_options *options = NULL; /* set anew for each event: nothing is allocated in the loop */
    json_text file = {NULL, 0};
    report report = {0, 0, 0, 0};

    bool done = (file.data = read_file(argv[2], &file.len)) != NULL && open_journal(argv[1], &db, &stream, &error) &&
                rheo_append_options_new(&options, &error) == RHEO_OK &&
                append_lines(stream, options, file, &report, &error) && rheo_instance_close(db, &error) == RHEO_OK;
    if (error) {
        fprintf(stderr, "%.*s\n", RHEO_PRINT(rheo_error_message(error)));
    }
    if (done) {
        printf("%zu lines: %zu appended, %zu known before, %zu the same byte for byte\n", report.lines, report.appended,
               report.known, report.identical);
    }

    rheo_error_free(error);
    rheo_append_options_free(options);
    rheo_stream_free(stream);
    rheo_instance_free(db);
    free((void *)file.data);
    return done && report.identical == report.lines ? 0 : 1;
}
