/* The simulator runs every schedule as the longest path says, to the rounding of its times. */
#include "costmodel/replay.h"
#include "sim/schedule_run.h"

#include "tests/law/each_stream.h"

/* Half a picosecond for each slot and transfer on the longest path, which has at most all of
 * them. */
static double slack_s(const struct stream *stream)
{
    double slots = 1;
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        slots += stream->slot_counts[stage];
    }
    return 2 * slots * 0.5e-12;
}

static double *throw_times(uint32_t count, double most)
{
    double *times = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        /* One in five is nothing at all. */
        times[i] = random_pop_below(&dice, 5) == 0 ? 0 : most * random_pop_unit(&dice);
    }
    return times;
}

/* Whole picoseconds below a second: sums of them are exact in doubles, in both judges. */
static double *throw_whole_times(uint32_t count)
{
    double *times = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        times[i] = (double)random_pop_below(&dice, 1u << 20) / 1048576.0;
    }
    return times;
}

static struct schedule_run_times throw_all(const struct stream *stream)
{
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    struct schedule_run_times times = {.forward_s = throw_times(chunks, 1),
                                       .backward_s = throw_times(chunks, 2),
                                       .weight_s = throw_times(chunks, 1)};
    if (random_pop_below(&dice, 2) == 0) {
        times.input_s = throw_times(chunks, 1);
    }
    if (random_pop_below(&dice, 4) > 0) {
        times.send_s = throw_times(chunks, 0.5);
        times.send_back_s = throw_times(chunks, 0.5);
        times.send_blocks = random_pop_below(&dice, 2) == 0;
    }
    if (random_pop_below(&dice, 2) == 0) {
        times.release_s = throw_times(chunks, 5);
    }
    times.pair_frac = random_pop_below(&dice, 2) == 0 ? 0 : 0.5 + 0.5 * random_pop_unit(&dice);
    return times;
}

static struct replay_result replay(const struct stream *stream,
                                   const struct schedule_run_times *times)
{
    const struct replay_times same = {.forward_s = times->forward_s,
                                      .backward_s = times->backward_s,
                                      .input_s = times->input_s,
                                      .weight_s = times->weight_s,
                                      .send_s = times->send_s,
                                      .send_back_s = times->send_back_s,
                                      .release_s = times->release_s,
                                      .send_blocks = times->send_blocks,
                                      .pair_frac = times->pair_frac};
    struct replay_plan plan;
    struct replay_result result;
    replay_build(stream, &arena, &plan);
    void *scratch = arena_push(&arena, 1, replay_count_scratch(&plan));
    replay_find_times(&plan, &same, scratch, &result);
    return result;
}

static void compare(const char *name, const struct stream *stream,
                    const struct schedule_run_times *times, double most_s)
{
    struct schedule_run_result run;
    ck_assert(schedule_run(stream, times, &arena, &run, &diag));
    const struct replay_result result = replay(stream, times);
    ck_assert_msg(
        run.makespan_s - result.makespan_s <= most_s &&
            result.makespan_s - run.makespan_s <= most_s,
        "%s, %u stages, %u chunks, %u micro-batches: simulated %.15g s, longest path %.15g s", name,
        stream->shape.stages, stream->shape.chunks, stream->shape.micro_batches, run.makespan_s,
        result.makespan_s);
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        ck_assert_double_eq_tol(run.stage_start_s[stage], result.stage_start_s[stage], most_s);
        ck_assert_double_eq_tol(run.stage_end_s[stage], result.stage_end_s[stage], most_s);
        ck_assert_double_eq_tol(run.stage_busy_s[stage], result.stage_busy_s[stage], most_s);
    }
    for (uint32_t chunk = 0; chunk < stream->shape.stages * stream->shape.chunks; chunk++) {
        ck_assert_double_eq_tol(run.chunk_start_s[chunk], result.chunk_start_s[chunk], most_s);
        ck_assert_double_eq_tol(run.chunk_end_s[chunk], result.chunk_end_s[chunk], most_s);
    }
}

static void random_law(const struct schedule *schedule, const struct stream *stream)
{
    const struct schedule_run_times times = throw_all(stream);
    compare(schedule->name, stream, &times, slack_s(stream));
}

