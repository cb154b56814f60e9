/* Meshes of three dimensions, and plans made lean until they fit. */
#include "planner/strategies/usual.h"

struct plan *usual_build_plan(const struct strategy_case *of, const struct usual_mesh *mesh)
{
    const struct strategy_degree degrees[] = {
        {"tp", mesh->tensor}, {"dp", mesh->replicas}, {"pp", mesh->stages}, {"sp", mesh->tensor}};
    return strategy_build_plan(of, degrees, 4, mesh->micro_batch);
}

static void each_micro_batch(const struct strategy_case *of, struct usual_mesh mesh,
                             usual_visit *visit, void *state)
{
    uint32_t sizes[STRATEGY_MICRO_MAX];
    mesh.replicas = strategy_count_devices(of) / (mesh.tensor * mesh.stages);
    const uint32_t count = strategy_list_micro(of, mesh.replicas, sizes);
    for (uint32_t i = 0; i < count; i++) {
        mesh.micro_batch = sizes[i];
        visit(of, &mesh, state);
    }
}

void usual_each_mesh(const struct strategy_case *of, usual_visit *visit, void *state)
{
    const uint32_t devices = strategy_count_devices(of), server = strategy_count_server(of);
    const uint32_t layers = plan_count_layers(of->problem->model);
    for (uint32_t tensor = 1; tensor <= server; tensor++) {
        for (uint32_t stages = 1; stages <= layers && server % tensor == 0; stages++) {
            if (devices % (tensor * stages) == 0) {
                each_micro_batch(of, (struct usual_mesh){tensor, stages, 0, 0}, visit, state);
            }
        }
    }
}

static struct plan *copy(const struct strategy_case *of, const struct plan *plan)
{
    struct plan *copied = ARENA_PUSH(of->arena, struct plan, 1);
    *copied = *plan;
    return copied;
}

bool usual_offer(const struct strategy_case *of, const struct plan *plan)
{
    struct plan *sharded = copy(of, plan);
    if (strategy_offer(of, copy(of, plan))) {
        return true;
    }
    if (strategy_push_use(of, sharded, "shard", 0) && strategy_offer(of, copy(of, sharded))) {
        return true;
    }
    struct plan *selective = copy(of, sharded), *whole = copy(of, sharded);
    return (strategy_push_use(of, selective, "keep", 0) && strategy_offer(of, selective)) ||
           (strategy_push_last_use(of, whole, "keep") && strategy_offer(of, whole));
}
