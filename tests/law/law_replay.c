/* What the replay of every pipeline schedule keeps: a second opinion, the bounds, the cuts. */
#include <math.h>

#include "costmodel/replay.h"

#include "tests/law/thrown_times.h"

/* Event by event, from the text of the contract: nothing here is shared with the machinery. */
struct naive {
    const struct stream *stream;
    const struct replay_times *times;
    uint32_t *at;   /* [stage] */
    double *free_s; /* [stage] */
    double *busy_s; /* [stage] */
    double *
        arrived_s[2]; /* forward, backward input of (model chunk, micro-batch); negative: not yet */
    double *linked_s, *lined_s; /* [link], [line] free from then on */
    double *begun_s, *end_s;    /* [model chunk] */
    double makespan_s;
};

static double *naive_input(const struct naive *naive, bool forward, uint32_t chunk, uint32_t micro)
{
    return &naive->arrived_s[forward ? 0 : 1][chunk * naive->stream->shape.micro_batches + micro];
}

static double naive_duration(const struct replay_times *times, enum slot_kind kind, uint32_t chunk)
{
    const double *table = kind == SLOT_FORWARD    ? times->forward_s
                          : kind == SLOT_BACKWARD ? times->backward_s
                          : kind == SLOT_WEIGHT_GRADIENT
                              ? times->weight_s
                              : (times->input_s != NULL ? times->input_s : times->backward_s);
    return table == NULL ? 0 : table[chunk];
}

/* Seconds from chunk `from` to `to`, neighbours in the chain. */
static double naive_send(const struct naive *naive, uint32_t from, uint32_t to)
{
    uint32_t chunks = naive->stream->shape.chunks;
    const double *table = from < to ? naive->times->send_s : naive->times->send_back_s;
    if (naive->stream->chunk_place[from] / chunks == naive->stream->chunk_place[to] / chunks) {
        return 0;
    }
    return table == NULL ? 0 : table[from < to ? from : to];
}

static double naive_max(double a, double b)
{
    return a > b ? a : b;
}

static uint32_t naive_chunk(const struct naive *naive, uint32_t stage, const struct slot *slot)
{
    return naive->stream->model_chunk[stage * naive->stream->shape.chunks + slot->chunk];
}

/* Position of the chunk in its chain. */
static uint32_t naive_depth(const struct naive *naive, uint32_t chunk)
{
    const struct stream *stream = naive->stream;
    return chunk % (stream->shape.stages * stream->shape.chunks / stream->copies);
}

static uint32_t naive_last(const struct naive *naive)
{
    const struct stream *stream = naive->stream;
    return stream->shape.stages * stream->shape.chunks / stream->copies - 1;
}

/* Moves the start behind what the slot waits for; false if that is not there. */
static bool naive_wait(const struct naive *naive, uint32_t stage, const struct slot *slot,
                       double *start_s)
{
    const uint32_t chunk = naive_chunk(naive, stage, slot);
    const bool forward = slot->kind == SLOT_FORWARD;
    if (slot->kind == SLOT_WEIGHT_GRADIENT) {
        return true;
    }
    const double arrived_s = *naive_input(naive, forward, chunk, slot->micro_batch);
    if (arrived_s < 0) {
        return false;
    }
    *start_s = naive_max(*start_s, arrived_s);
    if (forward && naive->times->release_s != NULL) {
        *start_s = naive_max(*start_s, naive->times->release_s[chunk]);
    }
    return true;
}

/* From start_s on; its end. */
static double naive_work(struct naive *naive, uint32_t stage, const struct slot *slot,
                         double start_s, double frac)
{
    const uint32_t chunk = naive_chunk(naive, stage, slot);
    const double duration_s = frac * naive_duration(naive->times, slot->kind, chunk);
    naive->begun_s[chunk] = naive->begun_s[chunk] < 0 ? start_s : naive->begun_s[chunk];
    naive->end_s[chunk] = start_s + duration_s;
    naive->busy_s[stage] += duration_s;
    naive->makespan_s = naive_max(naive->makespan_s, start_s + duration_s);
    return start_s + duration_s;
}

