/* Degrees and counts that follow from a plan's mesh. */
#include <string.h>

#include "plan/plan.h"

#define BATCH_AXIS "batch"

static const struct group *first_group(const struct plan *plan)
{
    return plan->group_count > 0 ? &plan->groups[0] : NULL;
}

static const char *mesh_name(const struct mesh_dim *mesh)
{
    return mesh->dim != NULL ? mesh->dim->name : mesh->declared;
}

uint32_t plan_find_degree(const struct plan *plan, const struct dim *dim)
{
    const struct group *group = first_group(plan);
    for (uint32_t i = 0; group != NULL && i < group->mesh_count; i++) {
        if (group->mesh[i].dim == dim)
            return group->mesh[i].degree;
    }
    for (uint32_t i = 0; group != NULL && i < group->fold_count; i++) {
        if (group->folds[i].dim == dim)
            return group->folds[i].degree;
    }
    return 1;
}

uint32_t plan_find_degree_named(const struct plan *plan, const char *dim)
{
    const struct group *group = first_group(plan);
    for (uint32_t i = 0; group != NULL && i < group->mesh_count; i++) {
        if (strcmp(mesh_name(&group->mesh[i]), dim) == 0)
            return group->mesh[i].degree;
    }
    const struct dim *member = dim_find(dim);
    return member == NULL ? 1 : plan_find_degree(plan, member);
}

uint32_t plan_count_stages(const struct plan *plan)
{
    const struct group *group = first_group(plan);
    uint32_t stages = 1;
    for (uint32_t i = 0; group != NULL && i < group->mesh_count; i++) {
        if (group->mesh[i].dim != NULL && group->mesh[i].dim->cuts_chain)
            stages *= group->mesh[i].degree;
    }
    return stages;
}

static bool cuts_batch(const struct mesh_dim *mesh)
{
    if (mesh->dim == NULL)
        return strcmp(mesh->axis, BATCH_AXIS) == 0;
    const struct dim_variant *variant = &mesh->dim->variants[mesh->variant];
    for (uint32_t i = 0; i < variant->cut_count; i++) {
        if (strcmp(variant->cuts[i].axis, BATCH_AXIS) == 0)
            return true;
    }
    return false;
}

uint64_t plan_count_replicas(const struct problem *problem, const struct plan *plan)
{
    (void)problem;
    const struct group *group = first_group(plan);
    uint64_t replicas = 1;
    for (uint32_t i = 0; group != NULL && i < group->mesh_count; i++) {
        if (cuts_batch(&group->mesh[i]))
            replicas *= group->mesh[i].degree;
    }
    return replicas;
}

bool plan_cuts_data(const struct model *model, const struct mesh_dim *mesh)
{
    for (uint32_t i = 0; i < mesh->dim->variants[mesh->variant].cut_count; i++) {
        const uint32_t axis =
            model_find_axis(model, mesh->dim->variants[mesh->variant].cuts[i].axis);
        if (axis != NO_INDEX && model->axes[axis].size == 0)
            return true;
    }
    return false;
}

uint64_t plan_count_copies(const struct problem *problem, const struct plan *plan)
{
    const struct group *group = first_group(plan);
    uint64_t copies = 1;
    for (uint32_t i = 0; group != NULL && i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->dim != NULL && mesh->degree > 1 && plan_cuts_data(problem->model, mesh))
            copies *= mesh->degree;
    }
    return copies;
}

uint32_t plan_count_micro_batches(const struct problem *problem, const struct plan *plan)
{
    const uint64_t replicas = plan_count_replicas(problem, plan);
    const uint64_t micro_batch = plan->schedule.micro_batch;
    const uint64_t global_batch = problem->setup->global_batch;
    if (micro_batch == 0 || replicas > global_batch || micro_batch > global_batch / replicas ||
        global_batch % (replicas * micro_batch) != 0)
        return 0;
    const uint64_t count = global_batch / (replicas * micro_batch);
    return count > UINT32_MAX ? 0 : (uint32_t)count;
}

uint32_t plan_count_passes(const struct problem *problem, const struct plan *plan)
{
    const struct setup *setup = problem->setup;
    const uint64_t each = task_trains(&setup->task) && setup->optimizer->forwards > 1
                              ? setup->optimizer->forwards
                              : 1;
    const uint64_t count = each * plan_count_micro_batches(problem, plan);
    return count > UINT32_MAX ? 0 : (uint32_t)count;
}

uint64_t plan_count_devices(const struct plan *plan)
{
    uint64_t devices = 0;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        uint64_t product = 1;
        for (uint32_t i = 0; i < plan->groups[g].mesh_count; i++) {
            const uint64_t degree = plan->groups[g].mesh[i].degree;
            product = degree != 0 && product > UINT64_MAX / degree ? UINT64_MAX : product * degree;
        }
        devices = devices > UINT64_MAX - product ? UINT64_MAX : devices + product;
    }
    return devices;
}

static bool is_anchored(const struct model *model, uint32_t run)
{
    return model->chain[run].count == 1 && (run == 0 || run + 1 == model->run_count);
}

uint32_t plan_count_layers(const struct model *model)
{
    uint32_t middle = 0, all = 0;
    for (uint32_t run = 0; run < model->run_count; run++) {
        all += model->chain[run].count;
        middle += is_anchored(model, run) ? 0 : model->chain[run].count;
    }
    return middle > 0 ? middle : all;
}