START_TEST(simulation_equals_the_longest_path)
{
    each_stream(random_law);
}
END_TEST

/* 2^-20 s is 953674.3 ps: not whole; but 5^12 2^-20 s... so times are multiples of 2^-12 s =
 * 244140625 ps. */
static void exact_law(const struct schedule *schedule, const struct stream *stream)
{
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    double *forward_s = throw_whole_times(chunks), *backward_s = throw_whole_times(chunks);
    double *weight_s = throw_whole_times(chunks), *send_s = throw_whole_times(chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        forward_s[i] = (double)(uint32_t)(forward_s[i] * 4096) / 4096;
        backward_s[i] = (double)(uint32_t)(backward_s[i] * 4096) / 4096;
        weight_s[i] = (double)(uint32_t)(weight_s[i] * 4096) / 4096;
        send_s[i] = (double)(uint32_t)(send_s[i] * 4096) / 4096;
    }
    const struct schedule_run_times times = {.forward_s = forward_s,
                                             .backward_s = backward_s,
                                             .weight_s = weight_s,
                                             .send_s = send_s,
                                             .send_back_s = send_s};
    compare(schedule->name, stream, &times, 1e-15 * 1000);
}

START_TEST(whole_times_are_exact)
{
    each_stream(exact_law);
}
END_TEST

/* Makespans with the bubbles that the literature states: (p - 1)(F + B) / v, (p - 1)(F + B -
 * W). */
static const struct {
    const char *schedule;
    struct schedule_shape shape;
    double forward_s, backward_s, weight_s; /* per micro-batch, all chunks of a stage */
    double makespan_s;
} stated[] = {
    {"1f1b", {4, 1, 8}, 1, 2, 0, 33},           {"gpipe", {4, 1, 8}, 1, 2, 0, 33},
    {"interleaved", {4, 2, 8}, 2, 4, 0, 57},    {"interleaved", {4, 4, 8}, 2, 4, 0, 52.5},
    {"gpipe", {4, 1, 8}, 1, 1, 1, 33},          {"1f1b", {4, 1, 8}, 1, 1, 1, 33},
    {"interleaved", {4, 2, 8}, 1, 1, 1, 28.5},  {"interleaved", {4, 4, 8}, 1, 1, 1, 26.25},
    {"zb-h1", {4, 1, 8}, 1, 1, 1, 27},          {"zb-h2", {4, 1, 8}, 1, 1, 1, 27},
    {"zb-v", {4, 2, 8}, 1, 1, 1, 25.5},         {"1f1b", {8, 1, 24}, 1, 1, 1, 93},
    {"interleaved", {8, 2, 24}, 1, 1, 1, 82.5}, {"interleaved", {8, 4, 24}, 1, 1, 1, 77.25},
    {"zb-h1", {8, 1, 24}, 1, 1, 1, 79},         {"zb-v", {8, 2, 24}, 1, 1, 1, 75.5},
};

static double *fill(uint32_t count, double value)
{
    double *values = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = value;
    }
    return values;
}

START_TEST(stated_makespans)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    for (size_t i = 0; i < sizeof stated / sizeof stated[0]; i++) {
        const uint32_t chunks = stated[i].shape.stages * stated[i].shape.chunks;
        const double v = stated[i].shape.chunks;
        struct stream stream;
        ck_assert(stream_build(schedule_find(stated[i].schedule), &stated[i].shape, &arena, &stream,
                               &diag));
        const struct schedule_run_times times = {
            .forward_s = fill(chunks, stated[i].forward_s / v),
            .backward_s = fill(chunks, (stated[i].backward_s + stated[i].weight_s) / v),
            .input_s = fill(chunks, stated[i].backward_s / v),
            .weight_s = fill(chunks, stated[i].weight_s / v)};
        struct schedule_run_result run;
        ck_assert(schedule_run(&stream, &times, &arena, &run, &diag));
        ck_assert_msg(run.makespan_s == stated[i].makespan_s, "%s: %g s, not %g s",
                      stated[i].schedule, run.makespan_s, stated[i].makespan_s);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sim_schedules", simulation_equals_the_longest_path, whole_times_are_exact,
         stated_makespans)
