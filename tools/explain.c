/* Each choice of the best plan is forced to its neighbours, everything else searched again. */
#include "tools/explain.h"

#include <string.h>

#include "base/table.h"
#include "tools/plan_flags.h"

#define FORCED_MAX 96u

/* One search with something forced. */
struct forced {
    const char *change; /* "--tp 4" */
    struct planner_pins pins;
    bool found, illegal;
    double step_s;
    const struct plan *plan; /* the best then, with its flags */
    const char *flags;
    const char *why; /* there is none */
};

struct explanation {
    struct command *command;
    const struct question *question;
    const struct planner_options *options;
    const struct ranked_plan *best;
    struct forced *rows;
    uint32_t count;
};

static const char *why_none(const struct explanation *explanation,
                            const struct planner_result *result)
{
    struct arena *arena = explanation->command->arena;
    if (result->least_over.plan == NULL) {
        return "nothing fits in memory";
    }
    return text_build(arena, "does not fit: at best %s",
                      report_shortage(arena, &result->least_over.estimate));
}

static void search(struct explanation *explanation, struct forced *forced)
{
    struct arena *arena = explanation->command->arena;
    struct planner_options options = *explanation->options;
    struct planner_result result;
    struct diag diag;
    diag_init(&diag, arena);
    options.pins = forced->pins;
    options.top = 1;
    options.no_prune = false;
    if (!planner_search(&explanation->question->problem, &explanation->question->estimator,
                        &options, arena, &result, &diag)) {
        forced->why = "no legal plan has it";
        forced->illegal = true;
    } else if (result.count == 0) {
        forced->why = why_none(explanation, &result);
    } else {
        struct text flags;
        text_init(&flags, arena);
        plan_flags_dump(result.plans[0].plan, &explanation->question->runtime, arena, &flags);
        forced->found = true;
        forced->step_s = result.plans[0].estimate.step_s;
        forced->plan = result.plans[0].plan;
        forced->flags = flags.bytes;
    }
}

static struct forced *push(struct explanation *explanation, const char *change)
{
    if (explanation->count == FORCED_MAX) {
        return NULL;
    }
    struct forced *forced = &explanation->rows[explanation->count++];
    forced->change = change;
    forced->pins = explanation->options->pins;
    return forced;
}

/* Folds that are over all ranks of their hosts, or off, stay on. */
static void follow(struct group *group, uint32_t before, uint32_t after)
{
    for (uint32_t i = 0; i < group->fold_count; i++) {
        struct mesh_fold *fold = &group->folds[i];
        if (fold->dim->on_or_off && fold->degree > 1 && fold->degree % before == 0) {
            fold->degree = fold->degree / before * after;
        }
    }
}

/* The best plan with one degree changed and nothing else: not to be run, only to be refused. */
static struct plan *change_degree(const struct explanation *explanation, uint32_t dim,
                                  uint32_t degree)
{
    struct arena *arena = explanation->command->arena;
    struct plan *plan = ARENA_PUSH(arena, struct plan, 1);
    struct group *group = ARENA_PUSH(arena, struct group, 1);
    *plan = *explanation->best->plan;
    *group = plan->groups[0];
    plan->groups = group;
    plan->schedule.layers = NULL;
    for (uint32_t i = 0; i < group->mesh_count; i++) {
        if (group->mesh[i].dim == dim_table[dim]) {
            follow(group, group->mesh[i].degree, degree);
            group->mesh[i].degree = degree;
            return plan;
        }
    }
    if (dim_table[dim]->kind == DIM_FACTOR) {
        group->mesh[group->mesh_count++] =
            (struct mesh_dim){.dim = dim_table[dim], .degree = degree};
    } else {
        group->folds[group->fold_count++] =
            (struct mesh_fold){.dim = dim_table[dim], .degree = degree};
    }
    return plan;
}

/* The rule that the change breaks, but for those that other degrees could make up for. */
static const char *why_illegal(const struct explanation *explanation, uint32_t dim, uint32_t degree)
{
    struct diag diag;
    diag_init(&diag, explanation->command->arena);
    plan_check(&explanation->question->problem, change_degree(explanation, dim, degree), &diag);
    const uint32_t devices = explanation->question->cluster.device_count;
    if (degree > devices) {
        return text_build(explanation->command->arena, "there are %u devices", devices);
    }
    for (uint32_t i = 0; i < diag.kept; i++) {
        const enum diag_code code = diag.entries[i].code;
        if (code != DIAG_P413 && code != DIAG_P415 && code != DIAG_P416) {
            return diag.entries[i].message;
        }
    }
    return "no legal plan has it";
}

