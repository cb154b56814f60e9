/* Ten thousand random pipelines: the simulated makespan is the longest path to the picosecond, and
 * no stage beats what its work and the way to it and back must take.
 *
 * The longest path is found here by relaxing starts until none moves, from the words of
 * plan/schedule.h alone. Orders are those of the members, or random ones that can be run. */
#include <string.h>

#include "base/random.h"
#include "plan/schedule.h"
#include "sim/ready_run.h"
#include "tests/tap_main.h"

#define PIPELINES 10000u
#define SLOTS_MAX 2048u

static struct arena arena;
static struct diag diag;
static struct random dice;

/* Whole picoseconds. */
struct times {
    uint64_t *forward, *backward, *input, *weight, *send, *send_back; /* [model chunk] */
    bool blocks;
};

static uint32_t chunk_of(const struct stream *stream, uint32_t stage, const struct slot *slot)
{
    return stream->model_chunk[stage * stream->shape.chunks + slot->chunk];
}

static uint32_t chain_length(const struct stream *stream)
{
    return stream->shape.stages * stream->shape.chunks / stream->copies;
}

/* --- a random pipeline ------------------------------------------------------------------------ */

static bool throw_stream(struct stream *out)
{
    const struct schedule *schedule = schedule_table[random_pop_below(&dice, schedule_table_count)];
    const struct schedule_shape shape = {.stages = 1 + random_pop_below(&dice, 6),
                                         .chunks =
                                             schedule->chunked ? 2 + random_pop_below(&dice, 2) : 1,
                                         .micro_batches = 1 + random_pop_below(&dice, 12)};
    return schedule_refuses(schedule, &shape) == NULL &&
           stream_build(schedule, &shape, &arena, out, &diag);
}

struct walk {
    const struct stream *stream;
    uint8_t *ran; /* [kind][model chunk][micro-batch] */
};

static uint8_t *find_ran(const struct walk *walk, enum slot_kind kind, uint32_t chunk,
                         uint32_t micro_batch)
{
    const struct schedule_shape *shape = &walk->stream->shape;
    return &walk->ran[((size_t)kind * shape->stages * shape->chunks + chunk) *
                          shape->micro_batches +
                      micro_batch];
}

static bool has_backward(const struct walk *walk, uint32_t chunk, uint32_t micro_batch)
{
    return *find_ran(walk, SLOT_BACKWARD, chunk, micro_batch) ||
           *find_ran(walk, SLOT_INPUT_GRADIENT, chunk, micro_batch);
}

static bool can_run(const struct walk *walk, uint32_t stage, const struct slot *slot)
{
    const uint32_t chunk = chunk_of(walk->stream, stage, slot), m = slot->micro_batch;
    const uint32_t length = chain_length(walk->stream);
    switch (slot->kind) {
    case SLOT_FORWARD: return chunk % length == 0 || *find_ran(walk, SLOT_FORWARD, chunk - 1, m);
    case SLOT_BACKWARD:
    case SLOT_INPUT_GRADIENT:
        return *find_ran(walk, SLOT_FORWARD, chunk, m) &&
               ((chunk + 1) % length == 0 || has_backward(walk, chunk + 1, m));
    case SLOT_WEIGHT_GRADIENT: return *find_ran(walk, SLOT_INPUT_GRADIENT, chunk, m);
    case SLOT_KIND_COUNT: break;
    }
    return false;
}

/* The slots of every stage in an order that some dispatch would choose. */
static void shuffle(struct stream *stream)
{
    const struct schedule_shape *shape = &stream->shape;
    const size_t pairs = (size_t)shape->stages * shape->chunks * shape->micro_batches;
    struct walk walk = {stream, ARENA_PUSH(&arena, uint8_t, SLOT_KIND_COUNT * pairs)};
    uint32_t *at = ARENA_PUSH(&arena, uint32_t, shape->stages), left = 0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        left += stream->slot_counts[stage];
    }
    while (left > 0) {
        const uint32_t stage = random_pop_below(&dice, shape->stages);
        const uint32_t rest = stream->slot_counts[stage] - at[stage];
        struct slot *slots = &stream->slots[stage][at[stage]];
        const uint32_t pick = rest == 0 ? 0 : random_pop_below(&dice, rest);
        if (rest > 0 && can_run(&walk, stage, &slots[pick])) {
            const struct slot slot = slots[pick];
            slots[pick] = slots[0];
            slots[0] = slot;
            slots[0].paired = false;
            *find_ran(&walk, slot.kind, chunk_of(stream, stage, &slot), slot.micro_batch) = 1;
            at[stage]++;
            left--;
        }
    }
}

