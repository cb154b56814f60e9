/* Sharded states, recomputation: what targets have words for; each other policy is refused. */
#include <string.h>

#include "exports/express.h"

static const struct diag_place nowhere = {0};

/* Who asks, and of what. */
struct asked {
    const struct plan *plan;
    const char *target;
    struct diag *diag;
};

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
static bool check_fields(const struct asked *asked, const struct policy_use *use,
                         const char *const *known)
{
    bool good = true;
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        const char *key = use->kind->fields[i].key;
        if (use->values[i].present && !express_is_one_of(key, known))
            good = diag_push(asked->diag, DIAG_X605, nowhere, "leave the field out",
                             "%s has no flag for field '%s' of policy '%s'", asked->target, key,
                             use->kind->name);
    }
    return good;
}

/* --- states ----------------------------------------------------------------------------------- */

static uint32_t level_of(const struct policy_use *use)
{
    const struct policy_value *tensors = policy_find_value(use, "tensors");
    return lists(tensors, "parameters") ? 3 : lists(tensors, "gradients") ? 2 : 1;
}

/* Over all ranks that sum the same gradients, no others. */
static bool check_over(const struct asked *asked, const struct policy_value *over)
{
    static const char *const summed[] = {"dp", "cp", NULL};
    bool good = true;
    for (uint32_t i = 0; summed[i] != NULL; i++) {
        const uint32_t degree = plan_find_degree_named(asked->plan, summed[i]);
        if (degree > 1 && !lists(over, summed[i]))
            good = diag_push(asked->diag, DIAG_X605, nowhere, "shard over dp and cp",
                             "%s spreads states over the %u ranks of %s too", asked->target, degree,
                             summed[i]);
    }
    for (uint32_t i = 0; i < over->word_count; i++) {
        if (!express_is_one_of(over->words[i], summed))
            good = diag_push(asked->diag, DIAG_X605, nowhere, "shard over dp and cp",
                             "%s does not spread states over '%s'", asked->target, over->words[i]);
    }
    return good;
}

static bool check_shard(const struct asked *asked, const struct policy_use *use, uint32_t most,
                        const char *instead)
{
    static const char *const known[] = {"tensors", "over", "regather", NULL};
    const uint32_t level = level_of(use);
    bool good = check_fields(asked, use, known);
    if (level > most)
        good = diag_push(asked->diag, DIAG_X605, nowhere, instead,
                         "sharded %s (ZeRO level %u) are not exported to %s",
                         level == 3 ? "parameters" : "gradients", level, asked->target);
    good &= check_over(asked, policy_find_value(use, "over"));
    return good;
}

/* --- activations ------------------------------------------------------------------------------ */

static bool check_keep(const struct asked *asked, const struct policy_use *use)
{
    static const char *const known[] = {"what", "granularity", "layers", NULL};
    const char *what = word_of(use, "what");
    if (strcmp(what, "keep") != 0 && strcmp(what, "recompute") != 0)
        return diag_push(asked->diag, DIAG_X605, nowhere, "keep or recompute",
                         "activations that are kept by '%s' are not exported to %s", what,
                         asked->target);
    bool good = check_fields(asked, use, known);
    const char *granularity = word_of(use, "granularity");
    if (granularity[0] != '\0' && strcmp(granularity, "full") != 0 &&
        count_of(use, "layers", UINT64_MAX) != UINT64_MAX)
        good = diag_push(asked->diag, DIAG_X605, nowhere, "leave the number of layers out",
                         "%s recomputes selectively in all layers, not in %llu", asked->target,
                         (unsigned long long)count_of(use, "layers", 0));
    return good;
}

/* --- replicas --------------------------------------------------------------------------------- */

static bool check_sync(const struct asked *asked, const struct policy_use *use)
{
    static const char *const known[] = {"via", "every", "stale", NULL};
    const char *via = word_of(use, "via");
    bool good = check_fields(asked, use, known);
    if ((via[0] != '\0' && strcmp(via, "all-reduce") != 0) || count_of(use, "every", 1) > 1 ||
        count_of(use, "stale", 0) > 0)
        good = diag_push(asked->diag, DIAG_X605, nowhere, "leave policy 'sync' out",
                         "%s sums gradients with an all-reduce in every step, at once: via '%s', "
                         "every %llu, stale %llu is not exported",
                         asked->target, via[0] == '\0' ? "all-reduce" : via,
                         (unsigned long long)count_of(use, "every", 1),
                         (unsigned long long)count_of(use, "stale", 0));
    return good;
}

