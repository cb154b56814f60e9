/* Does each policy speak of things that are there, do two of a kind stay out of each other's
 * way? */
#include <string.h>

#include "plan/plan_rule.h"

bool plan_rule_read_range(const char *text, uint64_t out[2])
{
    uint64_t value = 0;
    uint32_t part = 0;
    bool digits = false;
    for (const char *at = text;; at++) {
        if (*at >= '0' && *at <= '9' && value < UINT32_MAX) {
            value = value * 10 + (uint64_t)(*at - '0');
            digits = true;
            continue;
        }
        if (!digits || (*at != '\0' && (*at != '-' || part == 1)))
            return false;
        out[part] = value;
        if (*at == '\0')
            break;
        part = 1;
        value = 0;
        digits = false;
    }
    out[1] = part == 0 ? out[0] : out[1];
    return true;
}

static bool texts_meet(const char *a, const char *b)
{
    uint64_t left[2] = {0}, right[2] = {0};
    if (plan_rule_read_range(a, left) && plan_rule_read_range(b, right))
        return left[0] <= right[1] && right[0] <= left[1];
    return strcmp(a, b) == 0;
}

static bool words_meet(const struct policy_value *a, const struct policy_value *b)
{
    for (uint32_t i = 0; i < a->word_count; i++) {
        for (uint32_t j = 0; j < b->word_count; j++) {
            if (texts_meet(a->words[i], b->words[j]))
                return true;
        }
    }
    return false;
}

static bool numbers_meet(const struct policy_value *a, const struct policy_value *b)
{
    for (uint32_t i = 0; i < a->number_count; i++) {
        for (uint32_t j = 0; j < b->number_count; j++) {
            if (!(a->numbers[i] < b->numbers[j]) && !(a->numbers[i] > b->numbers[j]))
                return true;
        }
    }
    return false;
}

/* Can both values select the same thing? An absent selector selects all. */
static bool values_meet(const struct policy_field *field, const struct policy_value *a,
                        const struct policy_value *b)
{
    if (!a->present || !b->present)
        return true;
    switch (field->kind) {
    case POLICY_FIELD_WORD: return a->word == b->word;
    case POLICY_FIELD_WORDS: return words_meet(a, b);
    case POLICY_FIELD_TEXT: return texts_meet(a->text, b->text);
    case POLICY_FIELD_COUNT: return a->count == b->count;
    case POLICY_FIELD_NUMBERS: return numbers_meet(a, b);
    case POLICY_FIELD_NUMBER:
    case POLICY_FIELD_FRACTION:
    case POLICY_FIELD_BOOL:
    case POLICY_FIELD_QUANTITY:
    case POLICY_FIELD_KIND_COUNT: break;
    }
    return true;
}

static bool uses_meet(const struct policy_use *a, const struct policy_use *b)
{
    if (a->kind != b->kind)
        return false;
    for (uint32_t i = 0; i < a->kind->field_count; i++) {
        const struct policy_field *field = &a->kind->fields[i];
        if (field->selects && !values_meet(field, &a->values[i], &b->values[i]))
            return false;
    }
    return true;
}

void plan_rule_policies(struct plan_rules *rules)
{
    const struct plan *plan = rules->plan;
    for (uint32_t i = 0; i < plan->policy_count && !plan_rule_is_settled(rules); i++) {
        const struct policy_use *use = &plan->policies[i];
        plan_rule_targets(rules, use);
        if (use->kind->fits != NULL && !use->kind->fits(rules->problem, plan, use, rules->diag))
            rules->good = false;
        for (uint32_t j = 0; j < i; j++) {
            if (uses_meet(use, &plan->policies[j]))
                plan_rule_break(
                    rules, DIAG_P424, "tell them apart by what they select (layers, stage, phase)",
                    "policies %u and %u are both '%s' for the same things", j, i, use->kind->name);
        }
    }
}

void plan_rule_agreement(struct plan_rules *rules)
{
    const struct plan *plan = rules->plan;
    for (uint32_t i = 0; i < plan->policy_count && !plan_rule_is_settled(rules); i++) {
        const struct policy_use *use = &plan->policies[i];
        if (use->kind->agrees != NULL && !use->kind->agrees(rules->problem, plan, use, rules->diag))
            rules->good = false;
    }
}

static bool is_used(const struct plan *plan, const struct policy *kind)
{
    for (uint32_t i = 0; i < plan->policy_count; i++) {
        if (plan->policies[i].kind == kind)
            return true;
    }
    return false;
}

void plan_rule_needed(struct plan_rules *rules)
{
    for (uint32_t i = 0; i < policy_table_count && !plan_rule_is_settled(rules); i++) {
        const struct policy *kind = policy_table[i];
        const char *reason = kind->needed == NULL || is_used(rules->plan, kind)
                                 ? NULL
                                 : kind->needed(rules->problem, rules->plan);
        if (reason != NULL)
            plan_rule_break(rules, DIAG_P420, reason,
                            "runtime '%s' does not run this without policy '%s'",
                            rules->problem->setup->runtime->name, kind->name);
    }
}
