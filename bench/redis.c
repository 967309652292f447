/* Measures Redis Streams through hiredis, over loopback: what the C library's cases in bench/abi.c do, as Redis does
 * it. Prints as those do, in nanoseconds for one event; bench/run.py starts the server and ends it.
 *
 *     redis PORT [ROUNDS]
 *
 * Like with like: an entry has one field, the same payload of 128 bytes, and an id of the server's making. Commands
 * that are always the same are written out once, as the C library's batch is. The server is fresh and empty at first,
 * which is its cold pass; in the rounds it reuses the memory of the streams that were deleted.
 */
#define _POSIX_C_SOURCE 200809L

#include "rounds.h"

#include <hiredis/hiredis.h>
#include <string.h>

/* Fewer than in abi.c, fewer still where each event is a round trip: it would take minutes. */
enum { SINGLE_EVENTS = 5000, EVENTS = 100000, BATCH = 100 };

/* A command as it goes over the wire. */
struct command {
    char *text;
    size_t len;
};

static redisContext *redis;
static const char *name;
static struct command xadd;
static struct command xreadgroup;
static char payload[128];

static void fail(const char *what) {
    fprintf(stderr, "redis: %s\n", what);
    exit(EXIT_FAILURE);
}

static struct command write_out(int count, const char **words, const size_t *lengths) {
    struct command command = {NULL, 0};
    long long len = redisFormatCommandArgv(&command.text, count, words, lengths);
    if (len < 0) {
        fail("a command could not be written out");
    }
    command.len = (size_t)len;
    return command;
}

static void send_command(struct command command) {
    if (redisAppendFormattedCommand(redis, command.text, command.len) != REDIS_OK) {
        fail(redis->errstr);
    }
}

/* The next reply, which is of this type; to be freed. */
static redisReply *reply(int type) {
    redisReply *reply;
    if (redisGetReply(redis, (void **)&reply) != REDIS_OK) {
        fail(redis->errstr);
    }
    if (reply->type != type) {
        fail(reply->type == REDIS_REPLY_ERROR ? reply->str : "the reply has another type than expected");
    }
    return reply;
}

static void append_one(int events) {
    for (int event = 0; event < events; event++) {
        send_command(xadd);
        freeReplyObject(reply(REDIS_REPLY_STRING));
    }
}

static void append_pipelined(int events) {
    for (int event = 0; event < events; event += BATCH) {
        for (int item = 0; item < BATCH; item++) {
            send_command(xadd);
        }
        for (int item = 0; item < BATCH; item++) {
            freeReplyObject(reply(REDIS_REPLY_STRING));
        }
    }
}

static void fetch_ack_hundred(int events) {
    const char *words[3 + BATCH] = {"XACK", name, "billing"};
    size_t lengths[3 + BATCH] = {4, strlen(name), 7};
    for (int event = 0; event < events; event += BATCH) {
        send_command(xreadgroup);
        redisReply *streams = reply(REDIS_REPLY_ARRAY);
        /* One stream: its name and its entries, each an id and its fields. */
        redisReply *entries = streams->element[0]->element[1];
        if (entries->elements != BATCH) {
            fail("XREADGROUP gave other than 100 entries");
        }
        for (int item = 0; item < BATCH; item++) {
            redisReply *id = entries->element[item]->element[0];
            words[3 + item] = id->str;
            lengths[3 + item] = id->len;
        }
        if (redisAppendCommandArgv(redis, 3 + BATCH, words, lengths) != REDIS_OK) {
            fail(redis->errstr);
        }
        redisReply *acked = reply(REDIS_REPLY_INTEGER);
        if (acked->integer != BATCH) {
            fail("XACK acked other than 100 entries");
        }
        freeReplyObject(acked);
        freeReplyObject(streams);
    }
}

static struct bench benches[] = {
    {"redis_xadd", SINGLE_EVENTS, false, append_one, 0, {0}},
    {"redis_xadd_pipelined_100", EVENTS, false, append_pipelined, 0, {0}},
    {"redis_xreadgroup_100_xack", EVENTS, true, fetch_ack_hundred, 0, {0}},
};

static void forget_commands(void) {
    redisFreeCommand(xadd.text);
    redisFreeCommand(xreadgroup.text);
}

static void set_up(const char *stream, const struct bench *bench) {
    forget_commands();
    name = stream;
    const char *append[] = {"XADD", name, "*", "payload", payload};
    const size_t append_lengths[] = {4, strlen(name), 1, 7, sizeof payload};
    xadd = write_out(5, append, append_lengths);
    const char *fetch[] = {"XREADGROUP", "GROUP", "billing", "worker", "COUNT", "100", "STREAMS", name, ">"};
    xreadgroup = write_out(9, fetch, NULL);
    const char *create[] = {"XGROUP", "CREATE", name, "billing", "0", "MKSTREAM"};
    redisAppendCommandArgv(redis, 6, create, NULL);
    freeReplyObject(reply(REDIS_REPLY_STATUS));
    if (bench->filled) {
        append_pipelined(bench->events);
    }
}

static void take_down(const char *stream) {
    const char *delete[] = {"DEL", stream};
    redisAppendCommandArgv(redis, 2, delete, NULL);
    freeReplyObject(reply(REDIS_REPLY_INTEGER));
}

/* The memory in question is the server's, whose allocator keeps some by itself. */
static void keep_memory(void) {}

int main(int argc, char **argv) {
    if (argc < 2) {
        fail("which port?");
    }
    int rounds = rounds_from(argc > 2 ? argv[2] : "9");
    memset(payload, 'x', sizeof payload);
    redis = redisConnect("127.0.0.1", atoi(argv[1]));
    if (redis == NULL || redis->err != 0) {
        fail(redis == NULL ? "no memory" : redis->errstr);
    }
    measure(benches, sizeof benches / sizeof *benches, rounds, set_up, take_down, keep_memory);
    forget_commands();
    redisFree(redis);
    return EXIT_SUCCESS;
}
