/* A plan in the words of its flags. */
#include <string.h>

#include "tools/plan_flags.h"

static const struct policy_use *find_use(const struct plan *plan, const char *policy)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (strcmp(plan->policies[i].kind->name, policy) == 0 &&
            plan_flags_has_words(&plan->policies[i])) {
            return &plan->policies[i];
        }
    }
    return NULL;
}

static uint32_t zero_of(const struct plan *plan)
{
    const struct policy_use *use = find_use(plan, PLAN_FLAGS_ZERO_POLICY);
    const struct policy_value *states = use == NULL ? NULL : policy_find_value(use, "tensors");
    return states == NULL ? 0 : states->word_count;
}

static const char *recompute_of(const struct plan *plan, struct arena *arena)
{
    const struct policy_use *use = find_use(plan, PLAN_FLAGS_KEEP_POLICY);
    const struct policy_value *granularity =
        use == NULL ? NULL : policy_find_value(use, "granularity");
    const struct policy_value *layers = use == NULL ? NULL : policy_find_value(use, "layers");
    if (use == NULL || (granularity != NULL && granularity->word == 0)) {
        return "none";
    }
    if (granularity != NULL && granularity->word != 2) {
        return granularity->word == 1 ? "selective" : "latents";
    }
    return layers == NULL ? "full"
                          : text_build(arena, "full:%llu", (unsigned long long)layers->count);
}

static uint32_t variant_of(const struct plan *plan, const struct dim *dim)
{
    for (uint32_t i = 0; i < plan->groups[0].mesh_count; i++) {
        if (plan->groups[0].mesh[i].dim == dim) {
            return plan->groups[0].mesh[i].variant;
        }
    }
    return 0;
}

void plan_flags_describe(const struct plan *plan, struct arena *arena, struct plan_words *out)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        out->degrees[i] = plan_find_degree(plan, dim_table[i]);
        out->variants[i] = variant_of(plan, dim_table[i]);
    }
    out->zero = zero_of(plan);
    out->recompute = recompute_of(plan, arena);
    out->offload = plan_flags_offload(plan, arena);
}

static uint32_t place_of(const struct mesh_dim *mesh, const struct runtime *runtime)
{
    return runtime_find_place(runtime, mesh->dim->name, mesh->dim->order);
}

bool plan_flags_is_default_order(const struct plan *plan, const struct runtime *runtime)
{
    const struct group *group = &plan->groups[0];
    for (uint32_t i = 1; i < group->mesh_count; i++) {
        if (group->mesh[i].dim == NULL || group->mesh[i - 1].dim == NULL ||
            place_of(&group->mesh[i], runtime) < place_of(&group->mesh[i - 1], runtime)) {
            return false;
        }
    }
    return true;
}

/* Dimensions that are said even where their degree is 1: what everyone looks for first. */
static bool is_always_said(const struct dim *dim)
{
    static const char *const said[] = {"tp", "dp", "pp"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        if (strcmp(dim->name, said[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void push_dim(const struct dim *dim, const struct plan_words *words, uint32_t index,
                     struct text *out)
{
    const uint32_t degree = words->degrees[index];
    if (degree <= 1 && !is_always_said(dim)) {
        return;
    }
    text_push(out, out->length > 0 ? " " : "");
    if (dim->on_or_off) {
        text_push(out, "%s", dim->flag);
    } else {
        text_push(out, "%s %u", dim->flag, degree);
    }
    if (dim->variant_count > 1 && degree > 1) {
        text_push(out, " %s-type %s", dim->flag, dim->variants[words->variants[index]].name);
    }
}

static void push_order(const struct plan *plan, struct text *out)
{
    const struct group *group = &plan->groups[0];
    text_push(out, " --rank-order");
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        text_push(out, "%c%s", i == 0 ? ' ' : ',',
                  group->mesh[i].dim != NULL ? group->mesh[i].dim->name : group->mesh[i].declared);
    }
}

void plan_flags_dump(const struct plan *plan, const struct runtime *runtime, struct arena *arena,
                     struct text *out)
{
    struct plan_words words;
    plan_flags_describe(plan, arena, &words);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        push_dim(dim_table[i], &words, i, out);
    }
    const struct plan_schedule *schedule = &plan->schedule;
    text_push(out, " --micro-batch-size %u", schedule->micro_batch);
    if (schedule->chunks > 1) {
        text_push(out, " --vpp %u", schedule->chunks);
    }
    if (schedule->schedule != NULL) {
        text_push(out, " --schedule %s", schedule->schedule->name);
    }
    text_push(out, " --zero %u --recompute %s", words.zero, words.recompute);
    if (strcmp(words.offload, "none") != 0) {
        text_push(out, " %s %s", PLAN_FLAGS_OFFLOAD, words.offload);
    }
    plan_flags_dump_uses(plan, arena, out);
    if (!plan_flags_is_default_order(plan, runtime)) {
        push_order(plan, out);
    }
    plan_flags_dump_places(plan, out);
}
