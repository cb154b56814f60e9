/* AutoHet: every stage on one kind of device, tensor degree the same for all, layers so that the
 * sum of the stages and the slowest of them balance. */
#include "planner/layer_profile.h"
#include "planner/partition.h"
#include "planner/strategy.h"

extern const struct strategy strategy_autohet;

/* Stage times of the balance: mean of a layer over the speed of the stage's slowest device. */
static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct strategy_line *line = state;
    double slowest = 1e300, layers_s = 0.0;
    (void)first;
    for (uint32_t i = 0; i < line->replicas; i++) {
        const double speed = line->row.speeds[stage * line->replicas + i];
        slowest = speed < slowest ? speed : slowest;
    }
    for (uint32_t i = 0; i < line->chain.layers; i++) {
        layers_s += line->chain.forward_s[i] + line->chain.backward_s[i];
    }
    return count * layers_s / line->chain.layers / (slowest * line->replicas);
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

static void try_mesh(const struct strategy_case *of, uint32_t tensor, uint32_t stages,
                     const uint32_t *devices)
{
    const uint32_t count = strategy_count_devices(of), replicas = count / tensor / stages;
    const struct strategy_degree degrees[] = {
        {"tp", tensor}, {"dp", replicas}, {"pp", stages}, {"sp", tensor}};
    uint32_t sizes[STRATEGY_MICRO_MAX];
    const uint32_t size_count = strategy_list_micro(of, replicas, sizes);
    for (uint32_t i = 0; i < size_count; i++) {
        struct plan *plan = strategy_build_plan(of, degrees, 4, schedule_find("1f1b"), sizes[i]);
        struct strategy_line line;
        if (of->pins->slice_count == 0) {
            strategy_place(of, plan, devices, count);
        }
        if (strategy_build_line(of, plan, devices, &line) && balance(of, &line, plan)) {
            strategy_offer_lean(of, plan);
        }
    }
}

static void each_depth(const struct strategy_case *of, uint32_t tensor, const uint32_t *sorted)
{
    const uint32_t devices = strategy_count_devices(of);
    for (uint32_t stages = 1; stages <= plan_count_layers(of->problem->model); stages++) {
        if (devices % (tensor * stages) == 0) {
            try_mesh(of, tensor, stages, sorted);
        }
    }
}

/* Kinds with the fastest first, which holds the most micro-batches, and last. */
static void propose(const struct strategy_case *of)
{
    const uint32_t server = strategy_count_server(of);
    for (uint32_t way = 0; way < 2; way++) {
        const uint32_t *sorted = strategy_sort_kinds(of, way == 0);
        for (uint32_t tensor = 1; tensor <= server; tensor *= 2) {
            if (server % tensor == 0) {
                each_depth(of, tensor, sorted);
            }
        }
    }
}

const struct strategy strategy_autohet = {
    .name = "autohet",
    .summary =
        "stages on one kind of device each, tensor degree the same, layers balanced by speed",
    .source = "AutoHet, 2025, arXiv 2512.20953",
    .lacks = "pipelines of unlike depth per replica, unlike shares of the batch",
    .propose = propose,
};
