/* States and activations live in the host's memory, brought to the device for the work on them. */
#include <string.h>

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/work.h"

extern const struct policy policy_offload;

static const char *const tensors[] = {"optimizer", "gradients", "parameters", "activations", NULL};
static const char *const tiers[] = {"host", "disk", "neighbour", NULL};

static const struct policy_field fields[] = {
    {.key = "tensors",
     .kind = POLICY_FIELD_WORDS,
     .choices = tensors,
     .required = true,
     .selects = true,
     .summary = "what is moved; a moved optimizer updates on the host's processors"},
    {.key = "tier", .kind = POLICY_FIELD_WORD, .choices = tiers, .summary = "where to"},
    {.key = "share_frac", .kind = POLICY_FIELD_FRACTION, .summary = "how much of it; absent: all"},
    {.key = "prefetch", .kind = POLICY_FIELD_COUNT, .summary = "layers fetched back ahead"},
    {.key = "resident", .kind = POLICY_FIELD_COUNT, .summary = "layers that stay on the device"},
    POLICY_SELECTORS,
};

enum { FIELD_TENSORS, FIELD_TIER, FIELD_SHARE };

/* Text for people only: without a diag the caller wants no more than the answer. */
#define REFUSE(diag, ...) ((diag) != NULL && diag_push((diag), __VA_ARGS__))

static const struct diag_place nowhere = {0};

static const struct runtime_offload *row_of(const struct problem *problem,
                                            const struct policy_use *use)
{
    const struct policy_value *moved = &use->values[FIELD_TENSORS];
    return runtime_find_offload(problem->setup->runtime, moved->words, moved->word_count);
}

/* "optimizer, gradients" */
static const char *list_names(const char *const *names, uint32_t count, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < count && names[i] != NULL; i++)
        text_push(&text, "%s%s", i == 0 ? "" : ",", names[i]);
    return text.bytes;
}

static const char *list_rows(const struct runtime *runtime, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    text_push(&text, runtime->offload_count == 0 ? "leave it out" : "move ");
    for (uint32_t i = 0; i < runtime->offload_count; i++)
        text_push(&text, "%s%s", i == 0 ? "" : " or ",
                  list_names(runtime->offloads[i].tensors, RUNTIME_LIST_MAX, arena));
    return text.bytes;
}

static bool has_host(const struct cluster *cluster)
{
    bool has = true;
    for (uint32_t i = 0; i < cluster->accelerator_count; i++)
        has = has && cluster->accelerators[i].host.memory_bytes > 0;
    return has;
}

static bool fits(const struct problem *problem, const struct plan *plan,
                 const struct policy_use *use, struct diag *diag)
{
    const struct runtime *runtime = problem->setup->runtime;
    const struct policy_value *moved = &use->values[FIELD_TENSORS];
    const struct runtime_offload *row = row_of(problem, use);
    if (!has_host(problem->cluster))
        return REFUSE(diag, DIAG_P426, nowhere,
                      "state \"host\" in the cluster's file, or leave the policy out",
                      "cluster '%s' has no host memory to offload to", problem->cluster->name);
    if (row == NULL)
        return REFUSE(diag, DIAG_P420, nowhere, list_rows(runtime, diag->arena),
                      "runtime '%s' does not move %s to the host", runtime->name,
                      list_names(moved->words, moved->word_count, diag->arena));
    if (row->one_stage && plan_count_stages(plan) > 1)
        return REFUSE(diag, DIAG_P420, nowhere, "use one pipeline stage",
                      "runtime '%s' does not move %s to the host with %u pipeline stages",
                      runtime->name, list_names(moved->words, moved->word_count, diag->arena),
                      plan_count_stages(plan));
    return true;
}

static const struct policy_use *find_use(const struct plan *plan, const char *kind)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (strcmp(plan->policies[i].kind->name, kind) == 0)
            return &plan->policies[i];
    }
    return NULL;
}

static uint32_t level_of(const struct plan *plan)
{
    const struct policy_use *use = find_use(plan, "shard");
    const struct policy_value *states = use == NULL ? NULL : policy_find_value(use, "tensors");
    return states == NULL ? 0 : states->word_count;
}

static bool recomputes(const struct plan *plan)
{
    const struct policy_use *use = find_use(plan, "keep");
    const struct policy_value *what = use == NULL ? NULL : policy_find_value(use, "what");
    const struct policy_value *grain = use == NULL ? NULL : policy_find_value(use, "granularity");
    return what != NULL && what->word == 1 && !(grain != NULL && grain->word == 0);
}

/* The lowest level among those set. */
static uint32_t lowest(uint32_t levels)
{
    uint32_t level = 0;
    while ((levels >> level & 1u) == 0)
        level++;
    return level;
}

