/* Whether Megatron-LM can train as the setup, the placement, the schedule of a plan say. */
#include <string.h>

#include "exports/megatron_inside.h"

static const struct diag_place nowhere = {0};

static bool is_one_of(const char *word, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0)
            return true;
    }
    return false;
}

/* --- setup ------------------------------------------------------------------------------------ */

static bool check_formats(const struct setup *setup, struct diag *diag)
{
    static const char *const dtypes[] = {"bf16", "fp16", "fp32", "fp8", NULL};
    static const char *const optimizers[] = {"adam", "sgd", "sgd-momentum", NULL};
    bool good = true;
    if (!is_one_of(dtype_name(setup->dtype), dtypes))
        good = diag_push(diag, DIAG_X602, nowhere, "bf16, fp16, fp8 or fp32",
                         "matrix multiplies in %s are not exported to Megatron",
                         dtype_name(setup->dtype));
    if (setup->dtype == DTYPE_FP32 && setup->attention == ATTENTION_FLASH)
        good = diag_push(diag, DIAG_X602, nowhere, "bf16 or fp16, or plain attention",
                         "flash attention has no fp32 form in Transformer Engine");
    if (!is_one_of(setup->optimizer->name, optimizers))
        good = diag_push(diag, DIAG_X602, nowhere, "adam, sgd or sgd-momentum",
                         "optimizer '%s' is not exported to Megatron", setup->optimizer->name);
    return good;
}

static bool check_setup(const struct setup *setup, struct diag *diag)
{
    bool good = check_formats(setup, diag);
    if (setup->task.kind != TASK_PRETRAIN)
        good = diag_push(diag, DIAG_X602, nowhere, "task 'pretrain'",
                         "pretrain_gpt.py has no task '%s'", setup->task.text);
    if (setup->mode != SETUP_STEP && setup->mode != SETUP_THROUGHPUT)
        good = diag_push(diag, DIAG_X602, nowhere, "mode 'step'",
                         "Megatron does not train in mode '%s'", setup_mode_names()[setup->mode]);
    if (setup->length_count > 0)
        good = diag_push(diag, DIAG_X602, nowhere, "one sequence length",
                         "Megatron pads or packs: a distribution of sequence lengths is not "
                         "exported");
    if (setup->phase_count > 0)
        good =
            diag_push(diag, DIAG_X602, nowhere, "one run per phase",
                      "%u training phases do not fit into one run of Megatron", setup->phase_count);
    return good;
}

/* --- placement -------------------------------------------------------------------------------- */

static bool check_groups(const struct plan *plan, struct diag *diag)
{
    const struct group *group = &plan->groups[0];
    bool good = true;
    if (plan->group_count > 1 || plan->pipeline_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "one group, its pipeline left to the mesh",
                         "Megatron has one mesh and one pipeline: not %u groups, %u pipelines",
                         plan->group_count, plan->pipeline_count);
    if (group->slice_count > 0 || group->coordinates != NULL)
        good = diag_push(diag, DIAG_X603, nowhere,
                         "leave slices and coordinates out, list the hosts in that order",
                         "Megatron's rank n is the n-th device of its launcher: slices and an "
                         "order of devices are not exported");
    if (group->cut_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "leave the cut out",
                         "Megatron cannot cut axis '%s' of '%s' by %s instead", group->cuts[0].axis,
                         group->cuts[0].parts, group->cuts[0].dim);
    if (group->share_count > 0)
        good = diag_push(diag, DIAG_X603, nowhere, "equal shares",
                         "Megatron has no uneven shares along %s", group->shares[0].dim);
    return good;
}

