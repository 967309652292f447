/* The C side of the demo: reads a file of earthquakes and appends it to a stream. */

#ifndef DEMO_INGEST_H
#define DEMO_INGEST_H

#include <rheo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of the lines of the file. */
typedef struct ingest_report {
    size_t lines;     /* how many there are */
    size_t appended;  /* new events */
    size_t known;     /* the stream held an event of this id already, and nothing was appended */
    size_t identical; /* the event in the stream has the line as its payload, byte for byte */
} ingest_report;

/*
 * Appends each line of the file at `path` to `stream`, last line first: the file is newest first, a stream grows from
 * the oldest event on. Says on stderr what failed, if something did; true when all lines were appended.
 */
bool ingest(const rheo_instance *db, const char *stream, const char *path, ingest_report *report);

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
