/* Layers onto stages of unlike speed, as published systems do it: small instances by hand. */
#include "planner/partition.h"
#include "sim/schedule_run.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

/* Each layer takes its units, divided by the speed of its stage. */
struct instance {
    const double *units, *speeds;
};

static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct instance *instance = state;
    double units = 0;
    for (uint32_t layer = first; layer < first + count; layer++) {
        units += instance->units[layer];
    }
    return units / instance->speeds[stage];
}

/* One forward and one backward of all micro-batches, a third of a stage's time forward. */
static double run_pipeline(struct instance *instance, uint32_t stages, uint32_t micro_batches,
                           const uint32_t *counts)
{
    double forward_s[4], backward_s[4];
    struct stream stream;
    struct schedule_run_result result;
    diag_init(&diag, &arena);
    for (uint32_t stage = 0, first = 0; stage < stages; first += counts[stage++]) {
        forward_s[stage] = stage_s(instance, stage, first, counts[stage]) / 3;
        backward_s[stage] = 2 * forward_s[stage];
    }
    const struct schedule_run_times times = {.forward_s = forward_s, .backward_s = backward_s};
    ck_assert(stream_build(schedule_find("1f1b"),
                           &(struct schedule_shape){stages, 1, micro_batches}, &arena, &stream,
                           &diag));
    ck_assert(schedule_run(&stream, &times, &arena, &result, &diag));
    return result.makespan_s;
}

/* AutoHet's time of a pipeline (arXiv 2512.20953), the sum of the stages and M - 1 times the
 * slowest: 12 like layers on stages of speeds 2, 2, 1 with 8 micro-batches take 36 evenly and 24.5
 * as 5, 5, 2, which is the least. A run of 1F1B takes no longer. */
START_TEST(layers_in_proportion_to_speed)
{
    static const double units[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, speeds[3] = {2, 2, 1};
    static const uint32_t even[3] = {4, 4, 4};
    struct instance instance = {units, speeds};
    const struct partition_problem problem = {.stages = 3,
                                              .layers = 12,
                                              .least = 1,
                                              .alike = true,
                                              .weighs = true,
                                              .weight = 7,
                                              .stage_s = stage_s,
                                              .state = &instance};
    uint32_t counts[3];
    double slowest_s;
    arena_init(&arena);
    ck_assert(partition_find(&problem, &arena, counts, &slowest_s));
    ck_assert(counts[0] == 5 && counts[1] == 5 && counts[2] == 2);
    ck_assert_double_eq_tol(slowest_s, 2.5, 1e-12);
    ck_assert_double_le(run_pipeline(&instance, 3, 8, counts), 24.5 + 1e-9);
    ck_assert_double_ge(run_pipeline(&instance, 3, 8, counts), 0.97 * 24.5);
    ck_assert_double_eq_tol(run_pipeline(&instance, 3, 8, even), 36, 1e-9);
    arena_release(&arena);
}
END_TEST

/* The same where the slow stage comes first, or between: the order costs nothing here. */
START_TEST(the_order_of_kinds_is_free)
{
    static const double units[12] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const double speeds[2][3] = {{1, 2, 2}, {2, 1, 2}};
    arena_init(&arena);
    for (uint32_t i = 0; i < 2; i++) {
        struct instance instance = {units, speeds[i]};
        const struct partition_problem problem = {.stages = 3,
                                                  .layers = 12,
                                                  .least = 1,
                                                  .alike = true,
                                                  .weighs = true,
                                                  .weight = 7,
                                                  .stage_s = stage_s,
                                                  .state = &instance};
        uint32_t counts[3];
        double slowest_s;
        ck_assert(partition_find(&problem, &arena, counts, &slowest_s));
        ck_assert_uint_eq(counts[i], 2);
        ck_assert_double_eq_tol(slowest_s, 2.5, 1e-12);
    }
    arena_release(&arena);
}
END_TEST

/* FPDeep's balance over a chain of devices (arXiv 1901.01007): layers of 4, 2, 1, 1 on four equal
 * ones, whole, let one input through in 4, the longest layer. Cut inside layers, as it does on
 * FPGAs, that would be 2; here a layer is whole. */
START_TEST(whole_layers_are_the_limit)
{
    static const double units[4] = {4, 2, 1, 1}, speeds[4] = {1, 1, 1, 1};
    struct instance instance = {units, speeds};
    arena_init(&arena);
    for (uint32_t stages = 2; stages <= 4; stages++) {
        const struct partition_problem problem = {
            .stages = stages, .layers = 4, .least = 1, .stage_s = stage_s, .state = &instance};
        uint32_t counts[4];
        double slowest_s;
        ck_assert(partition_find(&problem, &arena, counts, &slowest_s));
        ck_assert_double_eq_tol(1 / slowest_s, 0.25, 1e-12);
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("uneven", layers_in_proportion_to_speed, the_order_of_kinds_is_free,
         whole_layers_are_the_limit)
