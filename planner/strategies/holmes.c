/* Holmes: stages across the slowest network, data ranks within one network, layers in proportion to
 * the speed of their stage. */
#include "planner/layer_profile.h"
#include "planner/strategy.h"

extern const struct strategy strategy_holmes;

static struct plan *build(const struct strategy_case *of, uint32_t tensor, uint32_t stages,
                          uint32_t micro_batch)
{
    const uint32_t replicas = strategy_count_devices(of) / tensor / stages;
    const struct strategy_degree degrees[] = {
        {"tp", tensor}, {"dp", replicas}, {"pp", stages}, {"sp", tensor}};
    return strategy_build_plan(of, degrees, 4, schedule_find("1f1b"), micro_batch);
}

static double stage_speed(const struct strategy_line *line, uint32_t stage)
{
    double least = 1e300;
    for (uint32_t i = 0; i < line->replicas; i++) {
        const double speed = line->row.speeds[stage * line->replicas + i];
        least = speed < least ? speed : least;
    }
    return least;
}

/* Whole layers: each stage the floor of its share, at least one; the rest to those that are
 * furthest below theirs. */
static void share_out(const struct strategy_case *of, struct plan *plan,
                      const struct strategy_line *line)
{
    const uint32_t stages = line->stages, layers = line->chain.layers;
    double all = 0.0;
    uint32_t *counts = ARENA_PUSH(of->arena, uint32_t, stages), left = layers;
    for (uint32_t i = 0; i < stages; i++) {
        all += stage_speed(line, i);
    }
    for (uint32_t i = 0; i < stages; i++) {
        counts[i] = 1;
        left--;
    }
    for (; left > 0; left--) {
        uint32_t next = 0;
        double lacks = -1e300;
        for (uint32_t i = 0; i < stages; i++) {
            const double below = layers * stage_speed(line, i) / all - counts[i];
            next = below > lacks ? i : next;
            lacks = below > lacks ? below : lacks;
        }
        counts[next]++;
    }
    plan->schedule.stages = stages;
    plan->schedule.layers = counts;
}

static void each_micro_batch(const struct strategy_case *of, uint32_t tensor, uint32_t stages)
{
    const uint32_t devices = strategy_count_devices(of);
    const uint32_t *sorted = strategy_sort_kinds(of, true);
    uint32_t sizes[STRATEGY_MICRO_MAX];
    const uint32_t count = strategy_list_micro(of, devices / tensor / stages, sizes);
    struct strategy_line line;
    for (uint32_t i = 0; i < count; i++) {
        struct plan *plan = build(of, tensor, stages, sizes[i]);
        if (of->problem->cluster->level_count == 0 && of->pins->slice_count == 0) {
            strategy_place(of, plan, sorted, devices);
        }
        if (strategy_build_line(of, plan, sorted, &line)) {
            share_out(of, plan, &line);
            strategy_offer_lean(of, plan);
        }
    }
}

/* A stage, or several, per island of the fast network. */
static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of), server = strategy_count_server(of);
    const uint32_t islands = devices / strategy_count_island(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t tensor = 1; tensor <= server; tensor *= 2) {
        for (uint32_t stages = islands; stages <= layers; stages += islands) {
            if (devices % (tensor * stages) == 0 && server % tensor == 0) {
                each_micro_batch(of, tensor, stages);
            }
        }
    }
}

const struct strategy strategy_holmes = {
    .name = "holmes",
    .summary =
        "stages across the slowest network, data ranks inside, layers in proportion to speed",
    .source = "Yang et al., ICPP 2024, arXiv 2312.03549",
    .lacks = "islands of unlike sizes",
    .propose = propose,
};