/* Seconds of the transfer of what the slot makes; `to`: chunk that gets it, or UINT32_MAX. */
static double naive_transfer(const struct naive *naive, uint32_t stage, const struct slot *slot,
                             uint32_t *to)
{
    const uint32_t chunk = naive_chunk(naive, stage, slot), depth = naive_depth(naive, chunk);
    const bool forward = slot->kind == SLOT_FORWARD;
    *to = UINT32_MAX;
    if (slot->kind == SLOT_WEIGHT_GRADIENT || depth == (forward ? naive_last(naive) : 0)) {
        return 0;
    }
    *to = forward ? chunk + 1 : chunk - 1;
    return naive_send(naive, chunk, *to);
}

/* A transfer begins when the one before it over the link, or a line of it, has kept that for its
 * time. Of the lines of one stage there is never room before that. */
static double naive_begin(struct naive *naive, uint32_t from, uint32_t to, double made_s)
{
    const uint32_t chunks = naive->stream->shape.chunks;
    const double *queue_s = naive->times->queue_s;
    const uint32_t sender = naive->stream->chunk_place[from] / chunks,
                   receiver = naive->stream->chunk_place[to] / chunks;
    if (queue_s == NULL || sender == receiver || (from > to && naive->times->send_back_s == NULL)) {
        return made_s;
    }
    const uint32_t link = 3 * sender + (receiver == sender + 1   ? 0
                                        : receiver + 1 == sender ? 1
                                                                 : 2);
    const double length_s = queue_s[from < to ? from : to];
    const uint32_t *lines = naive->times->lines;
    double begin_s = naive_max(made_s, naive->linked_s[link]);
    for (uint32_t i = 0; lines != NULL && i < 2; i++) {
        begin_s = naive_max(begin_s, naive->lined_s[lines[2 * link + i]]);
        if (i == 1 || lines[2 * link] != lines[2 * link + 1]) {
            naive->lined_s[lines[2 * link + i]] = begin_s + length_s;
        }
    }
    naive->linked_s[link] = lines == NULL ? begin_s + length_s : made_s;
    return begin_s;
}

/* Runs the head of the stage, or the pair at its head; false if it has none or its input is not
 * there. */
static bool naive_run(struct naive *naive, uint32_t stage)
{
    const struct stream *stream = naive->stream;
    if (naive->at[stage] == stream->slot_counts[stage]) {
        return false;
    }
    const struct slot *slots = &stream->slots[stage][naive->at[stage]];
    const uint32_t count = slots[0].paired ? 2 : 1;
    const double frac = count == 2 && naive->times->pair_frac > 0 ? naive->times->pair_frac : 1;
    double start_s = naive->free_s[stage], send_s[2], sends_s = 0;
    uint32_t to[2];
    for (uint32_t i = 0; i < count; i++) {
        if (!naive_wait(naive, stage, &slots[i], &start_s)) {
            return false;
        }
    }
    double end_s = start_s;
    for (uint32_t i = 0; i < count; i++) {
        end_s = naive_work(naive, stage, &slots[i], end_s, frac);
        send_s[i] = naive_transfer(naive, stage, &slots[i], &to[i]);
        sends_s += send_s[i];
    }
    naive->free_s[stage] = end_s + (naive->times->send_blocks ? sends_s : 0);
    for (uint32_t i = 0; i < count; i++) {
        const bool forward = slots[i].kind == SLOT_FORWARD;
        const uint32_t chunk = naive_chunk(naive, stage, &slots[i]);
        if (to[i] != UINT32_MAX) {
            *naive_input(naive, forward, to[i], slots[i].micro_batch) =
                naive->times->send_blocks ? naive->free_s[stage]
                                          : naive_begin(naive, chunk, to[i], end_s) + send_s[i];
        }
        if (forward && naive_depth(naive, chunk) == naive_last(naive)) {
            *naive_input(naive, false, chunk, slots[i].micro_batch) = 0; /* needs nobody else */
        }
    }
    naive->at[stage] += count;
    return true;
}

