/* One number that tells two plans apart. */
#include <string.h>

#include "plan/plan.h"

static uint64_t add_text(uint64_t seed, const char *text)
{
    return text == NULL ? text_digest(seed, "\1", 1) : text_digest(seed, text, strlen(text) + 1);
}

static uint64_t add_u64(uint64_t seed, uint64_t value)
{
    return text_digest(seed, &value, sizeof value);
}

static uint64_t add_double(uint64_t seed, double value)
{
    return text_digest(seed, &value, sizeof value);
}

static uint64_t add_mesh(uint64_t seed, const struct group *group)
{
    seed = add_u64(seed, group->mesh_count);
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        seed = add_text(seed, mesh->dim != NULL ? mesh->dim->name : mesh->declared);
        seed = add_text(seed, mesh->dim != NULL ? NULL : mesh->axis);
        seed = add_u64(add_u64(seed, mesh->degree), mesh->variant);
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        /* A fold of 1 is off, and left out of files. */
        if (group->folds[i].degree > 1)
            seed = add_u64(add_text(seed, group->folds[i].dim->name), group->folds[i].degree);
    }
    return seed;
}

static uint64_t add_slices(uint64_t seed, const struct group *group)
{
    seed = add_u64(seed, group->slice_count);
    uint64_t devices = 0;
    for (uint32_t i = 0; i < group->slice_count; i++) {
        const struct slice_range *slice = &group->slices[i];
        seed = add_u64(add_u64(seed, slice->first_device), slice->device_count);
        seed = add_u64(add_double(seed, slice->compute_frac), slice->memory_bytes);
        devices += slice->device_count;
    }
    for (uint64_t i = 0; group->coordinates != NULL && i < devices; i++)
        seed = add_u64(seed, group->coordinates[i]);
    return seed;
}

static uint64_t add_group(uint64_t seed, const struct group *group)
{
    seed = add_slices(add_mesh(add_text(seed, group->name), group), group);
    seed = add_u64(seed, group->cut_count);
    for (uint32_t i = 0; i < group->cut_count; i++) {
        seed = add_text(add_text(seed, group->cuts[i].parts), group->cuts[i].dim);
        seed = add_text(seed, group->cuts[i].axis);
    }
    seed = add_u64(seed, group->share_count);
    for (uint32_t i = 0; i < group->share_count; i++) {
        seed = add_u64(add_text(seed, group->shares[i].dim), group->shares[i].count);
        for (uint32_t rank = 0; rank < group->shares[i].count; rank++)
            seed = add_double(seed, group->shares[i].fracs[rank]);
    }
    return seed;
}

static uint64_t add_pipeline(uint64_t seed, const struct pipeline *pipeline)
{
    seed = add_double(add_text(seed, pipeline->name), pipeline->batch_frac);
    seed = add_u64(add_u64(seed, pipeline->micro_batch), pipeline->stop_count);
    for (uint32_t i = 0; i < pipeline->stop_count; i++) {
        const struct pipeline_stop *stop = &pipeline->stops[i];
        seed = add_text(add_u64(seed, stop->group), stop->module);
        seed = add_double(add_double(seed, stop->first_layer), stop->layer_count);
        seed = add_u64(seed, stop->micro_batch);
    }
    return seed;
}

static uint64_t add_schedule(uint64_t seed, const struct plan_schedule *schedule)
{
    seed = add_text(seed, schedule->schedule != NULL ? schedule->schedule->name : NULL);
    seed = add_text(seed, schedule->table);
    seed = add_u64(add_u64(seed, schedule->micro_batch), schedule->chunks);
    seed = add_u64(add_u64(seed, schedule->in_flight_cap), schedule->staleness);
    seed = add_text(add_text(seed, schedule->dispatch), schedule->travels);
    for (uint64_t i = 0;
         schedule->layers != NULL && i < (uint64_t)schedule->stages * schedule->chunks; i++)
        seed = add_u64(seed, schedule->layers[i]);
    return seed;
}

static uint64_t add_value(uint64_t seed, const struct policy_value *value)
{
    if (!value->present)
        return add_u64(seed, 0);
    seed = add_u64(add_u64(add_u64(seed, 1), value->word), value->count);
    seed = add_text(add_u64(add_double(seed, value->number), value->flag), value->text);
    seed = add_u64(add_u64(seed, value->word_count), value->number_count);
    for (uint32_t i = 0; i < value->word_count; i++)
        seed = add_text(seed, value->words[i]);
    for (uint32_t i = 0; i < value->number_count; i++)
        seed = add_double(seed, value->numbers[i]);
    return seed;
}

unsigned long long plan_digest(const struct plan *plan)
{
    uint64_t seed = add_schedule(TEXT_DIGEST_SEED, &plan->schedule);
    for (uint32_t i = 0; i < plan->group_count; i++)
        seed = add_group(seed, &plan->groups[i]);
    for (uint32_t i = 0; i < plan->pipeline_count; i++)
        seed = add_pipeline(seed, &plan->pipelines[i]);
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        const struct policy_use *use = &plan->policies[i];
        seed = add_text(seed, use->kind->name);
        for (uint32_t field = 0; field < use->kind->field_count; field++)
            seed = add_value(seed, &use->values[field]);
    }
    return seed;
}