static bool agrees(const struct problem *problem, const struct plan *plan,
                   const struct policy_use *use, struct diag *diag)
{
    const struct policy_value *moved = &use->values[FIELD_TENSORS];
    const struct runtime_offload *row = row_of(problem, use);
    const uint32_t level = level_of(plan);
    /* a single copy of the states is as good as shared */
    if (row != NULL && row->zero_levels != 0 && (row->zero_levels >> level & 1u) == 0 &&
        (row->sharded_only || plan_count_copies(problem, plan) > 1))
        return REFUSE(diag, DIAG_P420, nowhere,
                      text_build(diag->arena, "shard them: --zero %u", lowest(row->zero_levels)),
                      "runtime '%s' does not move %s to the host where states are sharded at "
                      "level %u",
                      problem->setup->runtime->name,
                      list_names(moved->words, moved->word_count, diag->arena), level);
    if (row != NULL && row->recompute_only && !recomputes(plan))
        return REFUSE(diag, DIAG_P420, nowhere, "recompute whole layers: --recompute full",
                      "runtime '%s' moves %s to the host beside recomputation alone",
                      problem->setup->runtime->name,
                      list_names(moved->words, moved->word_count, diag->arena));
    if (row != NULL && row->no_recompute && recomputes(plan))
        return REFUSE(diag, DIAG_P420, nowhere, "recompute nothing: --recompute none",
                      "runtime '%s' does not move %s to the host beside recomputation",
                      problem->setup->runtime->name,
                      list_names(moved->words, moved->word_count, diag->arena));
    return true;
}

static bool moves(const struct policy_use *use, const char *name)
{
    const struct policy_value *moved = &use->values[FIELD_TENSORS];
    for (uint32_t i = 0; i < moved->word_count; i++) {
        if (strcmp(moved->words[i], name) == 0)
            return true;
    }
    return false;
}

static const char *refuses(const struct problem *problem, const struct plan *plan,
                           const struct policy_use *use, struct arena *arena)
{
    static const char *const costed[] = {"tensors", "tier", "share_frac", NULL};
    (void)problem;
    (void)plan;
    const uint32_t tier = use->values[FIELD_TIER].word;
    if (use->values[FIELD_TIER].present && tier != 0)
        return text_build(arena, "the judges cannot cost policy 'offload' to tier '%s' yet",
                          tiers[tier]);
    return policy_refuse_fields(use, costed, arena);
}

static void rewrite(const struct policy_use *use, struct work *work)
{
    const struct policy_value *share = &use->values[FIELD_SHARE];
    const double share_frac = share->present ? share->number : 1.0;
    for (uint32_t b = 0; b < work->block_count; b++) {
        for (uint32_t i = 0; i < work->blocks[b].weights_count; i++) {
            struct work_weights *weights = &work->blocks[b].weights[i];
            if (moves(use, "optimizer"))
                weights->host_optimizer_frac = share_frac;
            if (moves(use, "gradients"))
                weights->host_gradient_frac = share_frac;
            if (moves(use, "parameters"))
                weights->host_parameter_frac = share_frac;
        }
    }
    if (moves(use, "activations"))
        work->host_saved_frac = share_frac;
}

/* What the runtime moves together, row by row. */
static bool choose(const struct problem *problem, const struct plan *plan, uint32_t index,
                   struct arena *arena, struct policy_use *out)
{
    const struct runtime *runtime = problem->setup->runtime;
    (void)plan;
    (void)arena;
    if (index >= runtime->offload_count || !has_host(problem->cluster) ||
        !setup_has_backward(problem->setup))
        return false;
    const struct runtime_offload *row = &runtime->offloads[index];
    struct policy_value *moved = &out->values[FIELD_TENSORS];
    memset(out, 0, sizeof *out);
    out->kind = &policy_offload;
    *moved = (struct policy_value){.present = true, .words = row->tensors};
    while (row->tensors[moved->word_count] != NULL)
        moved->word_count++;
    return true;
}

/* Nothing is moved. */
static const char *const identities[] = {
    "{\"kind\": \"offload\", \"tensors\": [\"optimizer\"], \"share_frac\": 0}",
    "{\"kind\": \"offload\", \"tensors\": [\"activations\"], \"share_frac\": 0}",
    NULL,
};

const struct policy policy_offload = {
    .name = "offload",
    .summary = "optimizer states, gradients, parameters, activations in the host's memory",
    .order = 25,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .fits = fits,
    .agrees = agrees,
    .refuses = refuses,
    .choose = choose,
    .on_demand = true,
    .rewrite = rewrite,
    .touches = 1u << POLICY_EVENT_FORWARD | 1u << POLICY_EVENT_BACKWARD |
               1u << POLICY_EVENT_UPDATE | 1u << POLICY_EVENT_RESIDENT | 1u << POLICY_EVENT_SAVED,
    .identities = identities,
};
