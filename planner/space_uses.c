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
        shape[2 * i] = node->mesh->degrees[i] > 1;
        shape[2 * i + 1] = node->mesh->variants[i];
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

struct use_list {
    unsigned long long digest;
    struct policy_use *uses;
    struct use_list *next;
};

/* One copy of equal lists: uses are large, and meshes allow the same few. */
static const struct policy_use *keep_uses(struct search *search, struct policy_use *uses,
                                          uint32_t count)
{
    const struct plan plan = {.policies = uses, .policy_count = count};
    const unsigned long long digest = plan_digest(&plan);
    for (const struct use_list *list = search->use_lists; list != NULL; list = list->next) {
        if (list->digest == digest) {
            return list->uses;
        }
    }
    struct use_list *list = ARENA_PUSH(search->arena, struct use_list, 1);
    *list = (struct use_list){digest, ARENA_PUSH(search->arena, struct policy_use, count),
                              search->use_lists};
    memcpy(list->uses, uses, count * sizeof *uses);
    search->use_lists = list;
    return list->uses;
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
    if (kind->choose == NULL || (kind->on_demand && !pins->policy_asked[policy])) {
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
    out->uses = keep_uses(search, uses, out->count - 1);
    if (kind->needed != NULL && kind->needed(search->problem, plan) != NULL) {
        drop_none(out);
    }
    arena_pop(&search->scratch, mark);
}

/* --- numbers in mixed radix ------------------------------------------------------------------- */

/* The digits of policies that change more than the form of layers. */
static uint32_t class_of(const struct alternatives *alternatives, uint32_t number)
{
    uint32_t class = 0, weight = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const uint32_t count = alternatives->options[policy].count;
        if (!policy_table[policy]->only_keeps) {
            class += weight * (number % count);
            weight *= count;
        }
        number /= count;
    }
    return class;
}

static uint32_t number_of(const struct alternatives *alternatives, uint32_t class, uint32_t keeping)
{
    uint32_t number = 0, weight = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const uint32_t count = alternatives->options[policy].count;
        uint32_t *const left = policy_table[policy]->only_keeps ? &keeping : &class;
        number += weight * (*left % count);
        *left /= count;
        weight *= count;
    }
    return number;
}

static bool is_wanted(uint32_t policy, bool class_only)
{
    return !class_only || !policy_table[policy]->only_keeps;
}

static uint32_t gather_uses(const struct alternatives *alternatives, uint32_t number,
                            bool class_only, struct policy_use *out)
{
    uint32_t count = 0;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &alternatives->options[policy];
        const uint32_t option = number % options->count;
        const uint32_t more = option == 0 ? options->pinned_count : 1;
        number /= options->count;
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

/* --- combinations that agree ------------------------------------------------------------------ */

static uint32_t find_number(const struct alternatives *alternatives, uint32_t alternative)
{
    return alternatives->agreeing == NULL ? alternative
                                          : alternatives->agreeing->numbers[alternative];
}

uint32_t space_find_class(const struct alternatives *alternatives, uint32_t alternative)
{
    const uint32_t class = class_of(alternatives, find_number(alternatives, alternative));
    return alternatives->agreeing == NULL ? class : alternatives->agreeing->class_places[class];
}

uint32_t space_count_keepings(const struct alternatives *alternatives, uint32_t class)
{
    return alternatives->agreeing == NULL ? alternatives->keeping_count
                                          : alternatives->agreeing->keeping_counts[class];
}

uint32_t space_find_alternative(const struct alternatives *alternatives, uint32_t class,
                                uint32_t keeping)
{
    const struct agreeing *agreeing = alternatives->agreeing;
    assert(keeping < space_count_keepings(alternatives, class));
    if (agreeing == NULL) {
        return number_of(alternatives, class, keeping);
    }
    const uint32_t *keepings = &agreeing->keepings[class * alternatives->keeping_count];
    return agreeing
        ->places[number_of(alternatives, agreeing->class_numbers[class], keepings[keeping])];
}

uint32_t space_class_uses(const struct alternatives *alternatives, uint32_t class,
                          struct arena *arena, struct policy_use **out)
{
    const uint32_t number =
        find_number(alternatives, space_find_alternative(alternatives, class, 0));
    *out = ARENA_PUSH(arena, struct policy_use, gather_uses(alternatives, number, true, NULL));
    return gather_uses(alternatives, number, true, *out);
}

static uint32_t push_uses(const struct alternatives *alternatives, uint32_t number,
                          struct arena *arena, struct policy_use **out)
{
    *out = ARENA_PUSH(arena, struct policy_use, gather_uses(alternatives, number, false, NULL));
    return gather_uses(alternatives, number, false, *out);
}

uint32_t space_uses(const struct alternatives *alternatives, uint32_t alternative,
                    struct arena *arena, struct policy_use **out)
{
    return push_uses(alternatives, find_number(alternatives, alternative), arena, out);
}

/* Is there a use that asks anything of the others? */
static bool may_disagree(const struct alternatives *list)
{
    bool may = false;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &list->options[policy];
        const bool used = options->count > 1 || options->pinned_count > 0;
        may = may || (used && policy_table[policy]->agrees != NULL);
    }
    return may;
}

