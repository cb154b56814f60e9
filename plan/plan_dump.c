/* A plan as its file: read back, it is the same plan. */
#include "plan/plan_parts.h"

bool plan_dump_fold(struct json_writer *out)
{
    const bool before = out->compact;
    out->compact = true;
    return before;
}

void plan_dump_unfold(struct json_writer *out, bool before)
{
    out->compact = before;
}

static void dump_digests(const struct problem *problem, struct json_writer *out)
{
    struct arena scratch;
    arena_init(&scratch);
    const struct {
        const char *key;
        unsigned long long digest;
    } digests[] = {
        {"model", problem->model->digest},
        {"cluster", problem->cluster->digest},
        {"setup", setup_digest(problem->setup, &scratch)},
    };
    json_push_key(out, "digests");
    json_push_object(out);
    for (uint32_t i = 0; i < sizeof digests / sizeof digests[0]; i++)
        json_push_key_string(out, digests[i].key,
                             text_build(&scratch, "%016llx", digests[i].digest));
    json_pop_object(out);
    arena_release(&scratch);
}

static void dump_problem(const struct problem *problem, bool embed, struct json_writer *out)
{
    json_push_key(out, "model");
    plan_dump_model(problem->model, embed, out);
    json_push_key(out, "cluster");
    plan_dump_cluster(problem->cluster, embed, out);
    json_push_key(out, "setup");
    setup_dump(problem->setup, out);
    if (embed)
        dump_digests(problem, out);
}

static void dump_mesh(const struct group *group, struct json_writer *out)
{
    json_push_key(out, "mesh");
    json_push_array(out);
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        json_push_key_string(out, "dim", mesh->dim != NULL ? mesh->dim->name : mesh->declared);
        json_push_key_u64(out, "degree", mesh->degree);
        if (mesh->dim == NULL)
            json_push_key_string(out, "axis", mesh->axis);
        else if (mesh->dim->variant_count > 1 && (mesh->degree > 1 || mesh->variant > 0))
            json_push_key_string(out, "variant", mesh->dim->variants[mesh->variant].name);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    json_pop_array(out);
}

/* A fold that is off is left out. */
static void dump_folds(const struct group *group, struct json_writer *out)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < group->fold_count; i++) {
        const struct mesh_fold *fold = &group->folds[i];
        if (fold->degree <= 1)
            continue;
        if (written++ == 0) {
            json_push_key(out, "folds");
            json_push_array(out);
        }
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        json_push_key_string(out, "dim", fold->dim->name);
        json_push_key(out, "on");
        json_push_array(out);
        for (uint32_t host = 0; host < 3 && fold->dim->hosts[host] != NULL; host++)
            json_push_string(out, fold->dim->hosts[host]);
        json_pop_array(out);
        if (!fold->dim->on_or_off)
            json_push_key_u64(out, "degree", fold->degree);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    if (written > 0)
        json_pop_array(out);
}

static void dump_range(uint32_t first, uint32_t count, struct json_writer *out)
{
    struct arena scratch;
    arena_init(&scratch);
    json_push_key_string(out, "devices",
                         count == 1 ? text_build(&scratch, "%u", first)
                                    : text_build(&scratch, "%u-%u", first, first + count - 1));
    arena_release(&scratch);
}

