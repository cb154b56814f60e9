/* Strategies asked, judged twice, told beside the answer. */
#include "tools/contenders.h"

#include "base/table.h"
#include "tools/plan_flags.h"
#include "tools/simulated.h"

#define NAME_FLAG "--strategy"
#define COMPARE_FLAG "--compare-strategies"

const struct flag *contenders_build_flags(struct arena *arena)
{
    struct flag *flags = ARENA_PUSH(arena, struct flag, 3);
    flags[0] = (struct flag){.name = NAME_FLAG,
                             .kind = FLAG_CHOICE,
                             .choices = strategy_names(),
                             .help = "answer with the plan of this published method; the search's "
                                     "bound says how far it is from the best",
                             .absent = "the best plan of all"};
    flags[1] = (struct flag){.name = COMPARE_FLAG,
                             .kind = FLAG_SWITCH,
                             .help = "ask all published methods, start the search from their "
                                     "plans, print theirs beside the best"};
    return flags;
}

/* --- plans ------------------------------------------------------------------------------------ */

bool contenders_find(struct command *command, const struct question *question,
                     struct planner_options *options, struct contenders *out)
{
    uint32_t index = 0;
    struct strategy_answer *answers =
        ARENA_PUSH(command->arena, struct strategy_answer, strategy_table_count);
    *out =
        (struct contenders){.count = command_has(command, COMPARE_FLAG) ? strategy_table_count : 0};
    if (command_has(command, NAME_FLAG)) {
        if (!command_choice(command, NAME_FLAG, &index)) {
            return false;
        }
        out->named = strategy_table[index];
        out->count = out->count > 0 ? out->count : 1;
    }
    out->items = ARENA_PUSH(command->arena, struct contender, out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        strategy_ask(out->count == 1 ? out->named : strategy_table[i], &question->problem,
                     &question->estimator, &options->pins, command->arena, &answers[i]);
        out->items[i].answer = answers[i];
    }
    struct ranked_plan *seeds;
    options->seed_count = strategy_list_seeds(answers, out->count, command->arena, &seeds);
    options->seeds = seeds;
    return true;
}

bool contenders_judge(struct command *command, const struct question *question,
                      struct contenders *contenders)
{
    for (uint32_t i = 0; i < contenders->count; i++) {
        struct contender *contender = &contenders->items[i];
        if (contender->answer.plan != NULL) {
            report_judge(command, question, contender->answer.plan, &contender->verdict);
            if (!simulated_judge(command, question, &contender->verdict)) {
                return false;
            }
        }
    }
    return true;
}

static const struct contender *find_named(const struct contenders *contenders)
{
    for (uint32_t i = 0; i < contenders->count; i++) {
        if (contenders->items[i].answer.strategy == contenders->named) {
            return &contenders->items[i];
        }
    }
    return NULL;
}

void contenders_choose(struct command *command, struct contenders *contenders,
                       struct planner_result *result)
{
    const struct contender *named = find_named(contenders);
    struct certificate *certificate = &result->certificate;
    if (named == NULL) {
        return;
    }
    if (named->answer.plan == NULL) {
        result->count = 0;
        return;
    }
    result->plans = ARENA_PUSH(command->arena, struct ranked_plan, 1);
    result->plans[0] = (struct ranked_plan){named->answer.plan, named->answer.estimate};
    result->count = 1;
    const double step_s = named->answer.estimate.step_s;
    certificate->gap_frac = (step_s - certificate->lower_bound_s) / step_s;
}

/* --- the answer ------------------------------------------------------------------------------- */

static double behind_frac(const struct contender *contender, double best_s)
{
    return contender->answer.estimate.step_s / best_s - 1.0;
}

static void push_found(struct command *command, const struct question *question,
                       const struct contender *contender, double best_s, struct json_writer *out)
{
    struct text flags;
    text_init(&flags, command->arena);
    plan_flags_dump(contender->answer.plan, &question->runtime, command->arena, &flags);
    json_push_key_string(out, "flags", flags.bytes);
    json_push_key_double(out, "step_s", contender->answer.estimate.step_s);
    if (contender->verdict.simulated) {
        json_push_key_double(out, "simulated_step_s", contender->verdict.simulated_step_s);
    }
    json_push_key_double(out, "behind_frac", behind_frac(contender, best_s));
}

void contenders_push(struct command *command, const struct question *question,
                     const struct contenders *contenders, double best_s, struct json_writer *out)
{
    if (contenders->count == 0) {
        return;
    }
    json_push_key(out, "strategies");
    json_push_array(out);
    for (uint32_t i = 0; i < contenders->count; i++) {
        const struct contender *contender = &contenders->items[i];
        const struct strategy *strategy = contender->answer.strategy;
        json_push_object(out);
        json_push_key_string(out, "name", strategy->name);
        json_push_key_string(out, "source", strategy->source);
        json_push_key_string(out, "not_expressed", strategy->lacks);
        json_push_key_u64(out, "proposed", contender->answer.offered);
        json_push_key_u64(out, "legal", contender->answer.legal);
        json_push_key_u64(out, "fitting", contender->answer.fitting);
        if (contender->answer.plan != NULL) {
            push_found(command, question, contender, best_s, out);
        }
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void push_row(struct command *command, const struct question *question,
                     const struct contender *contender, double best_s, struct table *table)
{
    const struct strategy_answer *answer = &contender->answer;
    struct text flags;
    text_init(&flags, command->arena);
    table_push(table, "%s", answer->strategy->name);
    if (answer->plan == NULL) {
        table_push(table, "-");
        table_push(table, "-");
        table_push(table, "-");
        table_push(table, "%s",
                   answer->legal == 0 ? "none of its plans is legal here" : "nothing fits");
        return;
    }
    plan_flags_dump(answer->plan, &question->runtime, command->arena, &flags);
    table_push(table, "%s", report_seconds(command->arena, answer->estimate.step_s));
    table_push(table, "%s", report_seconds(command->arena, contender->verdict.simulated_step_s));
    table_push(table, "%+.2f %%", 100.0 * behind_frac(contender, best_s));
    table_push(table, "%s", flags.bytes + (flags.bytes[0] == ' ' ? 1 : 0));
}

void contenders_dump(struct command *command, const struct question *question,
                     const struct contenders *contenders, double best_s)
{
    static const char *const headings[] = {"method",           ">time", ">simulated",
                                           ">behind the best", "plan",  NULL};
    struct table table;
    if (contenders->count == 0) {
        return;
    }
    text_push(&command->out, "\nWhat published methods choose:\n\n");
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < contenders->count; i++) {
        push_row(command, question, &contenders->items[i], best_s, &table);
    }
    table_dump(&table, &command->out);
    for (uint32_t i = 0; i < contenders->count; i++) {
        const struct strategy *strategy = contenders->items[i].answer.strategy;
        if (strategy->lacks != NULL) {
            text_push(&command->out, "%s (%s) has more than is expressed here: %s\n",
                      strategy->name, strategy->source, strategy->lacks);
        }
    }
}
