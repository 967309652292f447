/* Rounds of cases, as bench/abi.c and bench/redis.c share them. */
#ifndef RHEO_BENCH_ROUNDS_H
#define RHEO_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_ROUNDS = 99 };

/* What is measured, on a stream of its own. */
struct bench {
    const char *name;
    int events;
    /* Whether the stream holds that many events before. */
    bool filled;
    void (*run)(int events);
    double cold;
    double samples[MOST_ROUNDS];
};

static int rounds_from(const char *text) {
    int rounds = atoi(text);
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "rounds: 1 to %d, not %s\n", MOST_ROUNDS, text);
        exit(EXIT_FAILURE);
    }
    return rounds;
}

static double nanos_for_one(const struct bench *bench) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    bench->run(bench->events);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / bench->events;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Measures every case cold and then, in rounds, warm, and prints both in nanoseconds for one event.
 *
 * `set_up` makes a fresh stream of this name, `take_down` deletes it. In the cold pass every stream stays until all are
 * measured, so that none gets the memory of another. `keep_memory` comes between the two.
 */
static void measure(struct bench *benches, size_t count, int rounds,
                    void (*set_up)(const char *stream, const struct bench *bench),
                    void (*take_down)(const char *stream), void (*keep_memory)(void)) {
    /* As long as the engine's `orders`: hashing a name is a part of what is measured. */
    char stream[] = "order?";
    char *digit = stream + sizeof stream - 2;
    for (size_t at = 0; at < count; at++) {
        *digit = (char)('0' + at);
        set_up(stream, &benches[at]);
        benches[at].cold = nanos_for_one(&benches[at]);
    }
    for (size_t at = 0; at < count; at++) {
        *digit = (char)('0' + at);
        take_down(stream);
    }
    keep_memory();
    /* The first round touches again what the allocator gave back, and does not count. */
    for (int round = 0; round <= rounds; round++) {
        for (size_t at = 0; at < count; at++) {
            *digit = (char)('0' + at);
            set_up(stream, &benches[at]);
            double nanos = nanos_for_one(&benches[at]);
            if (round > 0) {
                benches[at].samples[round - 1] = nanos;
            }
            take_down(stream);
        }
    }
    for (size_t at = 0; at < count; at++) {
        qsort(benches[at].samples, (size_t)rounds, sizeof(double), compare);
        printf("%s\t%.1f\n%s_cold\t%.1f\n", benches[at].name, benches[at].samples[rounds / 2], benches[at].name,
               benches[at].cold);
    }
}

#endif
