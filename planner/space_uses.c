/* Uses of policies that a node allows under a schedule shape. */
#include <assert.h>
#include <string.h>

#include "plan/plan_rule.h"
#include "planner/planner_inside.h"

/* Which ways of using policies a plan allows hangs on: which degrees exceed one, variants,
 * stages, chunks. */
static unsigned long long alternatives_key(const struct mesh_node *node, const struct form *form)
{
    unsigned long long key = TEXT_DIGEST_SEED;
    uint8_t shape[3 * DIM_MAX] = {0};
    for (uint32_t i = 0; i < dim_table_count; i++) {
        shape[2 * i] = node->degrees[i] > 1;
        shape[2 * i + 1] = node->variants[i];
    }
    const uint32_t numbers[2] = {space_count_stages(node), form->chunks};
    key = text_digest(key, shape, sizeof shape);
    return text_digest(key, numbers, sizeof numbers);
}

static bool use_is_legal(const struct search *search, struct plan *plan, struct policy_use *uses,
                         uint32_t count)
{
    plan->policies = uses;
    plan->policy_count = count;
    struct plan_rules rules = {
        .problem = search->problem, .plan = plan, .diag = NULL, .good = true};
    plan_rule_policies(&rules);
    return rules.good;
}

static uint32_t gather_pinned(const struct planner_pins *pins, const struct policy *kind,
                              struct policy_use *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pins->use_count; i++) {
        if (pins->uses[i].kind == kind) {
            out[count++] = pins->uses[i];
        }
    }
    return count;
}

/* Not using the policy is no option: the first use takes its place. */
static void drop_none(struct policy_options *out)
{
    out->count--;
    out->pinned = out->uses;
    out->pinned_count = out->count > 0 ? 1 : 0;
    out->uses++;
    out->leaner++;
}

/* Uses are large, choices mostly few. */
static uint32_t count_choices(struct search *search, const struct plan *plan,
                              const struct policy *kind)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct policy_use *use = ARENA_PUSH(&search->scratch, struct policy_use, 1);
    uint32_t count = 0;
    while (kind->choose(search->problem, plan, count, &search->scratch, use)) {
        count++;
    }
    arena_pop(&search->scratch, mark);
    return count;
}

static void fill_options(struct search *search, struct plan *plan, uint32_t policy,
                         struct policy_options *out)
{
    const struct planner_pins *pins = &search->options->pins;
    const struct policy *kind = policy_table[policy];
    out->count = 1;
    const uint32_t choice = pins->policy_choices[policy];
    if (pins->policy_pinned[policy] || choice > 0) {
        struct policy_use *pinned =
            ARENA_PUSH(search->arena, struct policy_use, pins->use_count + 1);
        out->pinned = pinned;
        out->pinned_count =
            choice == 0 ? gather_pinned(pins, kind, pinned)
            : kind->choose != NULL &&
                    kind->choose(search->problem, plan, choice - 1, search->arena, pinned)
                ? 1
                : 0;
        const bool missing = out->pinned_count == 0 && kind->needed != NULL &&
                             kind->needed(search->problem, plan) != NULL;
        out->count = !missing && use_is_legal(search, plan, pinned, out->pinned_count) ? 1 : 0;
        return;
    }
    if (kind->choose == NULL) {
        return;
    }
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    const uint32_t choices = count_choices(search, plan, kind);
    struct policy_use *uses = ARENA_PUSH(&search->scratch, struct policy_use, choices);
    bool *leaner = ARENA_PUSH(search->arena, bool, choices + 1);
    bool last_kept = true; /* the choice before this one is an option too */
    for (uint32_t i = 0; i < choices; i++) {
        struct policy_use *use = &uses[out->count - 1];
        (void)kind->choose(search->problem, plan, i, search->arena, use);
        leaner[out->count] = last_kept && kind->leaner != NULL && kind->leaner(i);
        last_kept = use_is_legal(search, plan, use, 1);
        out->count += last_kept ? 1 : 0;
    }
    out->leaner = leaner;
    struct policy_use *kept = ARENA_PUSH(search->arena, struct policy_use, out->count - 1);
    memcpy(kept, uses, (out->count - 1) * sizeof *kept);
    out->uses = kept;
    if (kind->needed != NULL && kind->needed(search->problem, plan) != NULL) {
        drop_none(out);
    }
    arena_pop(&search->scratch, mark);
}

/* --- classes: the digits of policies that change more than the form of layers ----------------- */

