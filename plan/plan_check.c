/* Is a plan legal for its problem? One set of rules, with words for people, without for the
 * search. */
#include <stdarg.h>

#include "plan/plan_rule.h"

void plan_rule_break(struct plan_rules *rules, enum diag_code code, const char *hint,
                     const char *format, ...)
{
    rules->good = false;
    if (rules->diag == NULL)
        return;
    struct text text;
    va_list arguments;
    text_init(&text, rules->diag->arena);
    va_start(arguments, format);
    text_push_list(&text, format, arguments);
    va_end(arguments);
    diag_push(rules->diag, code, (struct diag_place){0}, hint, "%s", text.bytes);
}

bool plan_rule_is_settled(const struct plan_rules *rules)
{
    return !rules->good && rules->diag == NULL;
}

const char *plan_rule_hint(const struct plan_rules *rules, const char *format, ...)
{
    if (rules->diag == NULL)
        return NULL;
    struct text text;
    va_list arguments;
    text_init(&text, rules->diag->arena);
    va_start(arguments, format);
    text_push_list(&text, format, arguments);
    va_end(arguments);
    return text.bytes;
}

static bool obeys(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    static void (*const kinds[])(struct plan_rules *) = {
        plan_rule_mesh,      plan_rule_order,  plan_rule_schedule, plan_rule_policies,
        plan_rule_agreement, plan_rule_needed, plan_rule_axes,
    };
    struct plan_rules rules = {.problem = problem, .plan = plan, .diag = diag, .good = true};
    if (plan->group_count == 0)
        plan_rule_break(&rules, DIAG_P411, NULL,
                        "the plan places nothing: it has no group of devices");
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0] && !plan_rule_is_settled(&rules); i++)
        kinds[i](&rules);
    return rules.good;
}

bool plan_is_legal(const struct problem *problem, const struct plan *plan)
{
    return obeys(problem, plan, NULL);
}

bool plan_check(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    return obeys(problem, plan, diag);
}
