/* Does what a policy names exist in the plan, its model, its cluster, its setup? */
#include <string.h>

#include "plan/plan_rule.h"

/* What edge classes may name besides the dims of the mesh: tied weights, the outer loop of local
 * steps, tables, halos of neighbours, transfers to and from the host, everybody. */
static const char *const mechanisms[] = {"tie", "outer", "table", "halo", "host", "world", NULL};

static bool is_dim(const struct plan *plan, const char *name, size_t length)
{
    for (uint32_t g = 0; g < plan->group_count; g++) {
        const struct group *group = &plan->groups[g];
        for (uint32_t i = 0; i < group->mesh_count; i++) {
            const char *dim = plan_rule_dim_name(&group->mesh[i]);
            if (strlen(dim) == length && strncmp(dim, name, length) == 0)
                return true;
        }
        for (uint32_t i = 0; i < group->fold_count; i++) {
            const char *dim = group->folds[i].dim->name;
            if (strlen(dim) == length && strncmp(dim, name, length) == 0)
                return true;
        }
    }
    return false;
}

static bool is_level(const struct cluster *cluster, const char *name)
{
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        if (strcmp(cluster->levels[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_part(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->part_count; i++) {
        if (strcmp(model->parts[i].name, name) == 0)
            return true;
    }
    return model->part_count == 0;
}

static bool is_edge(const struct plan *plan, const char *edge)
{
    const size_t length = strcspn(edge, " ");
    if (edge[length] == '\0' || edge[length + 1] == '\0')
        return false;
    for (uint32_t i = 0; mechanisms[i] != NULL; i++) {
        if (strlen(mechanisms[i]) == length && strncmp(mechanisms[i], edge, length) == 0)
            return true;
    }
    return is_dim(plan, edge, length);
}

static bool is_phase(const struct setup *setup, const char *name)
{
    for (uint32_t i = 0; i < setup->phase_count; i++) {
        if (strcmp(setup->phases[i].name, name) == 0)
            return true;
    }
    return false;
}

/* A range within 0 .. count-1; count 0: not known, so any range. */
static bool is_range(const char *text, uint64_t count)
{
    uint64_t range[2] = {0};
    return plan_rule_read_range(text, range) && range[0] <= range[1] &&
           (count == 0 || range[1] < count);
}

static uint64_t count_stages(const struct plan *plan)
{
    uint64_t stages = plan_count_stages(plan);
    for (uint32_t i = 0; i < plan->pipeline_count; i++)
        stages = plan->pipelines[i].stop_count > stages ? plan->pipelines[i].stop_count : stages;
    return stages;
}

static bool exists(const struct plan_rules *rules, enum policy_target target, const char *word)
{
    const struct problem *problem = rules->problem;
    switch (target) {
    case POLICY_TARGET_RANKS:
        return is_dim(rules->plan, word, strlen(word)) || is_level(problem->cluster, word);
    case POLICY_TARGET_PARTS: return is_part(problem->model, word);
    case POLICY_TARGET_LAYERS: return is_range(word, plan_count_layers(problem->model));
    case POLICY_TARGET_STAGES:
        return strcmp(word, "last") == 0 || is_range(word, count_stages(rules->plan));
    case POLICY_TARGET_EDGES: return is_edge(rules->plan, word);
    case POLICY_TARGET_PHASES: return is_phase(problem->setup, word);
    case POLICY_TARGET_NONE:
    case POLICY_TARGET_COUNT: break;
    }
    return true;
}

static const char *what_is_right(enum policy_target target)
{
    switch (target) {
    case POLICY_TARGET_RANKS: return "name dimensions of the mesh or levels of the cluster";
    case POLICY_TARGET_PARTS: return "'show model' lists the parts";
    case POLICY_TARGET_LAYERS: return "write a range of layers such as \"0-11\", counted from 0";
    case POLICY_TARGET_STAGES:
        return "write a stage or a range such as \"0-2\", counted from 0, or \"last\"";
    case POLICY_TARGET_EDGES:
        return "write a dimension, a blank, the cause, such as \"outer gradient\"";
    case POLICY_TARGET_PHASES: return "name one of the setup's \"phases\"";
    case POLICY_TARGET_NONE:
    case POLICY_TARGET_COUNT: break;
    }
    return NULL;
}

static void check_word(struct plan_rules *rules, const struct policy_use *use,
                       const struct policy_field *field, const char *word)
{
    if (!exists(rules, field->target, word))
        plan_rule_break(rules, DIAG_P423, what_is_right(field->target),
                        "policy '%s': %s '%s' is nothing that this plan has", use->kind->name,
                        field->key, word);
}

void plan_rule_targets(struct plan_rules *rules, const struct policy_use *use)
{
    for (uint32_t i = 0; i < use->kind->field_count; i++) {
        const struct policy_field *field = &use->kind->fields[i];
        const struct policy_value *value = &use->values[i];
        if (field->target == POLICY_TARGET_NONE || !value->present)
            continue;
        if (field->kind == POLICY_FIELD_TEXT)
            check_word(rules, use, field, value->text);
        for (uint32_t w = 0; w < value->word_count; w++)
            check_word(rules, use, field, value->words[w]);
    }
}