static struct naive naive_replay(const struct stream *stream, const struct replay_times *times)
{
    const struct schedule_shape *shape = &stream->shape;
    uint32_t chunks = shape->stages * shape->chunks, inputs = chunks * shape->micro_batches;
    struct naive naive = {
        .stream = stream,
        .times = times,
        .at = ARENA_PUSH(&arena, uint32_t, shape->stages),
        .free_s = ARENA_PUSH(&arena, double, shape->stages),
        .busy_s = ARENA_PUSH(&arena, double, shape->stages),
        .arrived_s = {ARENA_PUSH(&arena, double, inputs), ARENA_PUSH(&arena, double, inputs)},
        .linked_s = ARENA_PUSH(&arena, double, 3 * shape->stages),
        .lined_s = ARENA_PUSH(&arena, double, 4 * shape->stages),
        .begun_s = ARENA_PUSH(&arena, double, chunks),
        .end_s = ARENA_PUSH(&arena, double, chunks)};
    for (uint32_t i = 0; i < inputs; i++) {
        const bool begins = naive_depth(&naive, i / shape->micro_batches) == 0;
        naive.arrived_s[0][i] = begins ? 0 : -1;
        naive.arrived_s[1][i] = -1;
    }
    for (uint32_t i = 0; i < chunks; i++) {
        naive.begun_s[i] = -1;
    }
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t stage = shape->stages; stage-- > 0;) { /* any order gives the same times */
            moved = naive_run(&naive, stage) || moved;
        }
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        ck_assert_uint_eq(naive.at[stage], stream->slot_counts[stage]);
    }
    return naive;
}

static void is_close(double a, double b)
{
    ck_assert_double_eq_tol(a, b, 1e-12 * (1 + naive_max(a, b)));
}

struct judged {
    struct replay_plan plan;
    struct replay_result result;
    void *scratch;
};

static struct judged judge(const struct stream *stream, const struct replay_times *times)
{
    struct judged judged;
    replay_build(stream, &arena, &judged.plan);
    judged.scratch = arena_push(&arena, 1, replay_count_scratch(&judged.plan));
    replay_find_times(&judged.plan, times, judged.scratch, &judged.result);
    return judged;
}

static void replay_law(const struct schedule *schedule, const struct stream *stream)
{
    (void)schedule;
    struct replay_times times =
        throw_all(stream, random_pop_below(&dice, 2) == 0 ? 0 : random_pop_unit(&dice));
    struct replay_result result = judge(stream, &times).result;
    struct naive naive = naive_replay(stream, &times);
    is_close(result.makespan_s, naive.makespan_s);
    for (uint32_t i = 0; i < stream->shape.stages * stream->shape.chunks; i++) {
        is_close(result.chunk_start_s[i], naive.begun_s[i]);
        is_close(result.chunk_end_s[i], naive.end_s[i]);
    }
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        double start_s = naive.makespan_s, end_s = 0;
        for (uint32_t i = 0; i < stream->shape.chunks; i++) {
            uint32_t chunk = stream->model_chunk[stage * stream->shape.chunks + i];
            start_s = naive.begun_s[chunk] < start_s ? naive.begun_s[chunk] : start_s;
            end_s = naive_max(end_s, naive.end_s[chunk]);
        }
        is_close(result.stage_start_s[stage], start_s);
        is_close(result.stage_end_s[stage], end_s);
        is_close(result.stage_busy_s[stage], naive.busy_s[stage]);
    }
}

START_TEST(replay_equals_a_naive_one)
{
    each_stream(replay_law);
}
END_TEST

