/* Schedule shapes that the stages of a node can run. */
#include <assert.h>
#include <string.h>

#include "plan/plan_rule.h"
#include "planner/planner_inside.h"

uint32_t space_count_stages(const struct mesh_node *node)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        if (dim_table[i]->cuts_chain) {
            return node->mesh->degrees[i];
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

/* More chunks per stage are tried only where they are asked for: bubbles shrink with their number,
 * those of so many are no more than a few sends long. */
#define CHUNKS_TRIED 64u

static uint32_t most_chunks(const struct search *search, const struct schedule *schedule,
                            uint32_t stages)
{
    const uint32_t most = search->layers / stages;
    const bool asked = search->options->pins.chunks != 0;
    return !schedule->chunked ? 1 : asked || most < CHUNKS_TRIED ? most : CHUNKS_TRIED;
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

/* Rare schedules are searched where the runtime names them; what it does not run is not legal. */
static bool is_searched(const struct search *search, const struct schedule *schedule)
{
    const struct schedule *pinned = search->options->pins.schedule;
    return pinned != NULL
               ? schedule == pinned
               : !schedule->on_demand ||
                     runtime_lists_schedule(search->problem->setup->runtime, schedule->name);
}

/* Is the model never cut into stages? */
static bool has_one_stage(const struct planner_pins *pins)
{
    bool one = false;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        one = one || (dim_table[i]->cuts_chain && pins->degrees[i] == 1);
    }
    return one;
}

uint32_t space_schedules_left(const struct search *search)
{
    const struct planner_pins *pins = &search->options->pins;
    uint32_t left = 0;
    for (uint32_t i = 0; i < schedule_table_count && pins->schedule == NULL; i++) {
        if (!is_searched(search, schedule_table[i]) &&
            runtime_accepts_schedule(search->problem->setup->runtime, schedule_table[i]->name)) {
            left |= 1u << i;
        }
    }
    return has_one_stage(pins) ? 0 : left;
}

static void fill_forms(struct search *search, const struct mesh_node *node, struct forms *forms)
{
    const struct arena_mark mark = arena_find_mark(&search->scratch);
    struct plan *plan = space_plan(search, node, node->mesh->first_order, &search->scratch);
    forms->items = ARENA_PUSH(search->arena, struct form,
                              schedule_table_count * (1 + search->layers / forms->stages));
    for (uint32_t i = 0; i < schedule_table_count; i++) {
        const struct schedule *schedule = schedule_table[i];
        const uint32_t most = most_chunks(search, schedule, forms->stages);
        if (!is_searched(search, schedule)) {
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
    const uint32_t stages = space_count_stages(node);
    const uint32_t micro_batches = (uint32_t)(search->problem->setup->global_batch /
                                              (node->mesh->replicas * node->micro_batch));
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