static uint64_t *throw_times(uint32_t count, uint32_t most)
{
    uint64_t *times = ARENA_PUSH(&arena, uint64_t, count);
    for (uint32_t i = 0; i < count; i++) {
        times[i] = random_pop_below(&dice, 6) == 0 ? 0 : random_pop_below(&dice, most);
    }
    return times;
}

static struct times throw_all(const struct stream *stream)
{
    const uint32_t count = stream->shape.stages * stream->shape.chunks;
    return (struct times){.forward = throw_times(count, 1000000),
                          .backward = throw_times(count, 2000000),
                          .input = throw_times(count, 1000000),
                          .weight = throw_times(count, 1000000),
                          .send = throw_times(count, 700000),
                          .send_back = throw_times(count, 700000),
                          .blocks = random_pop_below(&dice, 4) == 0};
}

/* --- the longest path ------------------------------------------------------------------------- */

static uint64_t length_of(const struct times *times, enum slot_kind kind, uint32_t chunk)
{
    const uint64_t *tables[SLOT_KIND_COUNT] = {times->forward, times->backward, times->input,
                                               times->weight};
    return tables[kind][chunk];
}

struct path {
    const struct stream *stream;
    const struct times *times;
    uint64_t start[SLOTS_MAX];      /* stage after stage */
    uint64_t arrival[2][SLOTS_MAX]; /* [forward, backward][model chunk * micro_batches + m] */
};

/* Seconds after the slot's end at which its output is elsewhere; `to`: who gets it. */
static uint64_t send_of(const struct path *path, uint32_t stage, const struct slot *slot,
                        uint32_t *to)
{
    const struct stream *stream = path->stream;
    const uint32_t chunk = chunk_of(stream, stage, slot), depth = chunk % chain_length(stream);
    const bool forward = slot->kind == SLOT_FORWARD;
    *to = UINT32_MAX;
    if (slot->kind == SLOT_WEIGHT_GRADIENT ||
        (forward ? depth + 1 == chain_length(stream) : depth == 0)) {
        return 0;
    }
    *to = forward ? chunk + 1 : chunk - 1;
    if (stream->chunk_place[*to] / stream->shape.chunks == stage) {
        return 0;
    }
    return forward ? path->times->send[chunk] : path->times->send_back[chunk - 1];
}

/* The slots at `at` that start together: 1, or the 2 of a pair. True if any start moved. */
static bool relax(struct path *path, uint32_t stage, uint32_t at, uint32_t first, uint64_t *free)
{
    const struct stream *stream = path->stream;
    const struct slot *slots = &stream->slots[stage][at];
    const uint32_t count = slots[0].paired ? 2 : 1, micro_batches = stream->shape.micro_batches;
    uint64_t start = *free, sends[2], all_sends = 0;
    uint32_t to[2];
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].kind != SLOT_WEIGHT_GRADIENT) {
            const uint64_t arrival =
                path->arrival[slots[i].kind != SLOT_FORWARD]
                             [chunk_of(stream, stage, &slots[i]) * micro_batches +
                              slots[i].micro_batch];
            start = arrival > start ? arrival : start;
        }
    }
    const bool moved = start != path->start[first + at];
    uint64_t end = start;
    for (uint32_t i = 0; i < count; i++) {
        path->start[first + at + i] = end;
        end += length_of(path->times, slots[i].kind, chunk_of(stream, stage, &slots[i]));
        sends[i] = send_of(path, stage, &slots[i], &to[i]);
        all_sends += sends[i];
    }
    *free = end + (path->times->blocks ? all_sends : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (to[i] != UINT32_MAX) {
            path->arrival[slots[i].kind != SLOT_FORWARD]
                         [to[i] * micro_batches + slots[i].micro_batch] =
                path->times->blocks ? *free : end + sends[i];
        }
    }
    return moved;
}