/* Work of all micro-batches on a model chunk. */
static double chunk_work(const struct stream *stream, const struct replay_times *times,
                         uint32_t chunk)
{
    uint32_t stage = stream->chunk_place[chunk] / stream->shape.chunks;
    double work_s = 0;
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        if (stream->model_chunk[stage * stream->shape.chunks + slot->chunk] == chunk) {
            work_s += naive_duration(times, slot->kind, chunk);
        }
    }
    return work_s;
}

/* Bound P9: the way to the nearest of a stage's chunks, all its own work, and the way back from
 * there; the last only where backwards are whole, since weight gradients may end a stage. */
static double bound_of_stage(const struct naive *naive, uint32_t stage)
{
    const struct stream *stream = naive->stream;
    const struct replay_times *times = naive->times;
    double work_s = 0, head_s = INFINITY, tail_s = INFINITY;
    bool split = false;
    for (uint32_t i = 0; i < stream->shape.chunks; i++) {
        uint32_t chunk = stream->model_chunk[stage * stream->shape.chunks + i];
        double there_s = 0, back_s = 0;
        for (uint32_t j = chunk - naive_depth(naive, chunk); j < chunk; j++) {
            there_s += times->forward_s[j] + naive_send(naive, j, j + 1);
            back_s += times->backward_s[j] + naive_send(naive, j + 1, j);
        }
        work_s += chunk_work(stream, times, chunk);
        head_s = there_s < head_s ? there_s : head_s;
        tail_s = back_s < tail_s ? back_s : tail_s;
    }
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        split = split || stream->slots[stage][i].kind == SLOT_WEIGHT_GRADIENT;
    }
    return head_s + work_s + (split ? 0 : tail_s);
}

/* Seconds for which the line is kept by all that goes over it. */
static double line_work(const struct stream *stream, const struct replay_times *times,
                        uint32_t line)
{
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    double work_s = 0;
    for (uint32_t i = 0; i + 1 < chunks; i++) {
        const uint32_t from = stream->chunk_place[i] / stream->shape.chunks,
                       to = stream->chunk_place[i + 1] / stream->shape.chunks;
        const bool crosses = (i + 1) % (chunks / stream->copies) != 0 && from != to;
        const uint32_t *there = &times->lines[2 * boundary_find_link(from, to)],
                       *back = &times->lines[2 * boundary_find_link(to, from)];
        work_s += !crosses ? 0
                           : times->queue_s[i] * stream->shape.micro_batches / stream->copies *
                                 ((there[0] == line || there[1] == line ? 1 : 0) +
                                  (back[0] == line || back[1] == line ? 1 : 0));
    }
    return work_s;
}

/* Lines that many stages share: no step ends before all has gone over each, and none is shorter
 * than with a line for each link. */
static void lines_law(const struct schedule *schedule, const struct stream *stream)
{
    struct replay_times times = throw_all(stream, 0);
    const uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    times.queue_s = times.send_s = times.send_back_s = throw_times(chunks, 1);
    times.lines = throw_lines(stream->shape.stages, true);
    times.send_blocks = false;
    struct judged judged = judge(stream, &times);
    const double joined_s = judged.result.makespan_s;
    for (uint32_t line = 0; line < BOUNDARY_LINES * stream->shape.stages; line++) {
        const double work_s = line_work(stream, &times, line);
        ck_assert_msg(joined_s >= work_s * (1 - 1e-12), "%s: %g s, its line is kept for %g s",
                      schedule->name, joined_s, work_s);
    }
    times.lines = NULL;
    replay_find_times(&judged.plan, &times, judged.scratch, &judged.result);
    ck_assert_double_ge(joined_s, judged.result.makespan_s * (1 - 1e-12));
}

START_TEST(lines_carry_one_after_the_other)
{
    each_stream(lines_law);
}
END_TEST

