/* Makespans of a pipeline whose stages run what is ready, beside the fixed order, as published. */
#include "sim/ready_run.h"
#include "tests/fresh.h"

static const double forward_s[4] = {1, 1, 1, 1}, backward_s[4] = {2, 2, 2, 2};

static uint32_t find_slot(const struct stream *stream, uint32_t stage, enum slot_kind kind,
                          uint32_t micro_batch)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < stage; i++) {
        first += stream->slot_counts[i];
    }
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        if (slot->kind == kind && slot->micro_batch == micro_batch) {
            return first + i;
        }
    }
    ck_abort_msg("no such slot");
}

/* Readiness-driven dispatch (Liu et al. 2026, RRFP), backwards first: 4 stages, 8 micro-batches,
 * forward 1, backward 2; one forward lasts 6 longer. Greedy dispatch can lose, and a cap can take
 * all of its gain. */
static const struct {
    uint32_t stage, micro_batch;
    double late_s;
    double fixed_s, ready_s, capped_s; /* capped: stages - stage alive; 0: not stated */
} rows[] = {{0, 0, 0, 33, 33, 33}, {0, 5, 6, 39, 33, 45}, {1, 2, 6, 35, 39, 0}};

START_TEST(hiccups)
{
    static const uint32_t caps[4] = {4, 3, 2, 1};
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct stream stream;
        struct schedule_run_result fixed;
        struct ready_run_result ready;
        ck_assert(stream_build(schedule_find("1f1b"), &(struct schedule_shape){4, 1, 8}, &arena,
                               &stream, &diag));
        double extra_s[64] = {0};
        extra_s[find_slot(&stream, rows[i].stage, SLOT_FORWARD, rows[i].micro_batch)] =
            rows[i].late_s;
        const struct schedule_run_times times = {
            .forward_s = forward_s, .backward_s = backward_s, .extra_s = extra_s};
        struct ready_run_rules rules = {0};
        ck_assert(schedule_run(&stream, &times, &arena, &fixed, &diag));
        ck_assert_double_eq(fixed.makespan_s, rows[i].fixed_s);
        ck_assert(ready_run(&stream, &times, &rules, &arena, &ready, &diag));
        ck_assert_double_eq(ready.run.makespan_s, rows[i].ready_s);
        rules.live_caps = caps;
        ck_assert(ready_run(&stream, &times, &rules, &arena, &ready, &diag));
        ck_assert(rows[i].capped_s == 0 || ready.run.makespan_s == rows[i].capped_s);
        for (uint32_t stage = 0; stage < 4; stage++) {
            ck_assert_uint_le(ready.peak_live[stage], caps[stage]);
        }
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("dispatch", hiccups)
