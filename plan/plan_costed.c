/* Can the judges cost a plan? What they cannot is refused by name, never guessed. */
#include <string.h>

#include "models/transformer.h"
#include "plan/plan_rule.h"

static void check_setup(struct plan_rules *rules)
{
    const struct setup *setup = rules->problem->setup;
    if (!task_is_costed(&setup->task))
        plan_rule_break(rules, DIAG_P480, "costed are " TASK_FORMS,
                        "task '%s' cannot be costed yet", setup->task.text);
    if (setup->mode != SETUP_STEP)
        plan_rule_break(rules, DIAG_P480, NULL, "mode '%s' cannot be costed yet: only '%s' can",
                        setup_mode_names()[setup->mode], setup_mode_names()[SETUP_STEP]);
    if (setup->phase_count > 0)
        plan_rule_break(rules, DIAG_P480, NULL, "training phases cannot be costed yet");
}

/* What does not go on token by token, or keeps what nothing here says. */
static const char *find_undecodable(const struct model *model)
{
    const struct transformer *shape = model->transformer;
    if (shape != NULL && shape->vision.tower != NULL)
        return "a vision tower, which runs once per request";
    if (shape != NULL && (shape->encoder_layers > 0 || shape->bidirectional))
        return "an encoder, which reads all tokens at once";
    for (uint32_t i = 0; i < model->op_count; i++) {
        const struct op *op = &model->ops[i];
        if (op->kind == OP_KERNEL && op->mirrored != 0 && op->state == 0)
            return "layers that scan";
    }
    return NULL;
}

static void check_decoding(struct plan_rules *rules)
{
    const struct model *model = rules->problem->model;
    const char *what = find_undecodable(model);
    if (rules->problem->setup->task.kind == TASK_DECODE && what != NULL)
        plan_rule_break(rules, DIAG_P480, NULL,
                        "task 'decode' cannot be costed yet for model '%s', which has %s",
                        model->name, what);
}

static void check_model(struct plan_rules *rules)
{
    if (rules->problem->model->run_count == 0)
        plan_rule_break(rules, DIAG_P481, "embed the model or name one of the zoo",
                        "model '%s' is known by name only: there is no work to cost",
                        rules->problem->model->name);
}

static void check_group(struct plan_rules *rules, const struct group *group)
{
    struct arena *arena = rules->diag->arena;
    for (uint32_t i = 0; i < group->slice_count; i++) {
        const struct slice_range *slice = &group->slices[i];
        if (slice->compute_frac < 1 || slice->memory_bytes > 0)
            plan_rule_break(rules, DIAG_P482, NULL,
                            "a share of device %u%s cannot be costed yet: only whole devices can",
                            slice->first_device, plan_rule_where(group, arena));
    }
    if (group->cut_count > 0)
        plan_rule_break(rules, DIAG_P483, NULL, "the cut of %s to axis '%s'%s cannot be costed yet",
                        group->cuts[0].dim, group->cuts[0].axis, plan_rule_where(group, arena));
    if (group->share_count > 0)
        plan_rule_break(rules, DIAG_P484, NULL, "uneven shares along %s%s cannot be costed yet",
                        group->shares[0].dim, plan_rule_where(group, arena));
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].dim == NULL)
            plan_rule_break(rules, DIAG_P485, NULL,
                            "dimension %s, which the plan declares, cannot be costed yet",
                            group->mesh[i].declared);
    }
}

static void check_placement(struct plan_rules *rules)
{
    const struct plan *plan = rules->plan;
    if (plan->group_count > 1)
        plan_rule_break(rules, DIAG_P482, NULL,
                        "%u groups of devices cannot be costed yet: only one can",
                        plan->group_count);
    if (plan->pipeline_count > 0)
        plan_rule_break(rules, DIAG_P486, NULL,
                        "%u pipeline%s of the plan's own cannot be costed yet: only the one "
                        "through the mesh's stages",
                        plan->pipeline_count, plan->pipeline_count == 1 ? "" : "s");
    for (uint32_t i = 0; i < plan->group_count; i++)
        check_group(rules, &plan->groups[i]);
}

static void check_schedule(struct plan_rules *rules)
{
    const struct plan_schedule *schedule = &rules->plan->schedule;
    if (schedule->table != NULL)
        plan_rule_break(rules, DIAG_P487, NULL,
                        "a schedule given as a table cannot be costed in a plan yet");
    else if (schedule->schedule == NULL)
        plan_rule_break(rules, DIAG_P487,
                        "name a schedule, such as one that 'list schedules' prints",
                        "a plan without a schedule cannot be costed");
    if (schedule->dispatch != NULL && strcmp(schedule->dispatch, "fixed") != 0)
        plan_rule_break(rules, DIAG_P487, NULL,
                        "dispatch '%s' cannot be costed yet: only 'fixed' can", schedule->dispatch);
    if (schedule->in_flight_cap > 0)
        plan_rule_break(rules, DIAG_P487, NULL, "an in-flight cap of %u cannot be costed yet",
                        schedule->in_flight_cap);
    if (schedule->travels != NULL && strcmp(schedule->travels, "activations") != 0)
        plan_rule_break(rules, DIAG_P487, NULL,
                        "a schedule in which %s travel cannot be costed yet", schedule->travels);
    if (schedule->staleness > 0)
        plan_rule_break(rules, DIAG_P487, NULL,
                        "a schedule that is %u versions stale cannot be costed yet",
                        schedule->staleness);
}

static void check_policies(struct plan_rules *rules)
{
    for (uint32_t i = 0; i < rules->plan->policy_count; i++) {
        const struct policy_use *use = &rules->plan->policies[i];
        const char *reason = NULL;
        if (use->kind->rewrite == NULL)
            reason = policy_refuse_kind(rules->problem, rules->plan, use, rules->diag->arena);
        else if (use->kind->refuses != NULL)
            reason = use->kind->refuses(rules->problem, rules->plan, use, rules->diag->arena);
        if (reason != NULL)
            plan_rule_break(rules, DIAG_P488, NULL, "%s", reason);
    }
}

bool plan_check_costed_question(const struct problem *problem, const struct plan *plan,
                                struct diag *diag)
{
    struct plan_rules rules = {.problem = problem, .plan = plan, .diag = diag, .good = true};
    check_setup(&rules);
    check_model(&rules);
    check_decoding(&rules);
    check_policies(&rules);
    return rules.good;
}

bool plan_check_costed(const struct problem *problem, const struct plan *plan, struct diag *diag)
{
    struct plan_rules rules = {.problem = problem, .plan = plan, .diag = diag, .good = true};
    check_placement(&rules);
    check_schedule(&rules);
    return plan_check_costed_question(problem, plan, diag) && rules.good;
}