/* The fastest plan with it may be one where it does nothing: then that is as fast as any. */
static void drop_unused(struct explanation *explanation, struct forced *forced)
{
    forced->found = false;
    forced->why =
        text_build(explanation->command->arena, "plans where it does anything take %s at least",
                   report_seconds(explanation->command->arena, forced->step_s));
}

static void force_degree(struct explanation *explanation, uint32_t dim, uint32_t degree,
                         const char *change)
{
    struct forced *forced = push(explanation, change);
    if (forced != NULL) {
        struct plan_words words = {.zero = 0};
        forced->pins.degrees[dim] = degree;
        search(explanation, forced);
        if (forced->found) {
            plan_flags_describe(forced->plan, explanation->command->arena, &words);
        }
        if (forced->found && degree == PIN_ON && words.degrees[dim] <= 1) {
            drop_unused(explanation, forced);
        }
        if (forced->illegal && degree != PIN_ON) {
            forced->why = why_illegal(explanation, dim, degree);
        }
    }
}

/* Half, double the degree; the other way of a switch. Dims that a flag fixed stay. */
static void force_dim(struct explanation *explanation, uint32_t index,
                      const struct plan_words *words)
{
    struct arena *arena = explanation->command->arena;
    const struct dim *dim = dim_table[index];
    const uint32_t degree = words->degrees[index];
    if (explanation->options->pins.degrees[index] != PIN_SEARCH) {
        return;
    }
    if (dim->on_or_off) {
        force_degree(explanation, index, degree > 1 ? 1 : PIN_ON,
                     text_build(arena, "%s %s", dim->flag, degree > 1 ? "off" : "on"));
        return;
    }
    if (degree % 2 == 0) {
        force_degree(explanation, index, degree / 2,
                     text_build(arena, "%s %u", dim->flag, degree / 2));
    }
    force_degree(explanation, index, 2 * degree, text_build(arena, "%s %u", dim->flag, 2 * degree));
}

static void force_variants(struct explanation *explanation, uint32_t index,
                           const struct plan_words *words)
{
    const struct dim *dim = dim_table[index];
    for (uint32_t variant = 0; words->degrees[index] > 1 && variant < dim->variant_count;
         variant++) {
        if (explanation->options->pins.variants[index] != PIN_ANY ||
            variant == words->variants[index]) {
            continue;
        }
        struct forced *forced =
            push(explanation, text_build(explanation->command->arena, "%s-type %s", dim->flag,
                                         dim->variants[variant].name));
        if (forced != NULL) {
            forced->pins.variants[index] = variant;
            forced->pins.degrees[index] = words->degrees[index];
            search(explanation, forced);
        }
    }
}

static void force_micro_batch(struct explanation *explanation)
{
    struct arena *arena = explanation->command->arena;
    const uint32_t micro_batch = explanation->best->plan->schedule.micro_batch;
    const uint32_t others[2] = {micro_batch % 2 == 0 ? micro_batch / 2 : 0, 2 * micro_batch};
    for (uint32_t i = 0; i < 2 && explanation->options->pins.micro_batch == 0; i++) {
        struct forced *forced =
            others[i] == 0
                ? NULL
                : push(explanation, text_build(arena, "--micro-batch-size %u", others[i]));
        if (forced != NULL) {
            forced->pins.micro_batch = others[i];
            search(explanation, forced);
        }
    }
}

static void force_schedule(struct explanation *explanation)
{
    const struct planner_pins *pins = &explanation->options->pins;
    const struct plan *best = explanation->best->plan;
    for (uint32_t i = 0; i < schedule_table_count && pins->schedule == NULL; i++) {
        if (schedule_table[i] == best->schedule.schedule || plan_count_stages(best) == 1) {
            continue;
        }
        struct forced *forced =
            push(explanation,
                 text_build(explanation->command->arena, "--schedule %s", schedule_table[i]->name));
        if (forced != NULL) {
            forced->pins.schedule = schedule_table[i];
            search(explanation, forced);
        }
    }
}

