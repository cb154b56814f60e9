/* AdaPtis: cuts, places of stages and order of slots together: every schedule of the runtime, each
 * with its best cuts. */
#include "planner/strategy.h"

extern const struct strategy strategy_adaptis;

#define CHUNKS_MAX 4u

static void each_schedule(const struct strategy_case *of, const struct plan *mesh)
{
    const uint32_t stages = plan_count_stages(mesh);
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        const struct schedule *schedule = schedule_table[i];
        for (uint32_t chunks = 1; chunks <= CHUNKS_MAX && chunks * stages <= layers; chunks++) {
            if (schedule->on_demand || schedule->chunked != (chunks > 1)) {
                continue;
            }
            struct plan *plan = ARENA_PUSH(of->arena, struct plan, 1);
            *plan = *mesh;
            plan->schedule.schedule = schedule;
            plan->schedule.chunks = chunks;
            strategy_offer_lean(of, plan);
        }
    }
}

static void each_micro_batch(const struct strategy_case *of, uint32_t tensor, uint32_t stages)
{
    const uint32_t replicas = strategy_count_devices(of) / tensor / stages;
    const struct strategy_degree degrees[] = {
        {"tp", tensor}, {"dp", replicas}, {"pp", stages}, {"sp", tensor}};
    uint32_t sizes[STRATEGY_MICRO_MAX];
    const uint32_t count = strategy_list_micro(of, replicas, sizes);
    for (uint32_t i = 0; i < count && i < 2; i++) {
        each_schedule(of, strategy_build_plan(of, degrees, 4, NULL, sizes[i]));
    }
}

/* The mesh is given to the method; whole servers or single devices stand for it here. */
static void propose(const struct strategy_case *of)
{
    const uint32_t devices = strategy_count_devices(of), server = strategy_count_server(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t stages = 2; stages <= layers; stages++) {
        if (devices % stages == 0) {
            each_micro_batch(of, 1, stages);
        }
        if (server > 1 && devices % (server * stages) == 0) {
            each_micro_batch(of, server, stages);
        }
    }
}

const struct strategy strategy_adaptis = {
    .name = "adaptis",
    .summary = "cuts, places and schedule of a pipeline chosen together",
    .source = "AdaPtis, 2025, arXiv 2509.23722",
    .lacks = "orders of slots that no named schedule has",
    .propose = propose,
};
