/* PanGu-alpha's five dimensions: op-level ranks inside a server, stages and data across, optimizer
 * states shared or not, layers recomputed or not. */
#include "planner/strategies/usual.h"

extern const struct strategy strategy_pangu;

static bool offer(const struct strategy_case *of, const struct usual_mesh *mesh, bool shards,
                  bool recomputes)
{
    struct plan *plan = usual_build_plan(of, mesh);
    return (!shards || strategy_push_use(of, plan, "shard", 0)) &&
           (!recomputes || strategy_push_last_use(of, plan, "keep")) && strategy_offer(of, plan);
}

static void try_mesh(const struct strategy_case *of, const struct usual_mesh *mesh, void *state)
{
    (void)state;
    for (uint32_t way = 0; way < 4; way++) {
        offer(of, mesh, (way & 1) != 0, (way & 2) != 0);
    }
}

static void propose(const struct strategy_case *of)
{
    usual_each_mesh(of, try_mesh, NULL);
}

const struct strategy strategy_pangu = {
    .name = "pangu",
    .summary = "op-level ranks inside a server, stages, data, shared states, recomputation: all of "
               "them tried",
    .source = "Zeng et al., 2021, arXiv 2104.12369",
    .propose = propose,
};
