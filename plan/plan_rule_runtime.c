/* Are the ranks in an order that the runtime gives, with all that it asks to go together? */
#include <string.h>

#include "plan/plan_rule.h"

static uint32_t degree_of(const struct group *group, const char *name)
{
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (strcmp(plan_rule_dim_name(&group->mesh[i]), name) == 0)
            return group->mesh[i].degree;
    }
    for (uint32_t i = 0; i < group->fold_count; i++) {
        if (strcmp(group->folds[i].dim->name, name) == 0)
            return group->folds[i].degree;
    }
    return 1;
}

/* The dims that have ranks stand in the order's order; those that the plan declares for its
 * model may stand anywhere. */
static bool follows(const struct group *group, const struct runtime_order *order)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].degree == 1 || group->mesh[i].dim == NULL)
            continue;
        while (order->dims[next] != NULL &&
               strcmp(order->dims[next], plan_rule_dim_name(&group->mesh[i])) != 0)
            next++;
        if (order->dims[next] == NULL)
            return false;
    }
    return order->equal[0] == NULL ||
           degree_of(group, order->equal[0]) == degree_of(group, order->equal[1]);
}

static const char *order_text(const struct plan_rules *rules, const struct group *group)
{
    struct text text;
    text_init(&text, rules->diag->arena);
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].degree != 1)
            text_push(&text, "%s%s", text.length == 0 ? "" : "-",
                      plan_rule_dim_name(&group->mesh[i]));
    }
    return text.bytes;
}

/* "tp-cp-dp-pp, or tp-cp-pp-dp where ep equals cp" */
static const char *orders_text(const struct plan_rules *rules, const struct runtime *runtime)
{
    struct text text;
    text_init(&text, rules->diag->arena);
    for (uint32_t i = 0; i < runtime->order_count; i++) {
        const struct runtime_order *order = &runtime->orders[i];
        text_push(&text, i == 0 ? "" : ", or ");
        for (uint32_t d = 0; order->dims[d] != NULL; d++)
            text_push(&text, "%s%s", d == 0 ? "" : "-", order->dims[d]);
        if (order->equal[0] != NULL)
            text_push(&text, " where %s equals %s", order->equal[0], order->equal[1]);
    }
    return text.bytes;
}

static bool follows_one(const struct group *group, const struct runtime *runtime)
{
    bool fits = runtime->order_count == 0;
    for (uint32_t i = 0; i < runtime->order_count && !fits; i++)
        fits = follows(group, &runtime->orders[i]);
    return fits;
}

static void check_order(struct plan_rules *rules, const struct group *group)
{
    const struct runtime *runtime = rules->problem->setup->runtime;
    if (runtime->other_orders || follows_one(group, runtime))
        return;
    if (rules->diag == NULL)
        rules->good = false;
    else
        plan_rule_break(rules, DIAG_P420, orders_text(rules, runtime),
                        "runtime '%s' has no rank order %s, innermost first", runtime->name,
                        order_text(rules, group));
}

void plan_rule_order(struct plan_rules *rules)
{
    for (uint32_t g = 0; g < rules->plan->group_count; g++)
        check_order(rules, &rules->plan->groups[g]);
}

bool plan_rule_order_is_searched(const struct problem *problem, const struct plan *plan)
{
    for (uint32_t g = 0; g < plan->group_count; g++) {
        if (!follows_one(&plan->groups[g], problem->setup->runtime))
            return false;
    }
    return true;
}

static void check_exclusive(struct plan_rules *rules, const struct group *group)
{
    const struct runtime *runtime = rules->problem->setup->runtime;
    const char *first = NULL;
    for (uint32_t i = 0; runtime->exclusive[i] != NULL; i++) {
        const char *dim = runtime->exclusive[i];
        if (degree_of(group, dim) <= 1)
            continue;
        if (first != NULL)
            plan_rule_break(rules, DIAG_P420,
                            plan_rule_hint(rules, "set %s or %s to 1", first, dim),
                            "runtime '%s' does not run %s %u together with %s %u", runtime->name,
                            first, degree_of(group, first), dim, degree_of(group, dim));
        first = dim;
    }
}

void plan_rule_needs(struct plan_rules *rules, const struct group *group)
{
    const struct runtime *runtime = rules->problem->setup->runtime;
    check_exclusive(rules, group);
    for (uint32_t i = 0; i < runtime->need_count; i++) {
        const struct runtime_need *need = &runtime->needs[i];
        const uint32_t degree = degree_of(group, need->dim);
        if (degree > 1 && degree_of(group, need->fold) <= 1 &&
            model_find_axis(rules->problem->model, need->axis) != NO_INDEX)
            plan_rule_break(
                rules, DIAG_P420,
                plan_rule_hint(rules, "switch %s on, or set %s to 1", need->fold, need->dim),
                "runtime '%s' does not train %s with %s %u but without %s", runtime->name,
                need->axis, need->dim, degree, need->fold);
    }
}