static void bounds_law(const struct schedule *schedule, const struct stream *stream)
{
    struct replay_times times = throw_all(stream, 0);
    times.input_s = NULL;
    struct replay_result result = judge(stream, &times).result;
    struct naive naive = {.stream = stream, .times = &times};
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        double slack_s = 1e-12 * result.makespan_s;
        ck_assert_double_ge(result.makespan_s + slack_s, result.stage_busy_s[stage]);
        ck_assert_msg(result.makespan_s + slack_s >= bound_of_stage(&naive, stage),
                      "%s: makespan %g below the bound %g of stage %u", schedule->name,
                      result.makespan_s, bound_of_stage(&naive, stage), stage);
    }
}

START_TEST(makespan_is_above_the_bounds)
{
    each_stream(bounds_law);
}
END_TEST

static void cut_law(const struct schedule *schedule, const struct stream *stream)
{
    struct replay_times times = throw_all(stream, 0);
    if (times.lines != NULL && random_pop_below(&dice, 2) == 0) {
        times.lines = throw_lines(stream->shape.stages, true);
    }
    struct judged judged = judge(stream, &times);
    double makespan_s = judged.result.makespan_s;
    struct replay_cut cut;
    replay_cut_init(judged.plan.chunk_count, &arena, &cut);
    replay_find_cut(&judged.plan, &times, judged.scratch, &cut);
    if (times.lines == NULL) {
        ck_assert_double_eq(cut.lined_s, 0);
    }
    is_close(replay_find_bound(&cut, &times) + cut.lined_s, makespan_s);
    for (uint32_t i = 0; i < 5; i++) {
        struct replay_times other = throw_all(stream, 0);
        other.send_blocks = other.send_blocks || cut.send_blocks;
        replay_find_times(&judged.plan, &other, judged.scratch, &judged.result);
        double bound_s = replay_find_bound(&cut, &other);
        ck_assert_msg(bound_s <= judged.result.makespan_s * (1 + 1e-12),
                      "%s: cut gives %g, makespan is %g", schedule->name, bound_s,
                      judged.result.makespan_s);
    }
}

START_TEST(a_path_bounds_all_times)
{
    each_stream(cut_law);
}
END_TEST

/* More time anywhere never ends the step sooner; twice the time everywhere is twice the
 * makespan, exactly. */
static void growth_law(const struct schedule *schedule, const struct stream *stream)
{
    (void)schedule;
    struct replay_times times = throw_all(stream, 0), more = times;
    uint32_t chunks = stream->shape.stages * stream->shape.chunks;
    double *forward_s = ARENA_PUSH(&arena, double, chunks);
    for (uint32_t i = 0; i < chunks; i++) {
        forward_s[i] = times.forward_s[i] + random_pop_unit(&dice);
    }
    more.forward_s = forward_s;
    struct judged judged = judge(stream, &times);
    double before_s = judged.result.makespan_s;
    replay_find_times(&judged.plan, &more, judged.scratch, &judged.result);
    ck_assert_double_ge(judged.result.makespan_s, before_s);
    struct replay_times twice = {.forward_s = double_all(times.forward_s, chunks),
                                 .backward_s = double_all(times.backward_s, chunks),
                                 .input_s = double_all(times.input_s, chunks),
                                 .weight_s = double_all(times.weight_s, chunks),
                                 .send_s = double_all(times.send_s, chunks),
                                 .send_back_s = double_all(times.send_back_s, chunks),
                                 .queue_s = double_all(times.queue_s, chunks),
                                 .lines = times.lines,
                                 .release_s = double_all(times.release_s, chunks),
                                 .send_blocks = times.send_blocks};
    replay_find_times(&judged.plan, &twice, judged.scratch, &judged.result);
    ck_assert_double_eq(judged.result.makespan_s, 2 * before_s);
}

START_TEST(more_time_never_ends_sooner)
{
    each_stream(growth_law);
}
END_TEST

TAP_MAIN("replay", replay_equals_a_naive_one, lines_carry_one_after_the_other,
         makespan_is_above_the_bounds, a_path_bounds_all_times, more_time_never_ends_sooner)
