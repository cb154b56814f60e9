/* States that every replica would repeat are spread over replicas. */
#include <string.h>

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/work.h"

extern const struct policy policy_shard;

static const char *const states[] = {"optimizer", "gradients", "parameters", NULL};
static const char *const regathers[] = {"kept", "per-micro-batch", NULL};

static const struct policy_field fields[] = {
    {.key = "tensors",
     .kind = POLICY_FIELD_WORDS,
     .choices = states,
     .required = true,
     .selects = true,
     .summary = "which states"},
    {.key = "over",
     .kind = POLICY_FIELD_WORDS,
     .required = true,
     .target = POLICY_TARGET_RANKS,
     .summary = "dimensions or cluster levels whose ranks share them"},
    {.key = "regather",
     .kind = POLICY_FIELD_WORD,
     .choices = regathers,
     .summary =
         "gathered parameters are kept for the step or gathered again for every micro-batch"},
    {.key = "prefetch", .kind = POLICY_FIELD_COUNT, .summary = "layers gathered ahead"},
    {.key = "block",
     .kind = POLICY_FIELD_COUNT,
     .summary = "elements that stay together on one rank"},
    {.key = "padding_frac",
     .kind = POLICY_FIELD_FRACTION,
     .summary = "elements added so that shards are even"},
    {.key = "shares", .kind = POLICY_FIELD_NUMBERS, .summary = "share of each rank, where uneven"},
    {.key = "copy_over",
     .kind = POLICY_FIELD_WORDS,
     .target = POLICY_TARGET_RANKS,
     .summary = "a second, whole copy of parameters within these"},
    {.key = "streamed",
     .kind = POLICY_FIELD_BOOL,
     .summary = "shards go round while compute on them runs, never gathered whole"},
    POLICY_SELECTORS,
};

enum { FIELD_TENSORS, FIELD_OVER, FIELD_REGATHER };
enum { REGATHER_KEPT };

static bool has_word(const struct policy_value *value, const char *word)
{
    for (uint32_t i = 0; value->present && i < value->word_count; i++) {
        if (strcmp(value->words[i], word) == 0)
            return true;
    }
    return false;
}

/* The level that the largest sharded state stands for: 1 optimiser, 2 gradients, 3 parameters. */
static uint32_t level_of(const struct policy_use *use)
{
    const struct policy_value *tensors = &use->values[FIELD_TENSORS];
    return has_word(tensors, "parameters") ? 3 : has_word(tensors, "gradients") ? 2 : 1;
}