static const struct express_move *find_move(const struct express_move *moves,
                                            const struct policy_value *tensors)
{
    for (uint32_t i = 0; moves != NULL && moves[i].tensors[0] != NULL; i++) {
        bool same = true;
        for (uint32_t k = 0; k < tensors->word_count; k++)
            same = same && express_is_one_of(tensors->words[k], moves[i].tensors);
        for (uint32_t k = 0; moves[i].tensors[k] != NULL; k++)
            same = same && lists(tensors, moves[i].tensors[k]);
        if (same)
            return &moves[i];
    }
    return NULL;
}

static const char *list_words(const struct policy_value *tensors, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < tensors->word_count; i++)
        text_push(&text, "%s%s", i == 0 ? "" : ", ", tensors->words[i]);
    return text.bytes;
}

static bool check_offload(const struct asked *asked, const struct policy_use *use,
                          const struct express_move *moves)
{
    static const char *const known[] = {"tensors", "tier", "share_frac", NULL};
    const struct policy_value *tensors = policy_find_value(use, "tensors");
    const struct policy_value *share = policy_find_value(use, "share_frac");
    const struct express_move *move = find_move(moves, tensors);
    const char *words = list_words(tensors, asked->diag->arena), *tier = word_of(use, "tier");
    struct express_states states;
    bool good = check_fields(asked, use, known);
    express_find_states(asked->plan, &states);
    if (move == NULL || (tier[0] != '\0' && strcmp(tier, "host") != 0))
        return diag_push(asked->diag, DIAG_X605, nowhere, "take policy 'offload' out of the plan",
                         "%s has no flag that moves %s, these alone, to the %s", asked->target,
                         words, tier[0] == '\0' ? "host" : tier);
    if (share != NULL && share->number < 1.0 && !move->parts)
        good = diag_push(asked->diag, DIAG_X605, nowhere, "leave share_frac out",
                         "%s moves all of %s to the host, not %g of it", asked->target, words,
                         share->number);
    if (states.zero < move->zero &&
        plan_find_degree_named(asked->plan, "dp") * plan_find_degree_named(asked->plan, "cp") > 1)
        good = diag_push(asked->diag, DIAG_X605, nowhere,
                         text_build(asked->diag->arena, "ZeRO level %u", move->zero),
                         "%s moves %s to the host from ZeRO level %u on, not at %u", asked->target,
                         words, move->zero, states.zero);
    return good;
}

double express_find_moved(const struct plan *plan, const char *tensors)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        const struct policy_use *use = &plan->policies[i];
        if (is_kind(use, "offload") && lists(policy_find_value(use, "tensors"), tensors)) {
            const struct policy_value *share = policy_find_value(use, "share_frac");
            return share == NULL ? 1.0 : share->number;
        }
    }
    return 0.0;
}

void express_find_states(const struct plan *plan, struct express_states *out)
{
    const struct policy_use *shard = use_of(plan, "shard"), *keep = use_of(plan, "keep");
    *out =
        (struct express_states){.zero = shard == NULL ? 0 : level_of(shard), .layers = UINT64_MAX};
    if (keep == NULL || strcmp(word_of(keep, "what"), "recompute") != 0 ||
        strcmp(word_of(keep, "granularity"), "none") == 0)
        return;
    out->layers = count_of(keep, "layers", UINT64_MAX);
    if (strcmp(word_of(keep, "granularity"), "selective") == 0 ||
        strcmp(word_of(keep, "granularity"), "latents") == 0)
        out->granularity = word_of(keep, "granularity");
    else if (out->layers > 0)
        out->granularity = "full";
}

bool express_policies(const struct plan *plan, const char *target, uint32_t most,
                      const char *instead, const struct express_move *moves, struct diag *diag)
{
    const struct asked asked = {.plan = plan, .target = target, .diag = diag};
    bool good = true;
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        const struct policy_use *use = &plan->policies[i];
        if (is_kind(use, "shard"))
            good &= check_shard(&asked, use, most, instead);
        else if (is_kind(use, "keep"))
            good &= check_keep(&asked, use);
        else if (is_kind(use, "sync"))
            good &= check_sync(&asked, use);
        else if (is_kind(use, "offload"))
            good &= check_offload(&asked, use, moves);
        else
            good = diag_push(diag, DIAG_X605, nowhere, "take the policy out of the plan",
                             "%s has no flag for policy '%s'", target, use->kind->name);
    }
    return good;
}
