/* Questions to a plan, with the name of who asks. */
#include "exports/express.h"

#include <string.h>

#include "models/transformer.h"

static const struct diag_place nowhere = {0};

bool express_is_one_of(const char *word, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0)
            return true;
    }
    return false;
}

/* "tp, cp and dp" */
static const char *list(const char *const *words, const char *last, struct diag *diag)
{
    struct text text;
    text_init(&text, diag->arena);
    for (uint32_t i = 0; words[i] != NULL; i++)
        text_push(&text, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? last : ", ", words[i]);
    return text.bytes;
}

/* --- setup ------------------------------------------------------------------------------------ */

static bool check_formats(const struct setup *setup, const char *target, const char *const *dtypes,
                          const char *const *optimizers, struct diag *diag)
{
    bool good = true;
    if (!express_is_one_of(dtype_name(setup->dtype), dtypes))
        good = diag_push(diag, DIAG_X602, nowhere, list(dtypes, " or ", diag),
                         "matrix multiplies in %s are not exported to %s", dtype_name(setup->dtype),
                         target);
    if (!express_is_one_of(setup->optimizer->name, optimizers))
        good = diag_push(diag, DIAG_X602, nowhere, list(optimizers, " or ", diag),
                         "optimizer '%s' is not exported to %s", setup->optimizer->name, target);
    return good;
}

bool express_setup(const struct setup *setup, const char *target, const char *const *dtypes,
                   const char *const *optimizers, struct diag *diag)
{
    bool good = check_formats(setup, target, dtypes, optimizers, diag);
    if (setup->task.kind != TASK_PRETRAIN)
        good = diag_push(diag, DIAG_X602, nowhere, "task 'pretrain'",
                         "task '%s' is not exported to %s", setup->task.text, target);
    if (setup->mode != SETUP_STEP && setup->mode != SETUP_THROUGHPUT)
        good = diag_push(diag, DIAG_X602, nowhere, "mode 'step'", "%s does not train in mode '%s'",
                         target, setup_mode_names()[setup->mode]);
    if (setup->length_count > 0)
        good = diag_push(diag, DIAG_X602, nowhere, "one sequence length",
                         "%s pads or packs: a distribution of sequence lengths is not exported",
                         target);
    if (setup->phase_count > 0)
        good = diag_push(diag, DIAG_X602, nowhere, "one run per phase",
                         "%u training phases do not fit into one run of %s", setup->phase_count,
                         target);
    return good;
}

bool express_cuts(const struct problem *problem, const struct plan *plan, const char *target,
                  struct diag *diag)
{
    const struct transformer *shape = problem->model->transformer;
    const char *special = shape == NULL ? NULL : transformer_special(shape);
    if (special == NULL || plan_count_devices(plan) == plan_count_replicas(problem, plan))
        return true;
    return diag_push(diag, DIAG_X601, nowhere, "data parallelism alone",
                     "model '%s' has %s: more than replicas of it is not exported to %s",
                     problem->model->name, special, target);
}

/* --- placement -------------------------------------------------------------------------------- */

static bool check_alone(const struct plan *plan, const char *target, struct diag *diag)
{
    const struct group *group = &plan->groups[0];
    bool good = true;
    if (plan->group_count > 1 || plan->pipeline_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "one group, its pipeline left to the mesh",
                         "%s has one mesh and one pipeline: not %u groups, %u pipelines", target,
                         plan->group_count, plan->pipeline_count);
    if (group->slice_count > 0 || group->coordinates != NULL)
        good = diag_push(
            diag, DIAG_X603, nowhere,
            "list the hosts in the order of the ranks, in the cluster too: then no slices and "
            "coordinates are needed",
            "rank n of %s is the n-th device of its launcher: slices and an order of "
            "devices are not exported",
            target);
    if (group->cut_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "leave the cut out",
                         "%s cannot cut axis '%s' of '%s' by %s instead", target,
                         group->cuts[0].axis, group->cuts[0].parts, group->cuts[0].dim);
    if (group->share_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "equal shares",
                         "%s has no uneven shares along %s", target, group->shares[0].dim);
    return good;
}

bool express_group(const struct plan *plan, const char *target, const char *const *factors,
                   const char *const *folds, struct diag *diag)
{
    const struct group *group = &plan->groups[0];
    bool good = check_alone(plan, target, diag);
    for (uint32_t i = 0; good && i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        const char *name = mesh->dim != NULL ? mesh->dim->name : mesh->declared;
        if (mesh->degree > 1 && (mesh->dim == NULL || !express_is_one_of(name, factors)))
            good = diag_push(diag, DIAG_X603, nowhere, list(factors, " and ", diag),
                             "%s has no dimension '%s'", target, name);
    }
    for (uint32_t i = 0; good && i < group->fold_count; i++) {
        if (group->folds[i].degree > 1 && !express_is_one_of(group->folds[i].dim->name, folds))
            good =
                diag_push(diag, DIAG_X603, nowhere, list(folds, " and ", diag),
                          "the fold '%s' is not exported to %s", group->folds[i].dim->name, target);
    }
    return good;
}

static const char *order_of(const struct group *group, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].degree > 1)
            text_push(&text, "%s%s", text.length == 0 ? "" : "-", group->mesh[i].dim->name);
    }
    return text.bytes;
}

