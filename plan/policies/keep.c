/* What the backward pass needs is kept, made again or packed. */
#include <string.h>

#include "plan/plan.h"
#include "plan/policy.h"
#include "plan/work.h"

extern const struct policy policy_keep;

static const char *const whats[] = {"keep", "recompute", "compress", NULL};
static const char *const granularities[] = {"none", "selective", "full", "latents", NULL};

static const struct policy_field fields[] = {
    {.key = "what",
     .kind = POLICY_FIELD_WORD,
     .choices = whats,
     .required = true,
     .summary = "what happens to them"},
    {.key = "granularity",
     .kind = POLICY_FIELD_WORD,
     .choices = granularities,
     .summary = "recomputation of nothing, of the attention core, of whole layers, of what is made "
                "from latents"},
    {.key = "layers",
     .kind = POLICY_FIELD_COUNT,
     .summary = "layers per stage chunk, the first ones; absent: all"},
    {.key = "ratio",
     .kind = POLICY_FIELD_NUMBER,
     .summary = "size before over size after compression"},
    {.key = "bits", .kind = POLICY_FIELD_COUNT, .summary = "bits per element kept"},
    POLICY_SELECTOR_TENSORS,
    POLICY_SELECTORS,
};

enum { WHAT_KEEP, WHAT_RECOMPUTE };
enum { GRAIN_NONE, GRAIN_SELECTIVE, GRAIN_FULL, GRAIN_LATENTS };

enum { FIELD_WHAT, FIELD_GRANULARITY, FIELD_LAYERS };

/* Text for people only: without a diag the caller wants no more than the answer. */
#define REFUSE(diag, ...) ((diag) != NULL && diag_push((diag), __VA_ARGS__))

/* What the runtimes' lists call it; NULL: nothing is recomputed. */
static const char *kind_of(const struct plan *plan, const struct problem *problem,
                           const struct policy_use *use)
{
    const struct policy_value *granularity = &use->values[FIELD_GRANULARITY];
    const struct policy_value *layers = &use->values[FIELD_LAYERS];
    const uint64_t chunks = (uint64_t)plan_count_stages(plan) * plan->schedule.chunks;
    if (use->values[FIELD_WHAT].word != WHAT_RECOMPUTE ||
        (granularity->present && granularity->word == GRAIN_NONE))
        return NULL;
    if (granularity->present && granularity->word != GRAIN_FULL)
        return granularities[granularity->word];
    const uint32_t model_layers = plan_count_layers(problem->model);
    const uint64_t most = chunks == 0 ? model_layers : (model_layers + chunks - 1) / chunks;
    return layers->present && layers->count < most ? "first-layers" : granularities[2];
}

static bool fits(const struct problem *problem, const struct plan *plan,
                 const struct policy_use *use, struct diag *diag)
{
    const struct runtime *runtime = problem->setup->runtime;
    const char *kind = kind_of(plan, problem, use);
    if (kind == NULL || runtime_accepts_recompute(runtime, kind))
        return true;
    return REFUSE(diag, DIAG_P420, (struct diag_place){0}, "recompute whole layers, all of them",
                  "runtime '%s' has no recomputation '%s'", runtime->name, kind);
}

static const char *refuses(const struct problem *problem, const struct plan *plan,
                           const struct policy_use *use, struct arena *arena)
{
    static const char *const costed[] = {"what", "granularity", "layers", NULL};
    (void)plan;
    const uint32_t what = use->values[FIELD_WHAT].word;
    if (what != WHAT_KEEP && what != WHAT_RECOMPUTE)
        return text_build(arena, "the judges cannot cost policy 'keep' with what '%s' yet",
                          whats[what]);
    if (use->values[FIELD_GRANULARITY].present &&
        use->values[FIELD_GRANULARITY].word == GRAIN_LATENTS && !model_has_latents(problem->model))
        return text_build(arena, "model '%s' has no latents to recompute from",
                          problem->model->name);
    return policy_refuse_fields(use, costed, arena);
}

/* Layers in their recomputed form; the blocks for it are made after this. */
static void rewrite(const struct policy_use *use, struct work *work)
{
    const struct policy_value *granularity = &use->values[FIELD_GRANULARITY];
    const struct policy_value *layers = &use->values[FIELD_LAYERS];
    if (use->values[FIELD_WHAT].word != WHAT_RECOMPUTE)
        return;
    static const enum work_keep forms[] = {KEEP_ALL, KEEP_SELECTIVE, KEEP_BOUNDARY, KEEP_LATENTS};
    work->keep = forms[granularity->present ? granularity->word : GRAIN_FULL];
    work->recompute_layers = layers->present ? (uint32_t)layers->count : UINT32_MAX;
}

/* The attention core, then whole layers: one per chunk, two, up to all that the fullest chunk can
 * have. */
static bool choose(const struct problem *problem, const struct plan *plan, uint32_t index,
                   struct arena *arena, struct policy_use *out)
{
    (void)arena;
    const uint32_t chunks = plan_count_stages(plan) * plan->schedule.chunks;
    const uint32_t most = (plan_count_layers(problem->model) + chunks - 1) / chunks;
    if (index > most || !setup_has_backward(problem->setup))
        return false;
    memset(out, 0, sizeof *out);
    out->kind = &policy_keep;
    out->values[FIELD_WHAT] = (struct policy_value){.present = true, .word = WHAT_RECOMPUTE};
    out->values[FIELD_GRANULARITY] =
        (struct policy_value){.present = true, .word = index == 0 ? 1 : 2};
    out->values[FIELD_LAYERS] = (struct policy_value){.present = index > 0, .count = index};
    return true;
}

/* Less is saved each time; only the first recomputed layer brings the room in which it is made
 * again. */
static bool leaner(uint32_t index)
{
    return index != 1;
}

/* All is kept anyway. */
static const char *const identities[] = {
    "{\"kind\": \"keep\", \"what\": \"keep\"}",
    "{\"kind\": \"keep\", \"what\": \"recompute\", \"granularity\": \"none\"}",
    NULL,
};

const struct policy policy_keep = {
    .name = "keep",
    .summary = "activations or states kept, recomputed, compressed",
    .order = 20,
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
    .fits = fits,
    .refuses = refuses,
    .choose = choose,
    .leaner = leaner,
    .only_keeps = true,
    .rewrite = rewrite,
    .touches = 1u << POLICY_EVENT_SAVED,
    .identities = identities,
};