static bool do_agree(struct search *search, const struct alternatives *list, uint32_t number,
                     struct plan *plan)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    plan->policy_count = push_uses(list, number, &search->scratch, &plan->policies);
    struct plan_rules rules = {
        .problem = search->problem, .plan = plan, .diag = NULL, .good = true};
    plan_rule_agreement(&rules);
    arena_pop(&search->scratch, mark);
    return rules.good;
}

static uint32_t *push_places(struct search *search, uint32_t count)
{
    uint32_t *places = ARENA_PUSH(search->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) {
        places[i] = NO_INDEX;
    }
    return places;
}

/* Keeps of all products of options those whose uses agree. */
static void sort_out(struct search *search, struct plan *plan, struct alternatives *list)
{
    struct arena *arena = search->arena;
    const uint32_t classes = list->class_count, keepings = list->keeping_count;
    struct agreeing *agreeing = ARENA_PUSH(arena, struct agreeing, 1);
    *agreeing = (struct agreeing){.numbers = ARENA_PUSH(arena, uint32_t, list->count),
                                  .places = push_places(search, list->count),
                                  .class_numbers = ARENA_PUSH(arena, uint32_t, classes),
                                  .class_places = push_places(search, classes),
                                  .keepings = ARENA_PUSH(arena, uint32_t, list->count),
                                  .keeping_counts = ARENA_PUSH(arena, uint32_t, classes)};
    list->class_count = 0;
    for (uint32_t class = 0; class < classes; class ++) {
        uint32_t kept = 0;
        for (uint32_t keeping = 0; keeping < keepings; keeping++) {
            const uint32_t number = number_of(list, class, keeping);
            if (do_agree(search, list, number, plan)) {
                agreeing->keepings[list->class_count * keepings + kept++] = keeping;
                agreeing->places[number] = 0; /* settled below */
            }
        }
        if (kept > 0) {
            agreeing->keeping_counts[list->class_count] = kept;
            agreeing->class_places[class] = list->class_count;
            agreeing->class_numbers[list->class_count++] = class;
        }
    }
    const uint32_t all = list->count;
    list->count = 0;
    for (uint32_t number = 0; number < all; number++) {
        if (agreeing->places[number] != NO_INDEX) {
            agreeing->places[number] = list->count;
            agreeing->numbers[list->count++] = number;
        }
    }
    list->agreeing = agreeing;
}

/* --- lists of alternatives -------------------------------------------------------------------- */

static void fill_classes(struct search *search, struct plan *plan, struct alternatives *list)
{
    list->class_count = list->keeping_count = 1;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        *(policy_table[policy]->only_keeps ? &list->keeping_count : &list->class_count) *=
            list->options[policy].count;
    }
    list->count = list->class_count * list->keeping_count;
    list->class_count = list->count == 0 ? 0 : list->class_count; /* neither without the other */
    list->agreeing = NULL;
    if (list->count > 0 && may_disagree(list)) {
        sort_out(search, plan, list);
    }
    list->class_digests = ARENA_PUSH(search->arena, unsigned long long, list->class_count);
    for (uint32_t class = 0; class < list->class_count; class ++) {
        struct plan used = {.groups = NULL};
        used.policy_count = space_class_uses(list, class, &search->scratch, &used.policies);
        list->class_digests[class] = plan_digest(&used);
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
    struct plan *plan = space_plan(search, node, node->mesh->first_order, &search->scratch);
    plan->schedule.schedule = form->schedule;
    plan->schedule.chunks = form->chunks;
    struct alternatives *list = ARENA_PUSH(search->arena, struct alternatives, 1);
    list->key = key;
    list->next = *bucket;
    *bucket = list;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        fill_options(search, plan, policy, &list->options[policy]);
    }
    fill_classes(search, plan, list);
    arena_pop(&search->scratch, mark);
    return list;
}

bool space_is_fatter(const struct alternatives *alternatives, uint32_t alternative, uint32_t than)
{
    alternative = find_number(alternatives, alternative);
    than = find_number(alternatives, than);
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
