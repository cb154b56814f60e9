/* Bubbles, makespans and live micro-batches of pipeline schedules that the literature states. */
#include "costmodel/replay.h"
#include "tests/tap_main.h"

#define STAGES_MAX 16

/* Times per micro-batch for all chunks of a stage. */
struct row {
    const char *schedule;
    struct schedule_shape shape;
    double forward_s, backward_s, weight_s; /* weight_s: part of a whole backward too */
    double makespan_s;
    uint32_t peaks[STAGES_MAX]; /* live chunks per stage; 0: not stated */
    bool no_waits;              /* no stage waits between its first and last slot */
};

/* Equal stages, free transfers. Sources: GPipe (Huang et al. 2019, section 2.3) and 1F1B: bubble
 * (p-1)(F+B), at most m and min(m, p-i) micro-batches alive; interleaved 1F1B (Narayanan et al.
 * 2021, section 2.2): bubble (p-1)(F+B)/v, Megatron-LM's warm-up 2(p-1-i) + (v-1)p plus one
 * chunk alive; breadth-first (Lamy-Poirier 2023): the same bubble, everything alive; ZB-H1 and
 * ZB-H2 (Qi et al. 2023), B the input gradient: bubble (p-1)(F+B-W), p alive; (p-1)(F+B-2W) from
 * a stage's first to its last slot, 2p-1 alive; ZB-V (Qi et al. 2024): no wait inside, p alive;
 * 2BP (Rae et al. 2024): (p-1)(F+B) with all weight gradients at the end, on GPipe and 1F1B, 9 and
 * 18 for 1 and 4 micro-batches through 4 stages, 15 and 27 for 4 and 8 with weight gradients in the
 * waits; DAPPLE's policy PB (Fan et al. 2021): 2(p-i)-1 forwards before the first backward; Chimera
 * (Li and Hoefler 2021): pF + (2p-2)B for p micro-batches; DualPipe (DeepSeek-AI 2024): bubble
 * (p/2-1)(P+B-2W), P a pair, B a whole backward less W, p+1 alive. Hanayo's are those of the same
 * rule, earliest micro-batch and backward first, replayed elsewhere. */
static const struct row rows[] = {
    {"gpipe", {4, 1, 8}, 1, 1, 1, 8 * 3 + 9, {8, 8, 8, 8}, false},
    {"1f1b", {4, 1, 8}, 1, 1, 1, 8 * 3 + 9, {4, 3, 2, 1}, false},
    {"interleaved", {4, 2, 8}, 1, 1, 1, 8 * 3 + 4.5, {11, 9, 7, 5}, false},
    {"interleaved", {4, 4, 8}, 1, 1, 1, 8 * 3 + 2.25, {19, 17, 15, 13}, false},
    {"gpipe", {8, 1, 24}, 1, 1, 1, 24 * 3 + 21, {24, 24, 24, 24, 24, 24, 24, 24}, false},
    {"1f1b", {8, 1, 24}, 1, 1, 1, 24 * 3 + 21, {8, 7, 6, 5, 4, 3, 2, 1}, false},
    {"interleaved", {8, 2, 24}, 1, 1, 1, 24 * 3 + 10.5, {23, 21, 19, 17, 15, 13, 11, 9}, false},
    {"interleaved", {8, 4, 24}, 1, 1, 1, 24 * 3 + 5.25, {39, 37, 35, 33, 31, 29, 27, 25}, false},
    {"gpipe", {4, 1, 8}, 1, 2, 0, 33, {8, 8, 8, 8}, false},
    {"1f1b", {4, 1, 8}, 1, 2, 0, 33, {4, 3, 2, 1}, false},
    {"1f1b", {4, 1, 8}, 2, 4, 0, 66, {0}, false},
    {"interleaved", {4, 2, 8}, 2, 4, 0, 57, {11, 9, 7, 5}, false},
    {"interleaved", {4, 4, 8}, 2, 4, 0, 52.5, {19, 17, 15, 13}, false},
    {"interleaved", {8, 2, 16}, 2, 4, 0, 117, {0}, false},
    {"looped-bfs", {4, 2, 8}, 1, 1, 1, 8 * 3 + 4.5, {16, 16, 16, 16}, false},
    {"looped-bfs", {8, 4, 24}, 1, 1, 1, 24 * 3 + 5.25, {96, 96, 96, 96, 96, 96, 96, 96}, false},
    {"zb-h1", {4, 1, 8}, 1, 1, 1, 8 * 3 + 3, {4, 4, 4, 4}, false},
    {"zb-h1", {8, 1, 24}, 1, 1, 1, 24 * 3 + 7, {8, 8, 8, 8, 8, 8, 8, 8}, false},
    {"zb-h2", {4, 1, 8}, 1, 1, 1, 8 * 3 + 3, {7, 7, 7, 7}, true},
    {"zb-h2", {8, 1, 24}, 1, 1, 1, 24 * 3 + 7, {15, 15, 15, 15, 15, 15, 15, 15}, true},
    {"zb-v", {4, 2, 8}, 1, 1, 1, 8 * 3 + 1.5, {8, 8, 8, 8}, true},
    {"zb-v", {8, 2, 24}, 1, 1, 1, 24 * 3 + 3.5, {16, 16, 16, 16, 16, 16, 16, 16}, true},
    {"2bp-gpipe", {4, 1, 8}, 1, 1, 1, 8 * 3 + 6, {8, 8, 8, 8}, false},
    {"2bp-1f1b", {4, 1, 8}, 1, 1, 1, 8 * 3 + 6, {8, 8, 8, 8}, false},
    {"2bp-1f1b", {8, 1, 24}, 2, 3, 1, 24 * 6 + 7 * 5, {0}, false},
    {"2bp-gpipe", {4, 1, 1}, 1, 1, 1, 9, {1, 1, 1, 1}, false},
    {"2bp-gpipe", {4, 1, 4}, 1, 1, 1, 18, {4, 4, 4, 4}, false},
    {"zb-h1", {4, 1, 4}, 1, 1, 1, 15, {0}, false},
    {"zb-h1", {4, 1, 8}, 1, 1, 1, 27, {0}, false},
    {"1f1b", {4, 1, 4}, 1, 1, 1, 21, {4, 3, 2, 1}, false},
    {"1f1b-deep", {4, 1, 8}, 1, 1, 1, 33, {7, 5, 3, 1}, false},
    {"chimera", {4, 2, 4}, 1, 2, 0, 4 * 1 + 6 * 2, {3, 4, 4, 3}, false},
    {"chimera", {6, 2, 6}, 1, 2, 0, 6 * 1 + 10 * 2, {0}, false},
    {"chimera", {8, 2, 8}, 1, 2, 0, 8 * 1 + 14 * 2, {0}, false},
    {"chimera", {16, 2, 16}, 1, 2, 0, 16 * 1 + 30 * 2, {0}, false},
    {"hanayo", {4, 2, 4}, 1, 2, 0, 18, {0}, false},
    {"hanayo", {4, 4, 4}, 1, 2, 0, 15.25, {0}, false},
    {"hanayo", {4, 8, 4}, 1, 2, 0, 13.625, {0}, false},
    {"hanayo", {8, 2, 8}, 1, 2, 0, 38, {0}, false},
    {"hanayo", {8, 4, 8}, 1, 2, 0, 31.5, {0}, false},
    {"hanayo", {8, 8, 8}, 1, 2, 0, 27.75, {0}, false},
    {"dualpipe", {8, 2, 20}, 1, 1, 1, 60 + 6, {9, 9, 9, 9, 9, 9, 9, 9}, false},
    {"dualpipe", {4, 2, 8}, 1, 1, 1, 24 + 2, {5, 5, 5, 5}, false},
    {"dualpipe-v", {4, 2, 10}, 2, 2, 2, 60 + 6, {9, 9, 9, 9}, false},
    {"gpipe", {4, 1, 4}, 1, 2, 0, 21, {0}, false},
    {"1f1b", {4, 1, 4}, 1, 2, 0, 21, {0}, false},
};

