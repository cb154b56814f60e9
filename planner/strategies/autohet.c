/* AutoHet: every stage on one kind of device, tensor degree the same for all, layers so that the
 * sum of the stages and the slowest of them balance. */
#include "planner/layer_profile.h"
#include "planner/partition.h"
#include "planner/strategies/usual.h"

extern const struct strategy strategy_autohet;

/* Stage times of the balance: mean of a layer over the speed of the stage's slowest device. */
static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct strategy_line *line = state;
    double layers_s = 0.0;
    (void)first;
    for (uint32_t i = 0; i < line->chain.layers; i++) {
        layers_s += line->chain.forward_s[i] + line->chain.backward_s[i];
    }
    return count * layers_s / line->chain.layers /
           (strategy_find_stage_speed(line, stage) * line->replicas);
}

static bool balance(const struct strategy_case *of, struct strategy_line *line, struct plan *plan)
{
    const struct partition_problem problem = {.stages = line->stages,
                                              .layers = line->chain.layers,
                                              .least = 1,
                                              .alike = true,
                                              .weighs = true,
                                              .weight = line->chain.micro_batches - 1.0,
                                              .stage_s = stage_s,
                                              .state = line};
    uint32_t *counts = ARENA_PUSH(of->arena, uint32_t, line->stages);
    double slowest_s;
    plan->schedule.stages = line->stages;
    plan->schedule.layers = counts;
    return partition_find(&problem, of->arena, counts, &slowest_s);
}

static void try_mesh(const struct strategy_case *of, const struct usual_mesh *mesh, void *state)
{
    const uint32_t *devices = state;
    struct plan *plan = usual_build_plan(of, mesh);
    struct strategy_line line;
    if (of->pins->slice_count == 0) {
        strategy_place(of, plan, devices, strategy_count_devices(of));
    }
    if (strategy_build_line(of, plan, devices, &line) && balance(of, &line, plan)) {
        usual_offer(of, plan);
    }
}

/* Kinds with the fastest first, which holds the most micro-batches, and last. */
static void propose(const struct strategy_case *of)
{
    usual_each_mesh(of, try_mesh, strategy_sort_kinds(of, true));
    usual_each_mesh(of, try_mesh, strategy_sort_kinds(of, false));
}

const struct strategy strategy_autohet = {
    .name = "autohet",
    .summary =
        "stages on one kind of device each, tensor degree the same, layers balanced by speed",
    .source = "AutoHet, 2025, arXiv 2512.20953",
    .lacks = "pipelines of unlike depth per replica, unlike shares of the batch",
    .propose = propose,
};