bool express_order(const struct plan *plan, const char *target, const char *const *order,
                   struct diag *diag)
{
    const struct group *group = &plan->groups[0];
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].degree == 1)
            continue;
        while (order[next] != NULL && strcmp(order[next], group->mesh[i].dim->name) != 0)
            next++;
        if (order[next] == NULL)
            return diag_push(diag, DIAG_X603, nowhere, list(order, ", ", diag),
                             "%s has no rank order %s, innermost first", target,
                             order_of(group, diag->arena));
    }
    return true;
}

uint32_t express_count_node_devices(const struct problem *problem, const struct plan *plan)
{
    const uint64_t devices = plan_count_devices(plan);
    const struct cluster *cluster = problem->cluster;
    const uint64_t node = cluster->level_count > 0 ? cluster->levels[0].degree : devices;
    return (uint32_t)(node < devices ? node : devices);
}

bool express_nodes(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    const uint64_t devices = plan_count_devices(plan);
    const uint32_t node = express_count_node_devices(problem, plan);
    if (devices % node == 0)
        return true;
    return diag_push(diag, DIAG_X603, nowhere, "use whole nodes",
                     "%llu devices are not whole nodes of %u: a launcher starts as many ranks on "
                     "each",
                     (unsigned long long)devices, node);
}

const char *express_find_variant(const struct plan *plan, const char *dim)
{
    const struct group *group = &plan->groups[0];
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->dim != NULL && mesh->degree > 1 && strcmp(mesh->dim->name, dim) == 0)
            return mesh->dim->variants[mesh->variant].name;
    }
    return NULL;
}

/* --- schedule --------------------------------------------------------------------------------- */

static bool check_fields(const struct plan_schedule *schedule, const char *target,
                         struct diag *diag)
{
    bool good = true;
    if (schedule->table != NULL)
        good = diag_push(diag, DIAG_X604, nowhere, "a schedule by name",
                         "a table of slots is not exported to %s", target);
    if (schedule->dispatch != NULL && strcmp(schedule->dispatch, "fixed") != 0)
        good = diag_push(diag, DIAG_X604, nowhere, "dispatch 'fixed'", "%s has no dispatch '%s'",
                         target, schedule->dispatch);
    if (schedule->in_flight_cap > 0)
        good = diag_push(diag, DIAG_X604, nowhere, "leave it out",
                         "an in-flight cap of %u micro-batches is not exported to %s",
                         schedule->in_flight_cap, target);
    if (schedule->travels != NULL && strcmp(schedule->travels, "activations") != 0)
        good = diag_push(diag, DIAG_X604, nowhere, "travels 'activations'",
                         "in %s activations travel, not %s", target, schedule->travels);
    if (schedule->staleness > 0)
        good = diag_push(diag, DIAG_X604, nowhere, "staleness 0",
                         "%s is synchronous: not %u versions stale", target, schedule->staleness);
    return good;
}

bool express_schedule(const struct problem *problem, const struct plan *plan, const char *target,
                      const char *const *schedules, struct diag *diag)
{
    const struct plan_schedule *schedule = &plan->schedule;
    const uint32_t stages = plan_count_stages(plan);
    bool good = check_fields(schedule, target, diag);
    if (schedule->schedule != NULL && !express_is_one_of(schedule->schedule->name, schedules))
        good = diag_push(diag, DIAG_X604, nowhere, list(schedules, " or ", diag),
                         "%s does not run schedule '%s'", target, schedule->schedule->name);
    if (schedule->chunks > 1 && stages == 1)
        good = diag_push(diag, DIAG_X604, nowhere, "one chunk, or more stages",
                         "%s puts %u chunks on a stage only where there are 2 stages or more",
                         target, schedule->chunks);
    if (stages * schedule->chunks > 1 && schedule->layers == NULL)
        good = diag_push(diag, DIAG_X606, nowhere, "state the layers of every stage and chunk",
                         "the plan leaves open how %u layers spread over %u chunks of %u stages",
                         plan_count_layers(problem->model), stages * schedule->chunks, stages);
    return good;
}

uint32_t express_find_layers(const struct plan *plan, uint32_t chunk)
{
    const struct plan_schedule *schedule = &plan->schedule;
    const struct schedule_shape shape = {
        .stages = plan_count_stages(plan), .chunks = schedule->chunks, .micro_batches = 1};
    if (schedule->layers == NULL)
        return 0;
    for (uint32_t i = 0; schedule->schedule != NULL && schedule->schedule->place != NULL &&
                         i < shape.stages * shape.chunks;
         i++) {
        if (schedule->schedule->place(&shape, i / shape.chunks, i % shape.chunks) == chunk)
            return schedule->layers[i];
    }
    return schedule->layers[chunk % shape.stages * shape.chunks + chunk / shape.stages];
}

uint32_t express_find_most_layers(const struct problem *problem, const struct plan *plan)
{
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    uint32_t most = 0;
    if (chunks == 1)
        return plan_count_layers(problem->model);
    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t layers = express_find_layers(plan, i);
        most = layers > most ? layers : most;
    }
    return most;
}

bool express_whole_layers(const struct problem *problem, const struct plan *plan,
                          const struct express_states *states, const char *target,
                          struct diag *diag)
{
    if (states->granularity == NULL || (strcmp(states->granularity, "full") == 0 &&
                                        states->layers >= express_find_most_layers(problem, plan)))
        return true;
    return diag_push(diag, DIAG_X605, nowhere, "recompute all layers whole",
                     "%s recomputes whole layers, all of them", target);
}