static void check_used(struct explanation *explanation, struct forced *forced, uint32_t policy)
{
    const struct plan *plan = forced->plan;
    bool used = false;
    for (uint32_t i = 0; forced->found && i < plan->policy_count; i++) {
        used = used || plan->policies[i].kind == policy_table[policy];
    }
    if (forced->found && !used) {
        drop_unused(explanation, forced);
    }
}

/* Uses of a policy: without it, or its own choices by number. */
static void force_policy(struct explanation *explanation, const char *policy, uint32_t choice,
                         const char *change)
{
    for (uint32_t i = 0; i < policy_table_count; i++) {
        if (strcmp(policy_table[i]->name, policy) != 0 ||
            explanation->options->pins.policy_pinned[i] ||
            explanation->options->pins.policy_choices[i] > 0) {
            continue;
        }
        struct forced *forced = push(explanation, change);
        if (forced != NULL) {
            forced->pins.policy_pinned[i] = choice == 0;
            forced->pins.policy_choices[i] = choice;
            search(explanation, forced);
            if (choice > 0) {
                check_used(explanation, forced, i);
            }
        }
    }
}

static void force_policies(struct explanation *explanation, const struct plan_words *words)
{
    struct arena *arena = explanation->command->arena;
    const struct runtime *runtime = &explanation->question->runtime;
    for (uint32_t level = 0; level < 4; level++) {
        if (level != words->zero && (level == 0 || (runtime->zero_levels >> level & 1) != 0)) {
            force_policy(explanation, "shard", level, text_build(arena, "--zero %u", level));
        }
    }
    if (strcmp(words->recompute, "none") != 0) {
        force_policy(explanation, "keep", 0, "--recompute none");
    }
    if (strcmp(words->recompute, "selective") != 0) {
        force_policy(explanation, "keep", 1, "--recompute selective");
    }
}

static void explain(struct explanation *explanation)
{
    struct plan_words words;
    explanation->rows = ARENA_PUSH(explanation->command->arena, struct forced, FORCED_MAX);
    plan_flags_describe(explanation->best->plan, explanation->command->arena, &words);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        force_dim(explanation, i, &words);
        force_variants(explanation, i, &words);
    }
    force_micro_batch(explanation);
    force_schedule(explanation);
    force_policies(explanation, &words);
}

void explain_push(struct command *command, const struct question *question,
                  const struct planner_options *options, const struct ranked_plan *best,
                  struct json_writer *out)
{
    struct explanation explanation = {
        .command = command, .question = question, .options = options, .best = best};
    explain(&explanation);
    json_push_key(out, "explain");
    json_push_array(out);
    for (uint32_t i = 0; i < explanation.count; i++) {
        const struct forced *forced = &explanation.rows[i];
        json_push_object(out);
        json_push_key_string(out, "change", forced->change);
        json_push_key(out, "step_s");
        if (forced->found) {
            json_push_double(out, forced->step_s);
        } else {
            json_push_null(out);
        }
        json_push_key_string(out, "flags", forced->flags);
        json_push_key_string(out, "reason", forced->why);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_none(struct command *command, const struct explanation *explanation)
{
    for (uint32_t i = 0; i < explanation->count; i++) {
        const struct forced *forced = &explanation->rows[i];
        if (!forced->found) {
            text_push(&command->out, "no plan with %s: %s\n", forced->change, forced->why);
        }
    }
}

void explain_dump(struct command *command, const struct question *question,
                  const struct planner_options *options, const struct ranked_plan *best)
{
    static const char *const headings[] = {"forced", ">time", ">slower by", NULL};
    struct explanation explanation = {
        .command = command, .question = question, .options = options, .best = best};
    struct table table;
    explain(&explanation);
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < explanation.count; i++) {
        const struct forced *forced = &explanation.rows[i];
        if (forced->found) {
            table_push(&table, "%s", forced->change);
            table_push(&table, "%s", report_seconds(command->arena, forced->step_s));
            table_push(&table, "%.2f %%", 100.0 * (forced->step_s / best->estimate.step_s - 1.0));
        }
    }
    text_push(&command->out,
              "\nOne choice forced to a neighbour, all the others searched again:\n\n");
    table_dump(&table, &command->out);
    dump_none(command, &explanation);
}
