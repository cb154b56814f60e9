/* Holmes: stages across the slowest network, data ranks within one network, layers in proportion to
 * the speed of their stage. */
#include "planner/layer_profile.h"
#include "planner/strategies/usual.h"

extern const struct strategy strategy_holmes;

/* Whole layers: each stage the floor of its share, at least one; the rest to those that are
 * furthest below theirs. */
static void share_out(const struct strategy_case *of, struct plan *plan,
                      const struct strategy_line *line)
{
    const uint32_t stages = line->stages, layers = line->chain.layers;
    double all = 0.0;
    uint32_t *counts = ARENA_PUSH(of->arena, uint32_t, stages), left = layers;
    for (uint32_t i = 0; i < stages; i++) {
        all += strategy_find_stage_speed(line, i);
    }
    for (uint32_t i = 0; i < stages; i++) {
        counts[i] = 1;
        left--;
    }
    for (; left > 0; left--) {
        uint32_t next = 0;
        double lacks = -1e300;
        for (uint32_t i = 0; i < stages; i++) {
            const double below = layers * strategy_find_stage_speed(line, i) / all - counts[i];
            next = below > lacks ? i : next;
            lacks = below > lacks ? below : lacks;
        }
        counts[next]++;
    }
    plan->schedule.stages = stages;
    plan->schedule.layers = counts;
}

struct places {
    const uint32_t *devices;
    uint32_t islands;
};

/* A stage, or several, per island of the fast network. */
static void try_mesh(const struct strategy_case *of, const struct usual_mesh *mesh, void *state)
{
    const struct places *places = state;
    struct strategy_line line;
    if (mesh->stages % places->islands != 0) {
        return;
    }
    struct plan *plan = usual_build_plan(of, mesh);
    if (of->problem->cluster->level_count == 0 && of->pins->slice_count == 0) {
        strategy_place(of, plan, places->devices, strategy_count_devices(of));
    }
    if (strategy_build_line(of, plan, places->devices, &line)) {
        share_out(of, plan, &line);
        usual_offer(of, plan);
    }
}

static void propose(const struct strategy_case *of)
{
    struct places places = {strategy_sort_kinds(of, true),
                            strategy_count_devices(of) / strategy_count_island(of)};
    usual_each_mesh(of, try_mesh, &places);
}

const struct strategy strategy_holmes = {
    .name = "holmes",
    .summary =
        "stages across the slowest network, data ranks inside, layers in proportion to speed",
    .source = "Yang et al., ICPP 2024, arXiv 2312.03549",
    .lacks = "islands of unlike sizes",
    .propose = propose,
};
