/* PanGu-alpha's five dimensions: op-level ranks inside a server, stages and data across, optimizer
 * states shared or not, layers recomputed or not. */
#include "planner/strategy.h"

extern const struct strategy strategy_pangu;

struct candidate {
    uint32_t tensor, stages, replicas, micro_batch;
    bool shards, recomputes;
};

static bool offer(const struct strategy_case *of, const struct candidate *at)
{
    const struct strategy_degree degrees[] = {
        {"tp", at->tensor}, {"dp", at->replicas}, {"pp", at->stages}, {"sp", at->tensor}};
    struct plan *plan = strategy_build_plan(of, degrees, 4, schedule_find("1f1b"), at->micro_batch);
    return (!at->shards || strategy_push_use(of, plan, "shard", 0)) &&
           (!at->recomputes || strategy_push_last_use(of, plan, "keep")) &&
           strategy_offer(of, plan);
}

/* Sharing and recomputing only where it does not fit without costs nothing in time: both ways. */
static void each_policy(const struct strategy_case *of, struct candidate at)
{
    for (uint32_t way = 0; way < 4; way++) {
        at.shards = (way & 1) != 0;
        at.recomputes = (way & 2) != 0;
        offer(of, &at);
    }
}

static void each_micro_batch(const struct strategy_case *of, struct candidate at)
{
    uint32_t sizes[STRATEGY_MICRO_MAX];
    const uint32_t count = strategy_list_micro(of, at.replicas, sizes);
    for (uint32_t i = 0; i < count; i++) {
        at.micro_batch = sizes[i];
        each_policy(of, at);
    }
}

static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of), server = strategy_count_server(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t tensor = 1; tensor <= server; tensor++) {
        for (uint32_t stages = 1; stages <= layers && server % tensor == 0; stages++) {
            if (devices % (tensor * stages) == 0) {
                each_micro_batch(of, (struct candidate){.tensor = tensor,
                                                        .stages = stages,
                                                        .replicas = devices / tensor / stages});
            }
        }
    }
}

const struct strategy strategy_pangu = {
    .name = "pangu",
    .summary = "op-level ranks inside a server, stages, data, shared states, recomputation: all of "
               "them tried",
    .source = "Zeng et al., 2021, arXiv 2104.12369",
    .propose = propose,
};