static void dump_slices(const struct group *group, struct json_writer *out)
{
    json_push_key(out, "slices");
    json_push_array(out);
    uint64_t devices = 0;
    for (uint32_t i = 0; i < group->slice_count; i++) {
        const struct slice_range *slice = &group->slices[i];
        devices += slice->device_count;
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        dump_range(slice->first_device, slice->device_count, out);
        if (slice->compute_frac < 1)
            json_push_key_double(out, "compute_frac", slice->compute_frac);
        if (slice->memory_bytes > 0)
            json_push_key_quantity(out, "memory", UNIT_BYTES, (double)slice->memory_bytes);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    json_pop_array(out);
    if (group->coordinates == NULL)
        return;
    json_push_key(out, "coordinates");
    const bool before = plan_dump_fold(out);
    json_push_array(out);
    for (uint64_t i = 0; i < devices; i++)
        json_push_u64(out, group->coordinates[i]);
    json_pop_array(out);
    plan_dump_unfold(out, before);
}

static void dump_cuts(const struct group *group, struct json_writer *out)
{
    json_push_key(out, "cuts");
    json_push_array(out);
    for (uint32_t i = 0; i < group->cut_count; i++) {
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        json_push_key_string(out, "parts", group->cuts[i].parts);
        json_push_key_string(out, "dim", group->cuts[i].dim);
        json_push_key_string(out, "axis", group->cuts[i].axis);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    json_pop_array(out);
}

static void dump_shares(const struct group *group, struct json_writer *out)
{
    json_push_key(out, "shares");
    json_push_array(out);
    for (uint32_t i = 0; i < group->share_count; i++) {
        json_push_object(out);
        const bool before = plan_dump_fold(out);
        json_push_key_string(out, "dim", group->shares[i].dim);
        json_push_key(out, "fracs");
        json_push_array(out);
        for (uint32_t rank = 0; rank < group->shares[i].count; rank++)
            json_push_double(out, group->shares[i].fracs[rank]);
        json_pop_array(out);
        json_pop_object(out);
        plan_dump_unfold(out, before);
    }
    json_pop_array(out);
}

static void dump_group(const struct group *group, struct json_writer *out)
{
    if (group->slice_count > 0)
        dump_slices(group, out);
    dump_mesh(group, out);
    dump_folds(group, out);
    if (group->cut_count > 0)
        dump_cuts(group, out);
    if (group->share_count > 0)
        dump_shares(group, out);
}

static void dump_groups(const struct plan *plan, struct json_writer *out)
{
    if (plan->group_count == 1 && plan->groups[0].name == NULL) {
        dump_group(&plan->groups[0], out);
        return;
    }
    json_push_key(out, "groups");
    json_push_array(out);
    for (uint32_t i = 0; i < plan->group_count; i++) {
        json_push_object(out);
        json_push_key_string(out, "name", plan->groups[i].name);
        dump_group(&plan->groups[i], out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_stop(const struct plan *plan, const struct pipeline_stop *stop,
                      struct json_writer *out)
{
    json_push_object(out);
    const bool before = plan_dump_fold(out);
    if (plan->groups[stop->group].name != NULL)
        json_push_key_string(out, "group", plan->groups[stop->group].name);
    if (stop->module != NULL)
        json_push_key_string(out, "module", stop->module);
    if (stop->module == NULL || stop->layer_count > 0) {
        json_push_key_double(out, "first_layer", stop->first_layer);
        json_push_key_double(out, "layer_count", stop->layer_count);
    }
    if (stop->micro_batch > 0)
        json_push_key_u64(out, "micro_batch", stop->micro_batch);
    json_pop_object(out);
    plan_dump_unfold(out, before);
}

static void dump_pipelines(const struct plan *plan, struct json_writer *out)
{
    json_push_key(out, "pipelines");
    json_push_array(out);
    for (uint32_t i = 0; i < plan->pipeline_count; i++) {
        const struct pipeline *pipeline = &plan->pipelines[i];
        json_push_object(out);
        if (pipeline->name != NULL)
            json_push_key_string(out, "name", pipeline->name);
        if (pipeline->batch_frac > 0)
            json_push_key_double(out, "batch_frac", pipeline->batch_frac);
        if (pipeline->micro_batch > 0)
            json_push_key_u64(out, "micro_batch", pipeline->micro_batch);
        if (pipeline->stop_count > 0) {
            json_push_key(out, "stops");
            json_push_array(out);
            for (uint32_t s = 0; s < pipeline->stop_count; s++)
                dump_stop(plan, &pipeline->stops[s], out);
            json_pop_array(out);
        }
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_layers(const struct plan_schedule *schedule, struct json_writer *out)
{
    json_push_key(out, "layers");
    const bool before = plan_dump_fold(out);
    json_push_array(out);
    for (uint32_t stage = 0; stage < schedule->stages; stage++) {
        const uint32_t *layers = schedule->layers + (size_t)stage * schedule->chunks;
        if (schedule->chunks == 1) {
            json_push_u64(out, layers[0]);
            continue;
        }
        json_push_array(out);
        for (uint32_t chunk = 0; chunk < schedule->chunks; chunk++)
            json_push_u64(out, layers[chunk]);
        json_pop_array(out);
    }
    json_pop_array(out);
    plan_dump_unfold(out, before);
}

static void dump_schedule(const struct plan_schedule *schedule, struct json_writer *out)
{
    json_push_key(out, "schedule");
    json_push_object(out);
    if (schedule->schedule != NULL)
        json_push_key_string(out, "name", schedule->schedule->name);
    if (schedule->table != NULL)
        json_push_key_string(out, "table", schedule->table);
    if (schedule->micro_batch > 0)
        json_push_key_u64(out, "micro_batch", schedule->micro_batch);
    if (schedule->chunks > 1)
        json_push_key_u64(out, "chunks", schedule->chunks);
    if (schedule->dispatch != NULL)
        json_push_key_string(out, "dispatch", schedule->dispatch);
    if (schedule->in_flight_cap > 0)
        json_push_key_u64(out, "in_flight_cap", schedule->in_flight_cap);
    if (schedule->travels != NULL)
        json_push_key_string(out, "travels", schedule->travels);
    if (schedule->staleness > 0)
        json_push_key_u64(out, "staleness", schedule->staleness);
    if (schedule->layers != NULL)
        dump_layers(schedule, out);
    json_pop_object(out);
}

void plan_dump(const struct problem *problem, const struct plan *plan, bool embed,
               struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "format", PLAN_FORMAT);
    if (plan->note != NULL)
        json_push_key_string(out, "note", plan->note);
    dump_problem(problem, embed, out);
    dump_groups(plan, out);
    if (plan->pipeline_count > 0)
        dump_pipelines(plan, out);
    dump_schedule(&plan->schedule, out);
    if (plan->policy_count > 0) {
        json_push_key(out, "policies");
        json_push_array(out);
        for (uint32_t i = 0; i < plan->policy_count; i++)
            policy_dump(&plan->policies[i], out);
        json_pop_array(out);
    }
    json_pop_object(out);
}
