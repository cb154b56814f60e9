/* The policies that Megatron-LM has a flag for, with a word on each that it has none for. */
#include <string.h>

#include "exports/megatron_inside.h"

static const struct diag_place nowhere = {0};

/* The word that a field has, "" where it is absent. */
static const char *word_of(const struct policy_use *use, const char *key)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        if (strcmp(use->kind->fields[i].key, key) == 0)
            return use->values[i].present ? use->kind->fields[i].choices[use->values[i].word] : "";
    }
    return "";
}

static uint64_t count_of(const struct policy_use *use, const char *key, uint64_t absent)
{
    const struct policy_value *value = policy_find_value(use, key);
    return value == NULL || !value->present ? absent : value->count;
}

static bool lists(const struct policy_value *value, const char *word)
{
    for (uint32_t i = 0; value != NULL && value->present && i < value->word_count; i++) {
        if (strcmp(value->words[i], word) == 0)
            return true;
    }
    return false;
}

static bool is_kind(const struct policy_use *use, const char *kind)
{
    return strcmp(use->kind->name, kind) == 0;
}

static const struct policy_use *use_of(const struct plan *plan, const char *kind)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (is_kind(&plan->policies[i], kind))
            return &plan->policies[i];
    }
    return NULL;
}

/* Every field that is present must be one of `known`. */
static bool check_fields(const struct policy_use *use, const char *const *known, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        const char *key = use->kind->fields[i].key;
        uint32_t k = 0;
        while (known[k] != NULL && strcmp(known[k], key) != 0)
            k++;
        if (use->values[i].present && known[k] == NULL)
            good = diag_push(diag, DIAG_X605, nowhere, "leave the field out",
                             "Megatron has no flag for field '%s' of policy '%s'", key,
                             use->kind->name);
    }
    return good;
}

/* --- states over replicas --------------------------------------------------------------------- */

/* Its distributed optimizer spreads over all ranks that sum the same gradients. */
static bool check_over(const struct plan *plan, const struct policy_value *over, struct diag *diag)
{
    static const char *const summed[] = {"dp", "cp"};
    bool good = true;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t degree = plan_find_degree_named(plan, summed[i]);
        if (degree > 1 && !lists(over, summed[i]))
            good = diag_push(diag, DIAG_X605, nowhere, "shard over dp and cp",
                             "Megatron's distributed optimizer spreads over the %u ranks of %s "
                             "too",
                             degree, summed[i]);
    }
    for (uint32_t i = 0; i < over->word_count; i++) {
        if (strcmp(over->words[i], "dp") != 0 && strcmp(over->words[i], "cp") != 0)
            good = diag_push(diag, DIAG_X605, nowhere, "shard over dp and cp",
                             "Megatron's distributed optimizer does not spread over '%s'",
                             over->words[i]);
    }
    return good;
}

static bool check_shard(const struct plan *plan, const struct policy_use *use, struct diag *diag)
{
    static const char *const known[] = {"tensors", "over", "regather", NULL};
    const struct policy_value *tensors = policy_find_value(use, "tensors");
    const uint32_t level = lists(tensors, "parameters") ? 3 : lists(tensors, "gradients") ? 2 : 1;
    bool good = check_fields(use, known, diag);
    if (level > 1)
        good = diag_push(diag, DIAG_X605, nowhere,
                         "shard the optimizer alone (ZeRO level 1), or export to a runtime with "
                         "fully sharded data parallelism",
                         "sharded %s (ZeRO level %u) are not exported: Megatron's distributed "
                         "optimizer shards the optimizer alone",
                         level == 3 ? "parameters" : "gradients", level);
    good &= check_over(plan, policy_find_value(use, "over"), diag);
    return good;
}

bool megatron_shards_optimizer(const struct plan *plan)
{
    return use_of(plan, "shard") != NULL;
}

/* --- activations ------------------------------------------------------------------------------ */

static bool check_keep(const struct policy_use *use, struct diag *diag)
{
    static const char *const known[] = {"what", "granularity", "layers", NULL};
    const char *what = word_of(use, "what");
    if (strcmp(what, "keep") != 0 && strcmp(what, "recompute") != 0)
        return diag_push(diag, DIAG_X605, nowhere, "keep or recompute",
                         "activations that are kept by '%s' are not exported to Megatron", what);
    bool good = check_fields(use, known, diag);
    if (strcmp(word_of(use, "granularity"), "selective") == 0 &&
        count_of(use, "layers", UINT64_MAX) != UINT64_MAX)
        good = diag_push(diag, DIAG_X605, nowhere, "leave the number of layers out",
                         "Megatron recomputes selectively in all layers, not in %llu",
                         (unsigned long long)count_of(use, "layers", 0));
    return good;
}

void megatron_find_recompute(const struct plan *plan, struct megatron_recompute *out)
{
    const struct policy_use *use = use_of(plan, "keep");
    *out = (struct megatron_recompute){.layers = UINT64_MAX};
    if (use == NULL || strcmp(word_of(use, "what"), "recompute") != 0 ||
        strcmp(word_of(use, "granularity"), "none") == 0)
        return;
    out->layers = count_of(use, "layers", UINT64_MAX);
    if (strcmp(word_of(use, "granularity"), "selective") == 0)
        out->granularity = "selective";
    else if (out->layers > 0)
        out->granularity = "full";
}

/* --- replicas --------------------------------------------------------------------------------- */

static bool check_sync(const struct policy_use *use, struct diag *diag)
{
    static const char *const known[] = {"via", "every", "stale", NULL};
    const char *via = word_of(use, "via");
    bool good = check_fields(use, known, diag);
    if ((via[0] != '\0' && strcmp(via, "all-reduce") != 0) || count_of(use, "every", 1) > 1 ||
        count_of(use, "stale", 0) > 0)
        good = diag_push(diag, DIAG_X605, nowhere, "leave policy 'sync' out",
                         "Megatron sums gradients with an all-reduce in every step, at once: via "
                         "'%s', every %llu, stale %llu is not exported",
                         via[0] == '\0' ? "all-reduce" : via,
                         (unsigned long long)count_of(use, "every", 1),
                         (unsigned long long)count_of(use, "stale", 0));
    return good;
}

static bool check_use(const struct plan *plan, const struct policy_use *use, struct diag *diag)
{
    if (is_kind(use, "shard"))
        return check_shard(plan, use, diag);
    if (is_kind(use, "keep"))
        return check_keep(use, diag);
    if (is_kind(use, "sync"))
        return check_sync(use, diag);
    return diag_push(diag, DIAG_X605, nowhere, "take the policy out of the plan",
                     "Megatron has no flag for policy '%s'", use->kind->name);
}

bool megatron_check_policies(const struct problem *problem, const struct plan *plan,
                             struct diag *diag)
{
    bool good = true;
    (void)problem;
    for (uint32_t i = 0; i < plan->policy_count; i++)
        good &= check_use(plan, &plan->policies[i], diag);
    return good;
}
