/* AdaPtis: cuts, places of stages and order of slots together: every schedule of the runtime, each
 * with its best cuts. */
#include "planner/strategies/usual.h"

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
            usual_offer(of, plan);
        }
    }
}

/* The mesh is given to the method; whole servers or single devices stand for it here, with few
 * sequences at a time. */
static void try_mesh(const struct strategy_case *of, const struct usual_mesh *mesh, void *state)
{
    const uint32_t *server = state;
    if (mesh->stages > 1 && mesh->micro_batch <= 2 &&
        (mesh->tensor == 1 || mesh->tensor == *server)) {
        each_schedule(of, usual_build_plan(of, mesh));
    }
}

static void propose(const struct strategy_case *of)
{
    uint32_t server = strategy_count_server(of);
    usual_each_mesh(of, try_mesh, &server);
}

const struct strategy strategy_adaptis = {
    .name = "adaptis",
    .summary = "cuts, places and schedule of a pipeline chosen together",
    .source = "AdaPtis, 2025, arXiv 2509.23722",
    .lacks = "orders of slots that no named schedule has",
    .propose = propose,
};
