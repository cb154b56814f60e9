/* Degrees, rank order, layers of a plan in the terms of Megatron-LM. */
#include <string.h>

#include "exports/megatron_inside.h"

/* Innermost first. Expert ranks sit between cp and dp; they reuse the ranks of both. */
static const char *const outside[] = {"tp", "cp", "dp", "pp"};
static const char *const inside[] = {"tp", "cp", "pp", "dp"};

static const struct {
    const char *variant, *kind;
} context_kinds[] = {{"ring", "p2p"}, {"ulysses", "a2a"}, {"allgather", "allgather"}};

bool megatron_follows_order(const struct group *group, bool pipeline_inside)
{
    const char *const *order = pipeline_inside ? inside : outside;
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->degree == 1 || mesh->dim == NULL)
            continue;
        while (next < 4 && strcmp(order[next], mesh->dim->name) != 0)
            next++;
        if (next == 4)
            return false;
    }
    return true;
}

static const char *context_kind(const struct group *group)
{
    const char *variant = NULL;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->dim != NULL && mesh->degree > 1 && strcmp(mesh->dim->name, "cp") == 0)
            variant = mesh->dim->variants[mesh->variant].name;
    }
    for (uint32_t i = 0; variant != NULL && i < sizeof context_kinds / sizeof context_kinds[0];
         i++) {
        if (strcmp(context_kinds[i].variant, variant) == 0)
            return context_kinds[i].kind;
    }
    return NULL;
}

void megatron_find_sizes(const struct plan *plan, struct megatron_sizes *out)
{
    const struct group *group = &plan->groups[0];
    *out = (struct megatron_sizes){
        .tp = plan_find_degree_named(plan, "tp"),
        .cp = plan_find_degree_named(plan, "cp"),
        .dp = plan_find_degree_named(plan, "dp"),
        .pp = plan_find_degree_named(plan, "pp"),
        .ep = plan_find_degree_named(plan, "ep"),
        .sequence_parallel = plan_find_degree_named(plan, "sp") > 1,
        .context_kind = context_kind(group),
        .pipeline_inside =
            !megatron_follows_order(group, false) && megatron_follows_order(group, true),
    };
}

uint32_t megatron_find_layers(const struct plan *plan, uint32_t chunk)
{
    const struct plan_schedule *schedule = &plan->schedule;
    const uint32_t stages = plan_count_stages(plan);
    if (schedule->layers == NULL)
        return 0;
    return schedule->layers[chunk % stages * schedule->chunks + chunk / stages];
}

uint32_t megatron_find_most_layers(const struct problem *problem, const struct plan *plan)
{
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    uint32_t most = 0;
    if (chunks == 1)
        return plan_count_layers(problem->model);
    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t layers = megatron_find_layers(plan, i);
        most = layers > most ? layers : most;
    }
    return most;
}

uint32_t megatron_count_node_devices(const struct problem *problem, const struct plan *plan)
{
    const uint64_t devices = plan_count_devices(plan);
    const struct cluster *cluster = problem->cluster;
    const uint64_t node = cluster->level_count > 0 ? cluster->levels[0].degree : devices;
    return (uint32_t)(node < devices ? node : devices);
}

bool megatron_wants_one_connection(const struct plan *plan)
{
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    return sizes.tp > 1 || sizes.cp > 1;
}
