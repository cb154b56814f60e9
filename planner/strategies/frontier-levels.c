/* Low-bandwidth partitioning on Frontier: data parallelism alone, each state shared over no more of
 * the cluster than memory asks for. */
#include "planner/strategy.h"

extern const struct strategy strategy_frontier_levels;

static bool offer(const struct strategy_case *of, uint32_t micro_batch, uint32_t level,
                  bool recomputes)
{
    const struct strategy_degree degrees[] = {{"dp", strategy_count_devices(of)}};
    struct plan *plan = strategy_build_plan(of, degrees, 1, micro_batch);
    return (level == 0 || strategy_push_use(of, plan, "shard", level - 1)) &&
           (!recomputes || strategy_push_last_use(of, plan, "keep")) && strategy_offer(of, plan);
}

/* Nothing shared, then the optimizer's states, gradients, weights. */
static void propose(const struct strategy_case *of)
{
    uint32_t sizes[STRATEGY_MICRO_MAX];
    const uint32_t count = strategy_list_micro(of, strategy_count_devices(of), sizes);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t level = 0; level < 4; level++) {
            offer(of, sizes[i], level, false);
            offer(of, sizes[i], level, true);
        }
    }
}

const struct strategy strategy_frontier_levels = {
    .name = "frontier-levels",
    .summary = "data parallel alone, states shared as little as memory allows",
    .source = "2025, arXiv 2501.04266",
    .lacks = "shares over some levels of the cluster only (pair, node), quantised gathers",
    .propose = propose,
};
