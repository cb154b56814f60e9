/* A strategy is asked for plans; each is checked, judged, and the best is kept. */
#include "planner/strategy.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan_rule.h"

const struct strategy *strategy_find(const char *name)
{
    for (uint32_t i = 0; i < strategy_table_count; i++) {
        if (strcmp(strategy_table[i]->name, name) == 0) {
            return strategy_table[i];
        }
    }
    return NULL;
}

/* Generated beside the table. */
extern const char *const strategy_table_names[];

const char *const *strategy_names(void)
{
    return strategy_table_names;
}

/* --- pins ------------------------------------------------------------------------------------- */

static const char *text_of(const struct policy_use *use, struct arena *arena)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, arena);
    json_writer_init(&writer, &text, false);
    policy_dump(use, &writer);
    return text.bytes;
}

static bool has_degrees(const struct planner_pins *pins, const struct plan *plan)
{
    for (uint32_t i = 0; i < dim_table_count; i++) {
        const uint32_t degree = plan_find_degree(plan, dim_table[i]), pin = pins->degrees[i];
        if (pin != PIN_SEARCH && (pin == PIN_ON ? degree == 1 : degree != pin)) {
            return false;
        }
        for (uint32_t k = 0; k < plan->groups[0].mesh_count; k++) {
            const struct mesh_dim *mesh = &plan->groups[0].mesh[k];
            if (mesh->dim == dim_table[i] && pins->variants[i] != PIN_ANY &&
                pins->variants[i] != mesh->variant) {
                return false;
            }
        }
    }
    return true;
}

/* Uses of that kind, in one text. */
static const char *list_uses(const struct policy *kind, const struct policy_use *uses,
                             uint32_t count, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; i < count; i++) {
        if (uses[i].kind == kind) {
            text_push(&text, "%s\n", text_of(&uses[i], arena));
        }
    }
    return text.bytes;
}

static bool has_uses(const struct strategy_case *of, const struct plan *plan, uint32_t index,
                     struct arena *arena)
{
    const struct planner_pins *pins = of->pins;
    const struct policy *kind = policy_table[index];
    const char *own = list_uses(kind, plan->policies, plan->policy_count, arena);
    struct policy_use use;
    if (pins->policy_pinned[index]) {
        return strcmp(own, list_uses(kind, pins->uses, pins->use_count, arena)) == 0;
    }
    if (pins->policy_choices[index] == 0) {
        return true;
    }
    const bool any = kind->choose != NULL &&
                     kind->choose(of->problem, plan, pins->policy_choices[index] - 1, arena, &use);
    return strcmp(own, any ? list_uses(kind, &use, 1, arena) : "") == 0;
}

static bool keeps_pins(const struct strategy_case *of, const struct plan *plan, struct arena *arena)
{
    const struct planner_pins *pins = of->pins;
    const struct plan_schedule *schedule = &plan->schedule;
    bool kept = has_degrees(pins, plan) &&
                (pins->micro_batch == 0 || pins->micro_batch == schedule->micro_batch) &&
                (pins->chunks == 0 || pins->chunks == schedule->chunks) &&
                (pins->schedule == NULL || pins->schedule == schedule->schedule);
    for (uint32_t i = 0; i < policy_table_count && kept; i++) {
        kept = has_uses(of, plan, i, arena);
    }
    return kept;
}

/* --- one proposal ----------------------------------------------------------------------------- */

static bool is_legal(const struct strategy_case *of, const struct plan *plan, struct arena *arena)
{
    struct diag quiet;
    diag_init(&quiet, arena);
    return plan_is_legal(of->problem, plan) && plan_check_costed(of->problem, plan, &quiet);
}

static bool judge(const struct strategy_case *of, struct plan *plan, struct arena *scratch)
{
    struct strategy_answer *answer = of->answer;
    struct plan trial = *plan;
    struct estimate estimate;
    if (!keeps_pins(of, plan, scratch) || !is_legal(of, plan, scratch)) {
        return false;
    }
    answer->legal++;
    planner_complete(of->problem, of->estimator, &trial, scratch, &estimate);
    answer->fitting += estimate.fits ? 1 : 0;
    if (estimate.fits && (answer->plan == NULL || estimate.step_s < answer->estimate.step_s)) {
        answer->plan = plan;
        answer->estimate = estimate;
    }
    return estimate.fits;
}

bool strategy_offer(const struct strategy_case *of, struct plan *plan)
{
    struct arena scratch;
    if (plan == NULL) {
        return false;
    }
    of->answer->offered++;
    arena_init(&scratch);
    if (!plan_is_legal(of->problem, plan)) {
        struct group *bare = ARENA_PUSH(of->arena, struct group, 1); /* others may share it */
        *bare = plan->groups[0];
        bare->fold_count = 0;
        plan->groups = bare;
    }
    const bool fits = judge(of, plan, &scratch);
    arena_release(&scratch);
    return fits;
}

/* --- a strategy ------------------------------------------------------------------------------- */

void strategy_ask(const struct strategy *strategy, const struct problem *problem,
                  const struct estimator *estimator, const struct planner_pins *pins,
                  struct arena *arena, struct strategy_answer *out)
{
    memset(out, 0, sizeof *out);
    out->strategy = strategy;
    const struct strategy_case of = {problem, estimator, pins, arena, out};
    strategy->propose(&of);
    if (out->plan != NULL) {
        planner_complete(problem, estimator, out->plan, arena, &out->estimate);
    }
}

uint32_t strategy_list_seeds(const struct strategy_answer *answers, uint32_t count,
                             struct arena *arena, struct ranked_plan **out)
{
    struct ranked_plan *seeds = ARENA_PUSH(arena, struct ranked_plan, count);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = found;
        if (answers[i].plan == NULL) {
            continue;
        }
        while (place > 0 && answers[i].estimate.step_s < seeds[place - 1].estimate.step_s) {
            seeds[place] = seeds[place - 1];
            place--;
        }
        seeds[place] = (struct ranked_plan){answers[i].plan, answers[i].estimate};
        found++;
    }
    *out = seeds;
    return found;
}
