/* Under a node: schedule shapes that its stages can run, uses of policies that it allows. */
#include <assert.h>
#include <string.h>

#include "plan/plan_rule.h"
#include "planner/planner_inside.h"

static uint32_t stages_of(const struct mesh_node *node)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->cuts_chain) {
            return node->degrees[i];
        }
    }
    return 1;
}

static bool form_is_legal(const struct search *search, struct plan *plan, const struct form *form)
{
    plan->schedule.schedule = form->schedule;
    plan->schedule.chunks = form->chunks;
    struct plan_rules rules = {
        .problem = search->problem, .plan = plan, .diag = NULL, .good = true};
    plan_rule_schedule(&rules);
    return rules.good;
}

static uint32_t most_chunks(const struct search *search, const struct schedule *schedule,
                            uint32_t stages)
{
    return schedule->chunked ? search->layers / stages : 1;
}

static void add_form(const struct search *search, struct plan *plan, const struct form *form,
                     struct forms *forms)
{
    const uint32_t pinned = search->options->pins.chunks;
    if ((pinned != 0 && pinned != form->chunks) || !form_is_legal(search, plan, form)) {
        return;
    }
    forms->items[forms->count++] = *form;
    forms->most_chunks = form->chunks > forms->most_chunks ? form->chunks : forms->most_chunks;
    forms->splits = forms->splits || form->schedule->splits;
}

static void fill_forms(struct search *search, const struct mesh_node *node, struct forms *forms)
{
    const struct planner_pins *pins = &search->options->pins;
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct plan *plan = space_plan(node, node->first_order, &search->scratch);
    forms->items = ARENA_PUSH(search->arena, struct form,
                              schedule_table_count * (1 + search->layers / forms->stages));
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        const struct schedule *schedule = schedule_table[i];
        const uint32_t most = most_chunks(search, schedule, forms->stages);
        const bool listed = search->problem->setup->runtime->schedules[0] != NULL;
        if (pins->schedule != NULL ? pins->schedule != schedule : schedule->on_demand && !listed) {
            continue;
        }
        for (uint32_t chunks = schedule->chunked ? 2 : 1; chunks <= most; chunks++) {
            const struct form form = {schedule, chunks};
            add_form(search, plan, &form, forms);
        }
    }
    arena_pop(&search->scratch, mark);
}

const struct forms *space_forms(struct search *search, const struct mesh_node *node)
{
    const uint32_t stages = stages_of(node);
    const uint32_t micro_batches =
        (uint32_t)(search->problem->setup->global_batch / (node->replicas * node->micro_batch));
    struct forms **bucket = &search->forms[(stages * 31u + micro_batches) % TABLE_BUCKETS];
    for (const struct forms *forms = *bucket; forms != NULL; forms = forms->next) {
        if (forms->stages == stages && forms->micro_batches == micro_batches) {
            return forms;
        }
    }
    struct forms *forms = ARENA_PUSH(search->arena, struct forms, 1);
    *forms = (struct forms){.stages = stages, .micro_batches = micro_batches, .next = *bucket};
    *bucket = forms;
    fill_forms(search, node, forms);
    return forms;
}

/* --- alternatives ----------------------------------------------------------------------------- */

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
    const uint32_t numbers[2] = {stages_of(node), form->chunks};
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
    struct policy_use *uses = ARENA_PUSH(&search->scratch, struct policy_use, search->layers + 8);
    bool *leaner = ARENA_PUSH(search->arena, bool, search->layers + 9);
    bool last_kept = true; /* the choice before this one is an option too */
    for (uint32_t i = 0; out->count <= search->layers + 8; i++) {
        struct policy_use *use = &uses[out->count - 1];
        if (!kind->choose(search->problem, plan, i, search->arena, use)) {
            break;
        }
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
    struct plan *plan = space_plan(node, node->first_order, &search->scratch);
    plan->schedule.schedule = form->schedule;
    plan->schedule.chunks = form->chunks;
    struct alternatives *list = ARENA_PUSH(search->arena, struct alternatives, 1);
    list->key = key;
    list->next = *bucket;
    list->count = 1;
    *bucket = list;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        fill_options(search, plan, policy, &list->options[policy]);
        list->count *= list->options[policy].count;
    }
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

static uint32_t count_uses(const struct alternatives *alternatives, uint32_t alternative)
{
    uint32_t count = 0;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &alternatives->options[policy];
        count += alternative % options->count == 0 ? options->pinned_count : 1;
        alternative /= options->count;
    }
    return count;
}

uint32_t space_uses(const struct alternatives *alternatives, uint32_t alternative,
                    struct arena *arena, struct policy_use **out)
{
    const uint32_t room = count_uses(alternatives, alternative);
    struct policy_use *uses = ARENA_PUSH(arena, struct policy_use, room);
    uint32_t count = 0;
    for (uint32_t policy = 0; policy < policy_table_count; policy++) {
        const struct policy_options *options = &alternatives->options[policy];
        const uint32_t option = alternative % options->count;
        alternative /= options->count;
        const uint32_t more = option == 0 ? options->pinned_count : 1;
        if (more > 0) {
            memcpy(&uses[count], option == 0 ? options->pinned : &options->uses[option - 1],
                   more * sizeof *uses);
        }
        count += more;
    }
    assert(count == room);
    *out = uses;
    return count;
}