static struct arena arena;

static double *fill(uint32_t count, double value)
{
    double *values = ARENA_PUSH(&arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        values[i] = value;
    }
    return values;
}

static double find_makespan(const struct stream *stream, const struct row *row)
{
    uint32_t chunks = row->shape.chunks, count = row->shape.stages * chunks;
    double share = (double)stream->copies / chunks; /* of a chunk in a stage's time */
    struct replay_times times = {
        .forward_s = fill(count, row->forward_s * share),
        .backward_s = fill(count, (row->backward_s + row->weight_s) * share),
        .input_s = fill(count, row->backward_s * share),
        .weight_s = fill(count, row->weight_s * share),
    };
    struct replay_plan plan;
    struct replay_result result;
    replay_build(stream, &arena, &plan);
    replay_find_times(&plan, &times, arena_push(&arena, 1, replay_count_scratch(&plan)), &result);
    for (uint32_t stage = 0; stage < row->shape.stages; stage++) {
        ck_assert_double_eq(result.stage_busy_s[stage],
                            row->shape.micro_batches *
                                (row->forward_s + row->backward_s + row->weight_s));
        double span_s = result.stage_end_s[stage] - result.stage_start_s[stage];
        ck_assert(!row->no_waits || span_s == result.stage_busy_s[stage]);
    }
    return result.makespan_s;
}

/* All times are sums of powers of two, so they are met exactly. */
START_TEST(schedule_is_as_published)
{
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        struct diag diag;
        struct stream stream;
        diag_init(&diag, &arena);
        ck_assert(stream_build(schedule_find(row->schedule), &row->shape, &arena, &stream, &diag));
        double makespan_s = find_makespan(&stream, row);
        ck_assert_msg(makespan_s == row->makespan_s, "row %zu, %s: makespan %g, not %g", i,
                      row->schedule, makespan_s, row->makespan_s);
        for (uint32_t stage = 0; stage < row->shape.stages && row->peaks[0] > 0; stage++) {
            ck_assert_msg(stream.peak_live_chunks[stage] == row->peaks[stage],
                          "row %zu, %s: stage %u keeps %u chunks alive, not %u", i, row->schedule,
                          stage, stream.peak_live_chunks[stage], row->peaks[stage]);
        }
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("schedules", schedule_is_as_published)