/* Starts only grow, and settle since the stream has no cycle. */
static uint64_t longest_path(const struct stream *stream, const struct times *times)
{
    struct path *path = ARENA_PUSH(&arena, struct path, 1);
    path->stream = stream;
    path->times = times;
    memset(path->start, 0xff, sizeof path->start); /* every start moves at first */
    uint64_t makespan = 0;
    for (bool moved = true; moved;) {
        moved = false;
        uint32_t first = 0;
        for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
            uint64_t free = 0;
            for (uint32_t i = 0; i < stream->slot_counts[stage];
                 i += stream->slots[stage][i].paired ? 2 : 1) {
                moved = relax(path, stage, i, first, &free) || moved;
            }
            const struct slot *last = &stream->slots[stage][stream->slot_counts[stage] - 1];
            first += stream->slot_counts[stage];
            const uint64_t end = path->start[first - 1] +
                                 length_of(times, last->kind, chunk_of(stream, stage, last));
            makespan = end > makespan ? end : makespan;
        }
    }
    return makespan;
}

/* P9: the way to the nearest of the stage's chunks, all its slots, and the way back where whole
 * backwards end it. */
static uint64_t bound(const struct stream *stream, const struct times *times, uint32_t stage)
{
    uint64_t work = 0, head = UINT64_MAX, tail = UINT64_MAX;
    bool splits = false;
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        work += length_of(times, slot->kind, chunk_of(stream, stage, slot));
        splits = splits || slot->kind == SLOT_WEIGHT_GRADIENT;
    }
    for (uint32_t local = 0; local < stream->shape.chunks; local++) {
        const uint32_t chunk = stream->model_chunk[stage * stream->shape.chunks + local];
        uint64_t there = 0, back = 0;
        for (uint32_t i = chunk - chunk % chain_length(stream); i < chunk; i++) {
            const bool crosses = stream->chunk_place[i] / stream->shape.chunks !=
                                 stream->chunk_place[i + 1] / stream->shape.chunks;
            there += times->forward[i] + (crosses ? times->send[i] : 0);
            back += times->backward[i] + (crosses ? times->send_back[i] : 0);
        }
        head = there < head ? there : head;
        tail = back < tail ? back : tail;
    }
    return head + work + (splits ? 0 : tail);
}

/* --- the simulator ---------------------------------------------------------------------------- */

static const double *in_seconds(const uint64_t *ps, uint32_t count)
{
    double *seconds = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        seconds[i] = (double)ps[i] / 1e12;
    }
    return seconds;
}

static struct schedule_run_times convert(const struct times *times, uint32_t count)
{
    return (struct schedule_run_times){.forward_s = in_seconds(times->forward, count),
                                       .backward_s = in_seconds(times->backward, count),
                                       .input_s = in_seconds(times->input, count),
                                       .weight_s = in_seconds(times->weight, count),
                                       .send_s = in_seconds(times->send, count),
                                       .send_back_s = in_seconds(times->send_back, count),
                                       .send_blocks = times->blocks};
}

static uint64_t in_ps(double seconds)
{
    return (uint64_t)(seconds * 1e12 + 0.5);
}

static void judge(const struct stream *stream)
{
    const struct times times = throw_all(stream);
    const struct schedule_run_times run =
        convert(&times, stream->shape.stages * stream->shape.chunks);
    const struct ready_run_rules rules = {.by_order = random_pop_below(&dice, 2) == 0};
    struct schedule_run_result result;
    struct ready_run_result ready;
    ck_assert(schedule_run(stream, &run, &arena, &result, &diag));
    const uint64_t path = longest_path(stream, &times);
    ck_assert_msg(in_ps(result.makespan_s) == path,
                  "%u stages, %u chunks, %u micro-batches: simulated %llu ps, longest path %llu ps",
                  stream->shape.stages, stream->shape.chunks, stream->shape.micro_batches,
                  (unsigned long long)in_ps(result.makespan_s), (unsigned long long)path);
    ck_assert(ready_run(stream, &run, &rules, &arena, &ready, &diag));
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        ck_assert_uint_ge(path, bound(stream, &times, stage));
        ck_assert_uint_ge(in_ps(ready.run.makespan_s), bound(stream, &times, stage));
        ck_assert_double_eq(ready.run.stage_busy_s[stage] > 0, result.stage_busy_s[stage] > 0);
    }
}

START_TEST(makespan_is_the_longest_path)
{
    arena_init(&arena);
    random_init(&dice, 11);
    for (uint32_t judged = 0; judged < PIPELINES;) {
        const struct arena_mark mark = arena_find_mark(&arena);
        struct stream stream;
        diag_init(&diag, &arena);
        if (throw_stream(&stream)) {
            if (random_pop_below(&dice, 2) == 0) {
                shuffle(&stream);
                ck_assert(stream_check(&stream, &diag));
            }
            judge(&stream);
            judged++;
        }
        arena_pop(&arena, mark);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sim_pipelines", makespan_is_the_longest_path)