static bool is_level(const struct cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        if (strcmp(cluster->levels[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Ranks that share each state, UINT64_MAX when a cluster level says so. */
static uint64_t count_sharers(const struct problem *problem, const struct plan *plan,
                              const struct policy_value *over)
{
    uint64_t sharers = 1;
    for (uint32_t i = 0; over->present && i < over->word_count; i++) {
        if (is_level(problem->cluster, over->words[i]))
            return UINT64_MAX;
        for (uint32_t g = 0; g < plan->group_count; g++) {
            for (uint32_t m = 0; m < plan->groups[g].mesh_count; m++) {
                const struct mesh_dim *mesh = &plan->groups[g].mesh[m];
                if (strcmp(mesh->dim != NULL ? mesh->dim->name : mesh->declared, over->words[i]) ==
                    0)
                    sharers *= mesh->degree;
            }
        }
    }
    return sharers;
}

/* Text for people only: without a diag the caller wants no more than the answer. */
#define REFUSE(diag, ...) ((diag) != NULL && diag_push((diag), __VA_ARGS__))

static bool has_states(const struct setup *setup, uint32_t level);

static bool fits(const struct problem *problem, const struct plan *plan,
                 const struct policy_use *use, struct diag *diag)
{
    const struct diag_place nowhere = {0};
    const struct runtime *runtime = problem->setup->runtime;
    const uint32_t level = level_of(use), stages = plan_count_stages(plan);
    if ((runtime->zero_levels >> level & 1) == 0)
        return REFUSE(diag, DIAG_P420, nowhere, NULL, "runtime '%s' has no sharding of level %u",
                      runtime->name, level);
    if (runtime->zero_pipeline_only_first && level > 1 && stages > 1)
        return REFUSE(diag, DIAG_P420, nowhere, "shard the optimizer alone, or use one stage",
                      "runtime '%s' refuses sharding of level %u with %u pipeline stages",
                      runtime->name, level, stages);
    if (task_trains(&problem->setup->task) && !has_states(problem->setup, level))
        return REFUSE(diag, DIAG_P425, nowhere,
                      problem->setup->optimizer->forwards > 0
                          ? "share parameters too (level 3), or leave the policy out"
                          : "share the optimizer alone",
                      "optimizer '%s' does not go with sharding of level %u: it has %s",
                      problem->setup->optimizer->name, level,
                      problem->setup->optimizer->forwards > 0 ? "no gradients, no states"
                                                              : "to see whole matrices");
    if (count_sharers(problem, plan, &use->values[FIELD_OVER]) == 1)
        return REFUSE(diag, DIAG_P425, nowhere, "leave the policy out",
                      "policy 'shard' spreads states over 1 rank: there is nothing to share");
    return true;
}

/* Replicas with whole states beside other dims: some runtimes have none. Only they need a plan
 * with one group; others are refused elsewhere. */
static const char *needed(const struct problem *problem, const struct plan *plan)
{
    if (!problem->setup->runtime->unsharded_alone || plan->group_count != 1 ||
        plan_count_replicas(problem, plan) == plan_count_devices(plan))
        return NULL;
    return "shard gradients or parameters over data and context ranks (--zero 2 or 3), two of them "
           "at least, or let data ranks be all there are";
}

/* States are costed over all ranks that have the same weights, or not at all: NULL, or why not. */
static const char *refuse_ranks(const struct problem *problem, const struct group *group,
                                const struct policy_value *over, struct arena *arena)
{
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->dim == NULL || mesh->degree == 1)
            continue;
        const bool copies = plan_cuts_data(problem->model, mesh);
        if (copies && !has_word(over, mesh->dim->name))
            return text_build(arena,
                              "the judges cannot cost policy 'shard' that leaves out %s %u yet",
                              mesh->dim->name, mesh->degree);
        if (!copies && has_word(over, mesh->dim->name))
            return text_build(arena, "the judges cannot cost policy 'shard' over %s yet",
                              mesh->dim->name);
    }
    return NULL;
}

static const char *refuses(const struct problem *problem, const struct plan *plan,
                           const struct policy_use *use, struct arena *arena)
{
    static const char *const costed[] = {"tensors", "over", "regather", NULL};
    const struct policy_value *over = &use->values[FIELD_OVER],
                              *regather = &use->values[FIELD_REGATHER];
    for (uint32_t i = 0; i < over->word_count; i++) {
        if (is_level(problem->cluster, over->words[i]))
            return text_build(arena,
                              "the judges cannot cost policy 'shard' over cluster level '%s' yet",
                              over->words[i]);
    }
    if (regather->present && regather->word == REGATHER_KEPT)
        return text_build(arena, "the judges cannot cost policy 'shard' with regather '%s' yet",
                          regathers[regather->word]);
    const char *reason = refuse_ranks(problem, &plan->groups[0], over, arena);
    return reason != NULL ? reason : policy_refuse_fields(use, costed, arena);
}

/* Weights are shared over the group that sums their gradients. Sums and gathers follow from the
 * shares when the program is lowered. */
static void rewrite(const struct policy_use *use, struct work *work)
{
    const struct policy_value *tensors = &use->values[FIELD_TENSORS];
    const bool sums_once =
        work->shape.stages > 1 && work->problem->setup->runtime->sums_once_in_pipeline;
    for (uint32_t b = 0; b < work->block_count; b++) {
        for (uint32_t i = 0; i < work->blocks[b].weights_count; i++) {
            struct work_weights *weights = &work->blocks[b].weights[i];
            if (weights->group == NO_INDEX)
                continue;
            const uint32_t ranks = work->groups[weights->group].ranks;
            if (has_word(tensors, "optimizer")) {
                weights->optimizer_shards = ranks;
                weights->optimizer_group = weights->group;
            }
            if (has_word(tensors, "gradients") && !sums_once) {
                weights->gradient_shards = ranks;
                weights->gradient_group = weights->group;
            }
            if (has_word(tensors, "parameters")) {
                weights->parameter_shards = ranks;
                weights->parameter_group = weights->group;
            }
        }
    }
}

/* Forwards alone have neither gradients nor states; an optimizer that works on whole matrices has
 * no use for pieces of them. */
static bool has_states(const struct setup *setup, uint32_t level)
{
    return setup->optimizer->forwards > 0       ? task_trains(&setup->task) && level == 3
           : setup->optimizer->matrix_steps > 0 ? task_trains(&setup->task) && level == 1
                                                : task_trains(&setup->task);
}

/* The optimizer's states, those with gradients, those with parameters: over all ranks that have the
 * same weights. */
static bool choose(const struct problem *problem, const struct plan *plan, uint32_t index,
                   struct arena *arena, struct policy_use *out)
{
    const struct group *group = &plan->groups[0];
    const char **over = ARENA_PUSH(arena, const char *, DIM_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        const struct mesh_dim *mesh = &group->mesh[i];
        if (mesh->degree > 1 && plan_cuts_data(problem->model, mesh))
            over[count++] = mesh->dim->name;
    }
    if (index > 2 || count == 0 || !has_states(problem->setup, index + 1))
        return false;
    memset(out, 0, sizeof *out);
    out->kind = &policy_shard;
    out->values[FIELD_TENSORS] =
        (struct policy_value){.present = true, .words = states, .word_count = index + 1};
    out->values[FIELD_OVER] =
        (struct policy_value){.present = true, .words = over, .word_count = count};
    return true;
}

/* Sharded parameters are gathered into room of their own, sharded states and gradients are not. */
static bool leaner(uint32_t index)
{
    return index < 2;
}

const struct policy policy_shard = {
    .name = "shard",
    .summary = "which of parameters, gradients, optimizer states are spread over ranks",
    .order = 10,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .fits = fits,
    .needed = needed,
    .refuses = refuses,
    .choose = choose,
    .leaner = leaner,
    .rewrite = rewrite,
    .touches = 1u << POLICY_EVENT_FORWARD | 1u << POLICY_EVENT_BACKWARD |
               1u << POLICY_EVENT_GATHER | 1u << POLICY_EVENT_SYNC | 1u << POLICY_EVENT_UPDATE |
               1u << POLICY_EVENT_RESIDENT,
};