uint32_t space_find_class(const struct alternatives *alternatives, uint32_t alternative)
{
    uint32_t class = 0, weight = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const uint32_t count = alternatives->options[policy].count;
        if (!policy_table[policy]->only_keeps) {
            class += weight * (alternative % count);
            weight *= count;
        }
        alternative /= count;
    }
    return class;
}

uint32_t space_find_alternative(const struct alternatives *alternatives, uint32_t class,
                                uint32_t keeping)
{
    uint32_t alternative = 0, weight = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const uint32_t count = alternatives->options[policy].count;
        uint32_t *const left = policy_table[policy]->only_keeps ? &keeping : &class;
        alternative += weight * (*left % count);
        *left /= count;
        weight *= count;
    }
    return alternative;
}

static bool is_wanted(uint32_t policy, bool class_only)
{
    return !class_only || !policy_table[policy]->only_keeps;
}

static uint32_t gather_uses(const struct alternatives *alternatives, uint32_t alternative,
                            bool class_only, struct policy_use *out)
{
    uint32_t count = 0;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &alternatives->options[policy];
        const uint32_t option = alternative % options->count;
        const uint32_t more = option == 0 ? options->pinned_count : 1;
        alternative /= options->count;
        if (!is_wanted(policy, class_only)) {
            continue;
        }
        if (out != NULL && more > 0) {
            memcpy(&out[count], option == 0 ? options->pinned : &options->uses[option - 1],
                   more * sizeof *out);
        }
        count += more;
    }
    return count;
}

uint32_t space_class_uses(const struct alternatives *alternatives, uint32_t class,
                          struct arena *arena, struct policy_use **out)
{
    const uint32_t alternative = space_find_alternative(alternatives, class, 0);
    *out = ARENA_PUSH(arena, struct policy_use, gather_uses(alternatives, alternative, true, NULL));
    return gather_uses(alternatives, alternative, true, *out);
}

uint32_t space_uses(const struct alternatives *alternatives, uint32_t alternative,
                    struct arena *arena, struct policy_use **out)
{
    *out =
        ARENA_PUSH(arena, struct policy_use, gather_uses(alternatives, alternative, false, NULL));
    return gather_uses(alternatives, alternative, false, *out);
}

/* --- lists of alternatives -------------------------------------------------------------------- */

static void fill_classes(struct search *search, struct alternatives *list)
{
    list->class_count = list->keeping_count = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        *(policy_table[policy]->only_keeps ? &list->keeping_count : &list->class_count) *=
            list->options[policy].count;
    }
    list->count = list->class_count * list->keeping_count;
    list->class_count = list->count == 0 ? 0 : list->class_count; /* neither without the other */
    list->class_digests = ARENA_PUSH(search->arena, unsigned long long, list->class_count);
    for (uint32_t class = 0; class < list->class_count; class ++) {
        struct plan plan = {.groups = NULL};
        plan.policy_count = space_class_uses(list, class, &search->scratch, &plan.policies);
        list->class_digests[class] = plan_digest(&plan);
    }
}

const struct alternatives *space_alternatives(struct search *search, const struct mesh_node *node,
                                              const struct form *form)
{
    const unsigned long long key = alternatives_key(node, form);
    struct alternatives **bucket = &search->alternatives[key % TABLE_BUCKETS];
    for (const struct alternatives *list = *bucket; list != NULL; list = list->next) {
        if (list->key == key) {
            return list;
        }
    }
    assert(policy_table_count <= PLANNER_POLICY_MAX);
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct plan *plan = space_plan(search, node, node->first_order, &search->scratch);
    plan->schedule.schedule = form->schedule;
    plan->schedule.chunks = form->chunks;
    struct alternatives *list = ARENA_PUSH(search->arena, struct alternatives, 1);
    list->key = key;
    list->next = *bucket;
    *bucket = list;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        fill_options(search, plan, policy, &list->options[policy]);
    }
    fill_classes(search, list);
    arena_pop(&search->scratch, mark);
    return list;
}

bool space_is_fatter(const struct alternatives *alternatives, uint32_t alternative, uint32_t than)
{
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &alternatives->options[policy];
        uint32_t option = alternative % options->count;
        const uint32_t lean = than % options->count;
        alternative /= options->count;
        than /= options->count;
        while (option < lean && options->leaner[option + 1]) {
            option++;
        }
        if (option != lean) {
            return false;
        }
    }
    return true;
}
