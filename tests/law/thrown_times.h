/* Random durations of a pipeline's slots and transfers, and lines that its links share. */
#ifndef SHARDPLAN_TESTS_LAW_THROWN_TIMES_H
#define SHARDPLAN_TESTS_LAW_THROWN_TIMES_H

#include "costmodel/replay.h"
#include "plan/boundary.h"
#include "tests/law/each_stream.h"

static inline double *throw_times(uint32_t count, double most)
{
    double *times = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        /* One in five is nothing at all. */
        times[i] = random_pop_below(&dice, 5) == 0 ? 0 : most * random_pop_unit(&dice);
    }
    return times;
}

static inline double *double_all(const double *times, uint32_t count)
{
    double *doubled = times == NULL ? NULL : ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; times != NULL && i < count; i++) {
        doubled[i] = 2 * times[i];
    }
    return doubled;
}

/* Two lines, now and then one, for each link: one that it shares with others of its stage, one of
 * its own; or with `joined` any. */
static inline uint32_t *throw_lines(uint32_t stages, bool joined)
{
    uint32_t *lines = ARENA_PUSH(&arena, uint32_t, stages * BOUNDARY_LINKS * 2);
    for (uint32_t link = 0; link < stages * BOUNDARY_LINKS; link++) {
        const uint32_t stage = link / BOUNDARY_LINKS, own = stage + link + 1;
        uint32_t *const both = &lines[2 * link];
        both[0] = random_pop_below(&dice, 2) == 0 ? stage * BOUNDARY_LINES : own;
        both[1] = random_pop_below(&dice, 2) == 0 ? both[0] : own;
        for (uint32_t i = 0; i < 2 && joined; i++) {
            both[i] = random_pop_below(&dice, stages * BOUNDARY_LINES);
        }
    }
    return lines;
}

static inline struct replay_times throw_all(const struct stream *stream, double pair_frac)
{
    uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    struct replay_times times = {.forward_s = throw_times(chunks, 1),
                                 .backward_s = throw_times(chunks, 2),
                                 .weight_s = throw_times(chunks, 1)};
    if (random_pop_below(&dice, 2) == 0) {
        times.input_s = throw_times(chunks, 1);
    }
    if (random_pop_below(&dice, 4) > 0) {
        times.send_s = throw_times(chunks, 0.5);
        times.send_back_s = throw_times(chunks, 0.5);
        times.send_blocks = random_pop_below(&dice, 2) == 0;
        if (random_pop_below(&dice, 2) == 0) {
            times.queue_s = throw_times(chunks, 1);
            times.lines =
                random_pop_below(&dice, 2) == 0 ? throw_lines(stream->shape.stages, false) : NULL;
        }
        if (random_pop_below(&dice, 8) == 0) {
            times.send_back_s = NULL;
        }
    }
    if (random_pop_below(&dice, 2) == 0) {
        times.release_s = throw_times(chunks, 5);
    }
    times.pair_frac = pair_frac;
    return times;
}

#endif