static bool check_dims(const struct group *group, struct diag *diag)
{
    static const char *const factors[] = {"tp", "cp", "dp", "pp", NULL};
    static const char *const folds[] = {"sp", "ep", NULL};
    bool good = true;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        const char *name = mesh->dim != NULL ? mesh->dim->name : mesh->declared;
        if (mesh->degree > 1 && (mesh->dim == NULL || !is_one_of(name, factors)))
            good = diag_push(diag, DIAG_X603, nowhere, "tp, cp, dp and pp",
                             "Megatron has no dimension '%s'", name);
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        if (group->folds[i].degree > 1 && !is_one_of(group->folds[i].dim->name, folds))
            good =
                diag_push(diag, DIAG_X603, nowhere, "sp and ep",
                          "the fold '%s' is not exported to Megatron", group->folds[i].dim->name);
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

/* With the pipeline inside, its groups for layers with and without experts must coincide
 * (parallel_state.py), which they do when expert ranks are as many as context ranks. */
static bool check_order(const struct group *group, const struct megatron_sizes *sizes,
                        struct diag *diag)
{
    static const char *const hint = "put the dimensions in the order tp, cp, dp, pp";
    if (!megatron_follows_order(group, false) && !sizes->pipeline_inside)
        return diag_push(diag, DIAG_X603, nowhere, hint,
                         "Megatron has no rank order %s, innermost first: only tp-cp-dp-pp and "
                         "tp-cp-pp-dp",
                         order_of(group, diag->arena));
    if (sizes->pipeline_inside && sizes->ep != sizes->cp)
        return diag_push(diag, DIAG_X603, nowhere, hint,
                         "in rank order %s Megatron wants as many expert ranks as context ranks: "
                         "%u are not %u",
                         order_of(group, diag->arena), sizes->ep, sizes->cp);
    return true;
}

static bool check_nodes(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    const uint64_t devices = plan_count_devices(plan);
    const uint32_t node = megatron_count_node_devices(problem, plan);
    if (devices % node == 0)
        return true;
    return diag_push(diag, DIAG_X603, nowhere, "use whole nodes",
                     "%llu devices are not whole nodes of %u: a launcher starts as many ranks on "
                     "each",
                     (unsigned long long)devices, node);
}

static bool check_placement(const struct problem *problem, const struct plan *plan,
                            struct diag *diag)
{
    const struct group *group = &plan->groups[0];
    struct megatron_sizes sizes;
    megatron_find_sizes(plan, &sizes);
    if (!check_groups(plan, diag) || !check_dims(group, diag))
        return false;
    bool good = check_order(group, &sizes, diag);
    if (sizes.cp > 1 && sizes.context_kind == NULL)
        good = diag_push(diag, DIAG_X603, nowhere, "ring, ulysses or allgather",
                         "this variant of context parallelism is not exported to Megatron");
    good &= check_nodes(problem, plan, diag);
    return good;
}

/* --- schedule --------------------------------------------------------------------------------- */

static bool check_schedule_fields(const struct plan_schedule *schedule, struct diag *diag)
{
    bool good = true;
    if (schedule->table != NULL)
        good = diag_push(diag, DIAG_X604, nowhere, "schedule '1f1b' or 'interleaved'",
                         "Megatron does not read a table of slots");
    if (schedule->dispatch != NULL && strcmp(schedule->dispatch, "fixed") != 0)
        good = diag_push(diag, DIAG_X604, nowhere, "dispatch 'fixed'",
                         "Megatron has no dispatch '%s'", schedule->dispatch);
    if (schedule->in_flight_cap > 0)
        good = diag_push(diag, DIAG_X604, nowhere, "leave it out",
                         "an in-flight cap of %u micro-batches is not exported to Megatron",
                         schedule->in_flight_cap);
    if (schedule->travels != NULL && strcmp(schedule->travels, "activations") != 0)
        good = diag_push(diag, DIAG_X604, nowhere, "travels 'activations'",
                         "in Megatron activations travel, not %s", schedule->travels);
    if (schedule->staleness > 0)
        good = diag_push(diag, DIAG_X604, nowhere, "staleness 0",
                         "Megatron is synchronous: not %u versions stale", schedule->staleness);
    return good;
}

static bool check_schedule(const struct problem *problem, const struct plan *plan,
                           struct diag *diag)
{
    static const char *const names[] = {"1f1b", "interleaved", NULL};
    const struct plan_schedule *schedule = &plan->schedule;
    const uint32_t stages = plan_count_stages(plan);
    bool good = check_schedule_fields(schedule, diag);
    if (schedule->schedule != NULL && !is_one_of(schedule->schedule->name, names))
        good = diag_push(diag, DIAG_X604, nowhere, "1f1b or interleaved",
                         "Megatron does not run schedule '%s'", schedule->schedule->name);
    if (schedule->chunks > 1 && stages == 1)
        good = diag_push(diag, DIAG_X604, nowhere, "one chunk, or more stages",
                         "Megatron puts %u chunks on a stage only where there are 2 stages or "
                         "more",
                         schedule->chunks);
    if (schedule->chunks > 1 && stages == 2 && !problem->setup->runtime->overlaps_send)
        good = diag_push(diag, DIAG_X604, nowhere, "one chunk, or 3 stages or more",
                         "Megatron interleaves chunks on 2 stages only where sends overlap");
    if (stages * schedule->chunks > 1 && schedule->layers == NULL)
        good = diag_push(diag, DIAG_X606, nowhere, "state the layers of every stage and chunk",
                         "the plan leaves open how %u layers spread over %u chunks of %u stages",
                         plan_count_layers(problem->model), stages * schedule->chunks, stages);
    return good;
}

bool megatron_check_plan(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    bool good = check_setup(problem->setup, diag);
    good &= check_placement(problem, plan, diag);
    good &= check_schedule(problem, plan, diag);
    good &= megatron_check_policies(problem, plan, diag);
    return good;
}
