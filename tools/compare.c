/* Line by line, how much longer or shorter, larger or smaller is the second plan? */
#include "tools/compare.h"

#include "base/table.h"
#include "tools/saved_plan.h"
#include "tools/simulated.h"

bool compare_read(struct command *command, struct compared *out)
{
    if (command->positional_count == 0) {
        return diag_push(command->diag, DIAG_C706, (struct diag_place){0},
                         "write `shardplan estimate " COMPARE_FLAG " first.json second.json`",
                         "%s compares two saved plans: the second one is missing", COMPARE_FLAG);
    }
    if (!command_text(command, COMPARE_FLAG, &out->name) ||
        !saved_plan_read(command, out->name, &out->question, &out->plan) ||
        !plan_check(&out->question.problem, out->plan, command->diag) ||
        !plan_check_costed(&out->question.problem, out->plan, command->diag)) {
        return false;
    }
    report_judge(command, &out->question, out->plan, &out->verdict);
    return simulated_judge(command, &out->question, &out->verdict);
}

/* 0 where there is nothing to compare with. */
static double change_frac(double first, double second)
{
    return first > 0.0 ? second / first - 1.0 : 0.0;
}

void compare_push(struct command *command, const struct compared *first,
                  const struct verdict *second, struct json_writer *out)
{
    const struct estimate *before = &first->verdict.estimate, *after = &second->estimate;
    json_push_key(out, "compare");
    json_push_object(out);
    report_push_head(command, &first->question.problem, out);
    report_push_verdict(command, &first->question, &first->verdict, out);
    json_push_key_double(out, "step_change_frac", change_frac(before->step_s, after->step_s));
    json_push_key_double(out, "peak_memory_change_frac",
                         change_frac(before->peak_bytes, after->peak_bytes));
    json_pop_object(out);
}

static const struct stage_estimate *slowest(const struct verdict *verdict)
{
    return &verdict->estimate.stages[verdict->estimate.slowest_stage];
}

static const struct stage_estimate *fullest(const struct verdict *verdict)
{
    return &verdict->estimate.stages[verdict->estimate.fullest_stage];
}

static void push_row(struct table *table, const char *name, const char *const shown[2],
                     const double values[2])
{
    table_push(table, "%s", name);
    table_push(table, "%s", shown[0]);
    table_push(table, "%s", shown[1]);
    if (values[0] > 0.0) {
        table_push(table, "%+.1f %%", 100.0 * change_frac(values[0], values[1]));
    } else {
        table_push(table, "new");
    }
}

static void push_seconds(struct table *table, const char *name, double first_s, double second_s)
{
    const char *const shown[2] = {report_seconds(table->arena, first_s),
                                  report_seconds(table->arena, second_s)};
    if (first_s > 0.0 || second_s > 0.0) {
        push_row(table, name, shown, (const double[]){first_s, second_s});
    }
}

static void push_bytes(struct table *table, const char *name, double first, double second)
{
    const char *const shown[2] = {report_bytes(table->arena, first),
                                  report_bytes(table->arena, second)};
    if (first > 0.0 || second > 0.0) {
        push_row(table, name, shown, (const double[]){first, second});
    }
}

static void push_costs(struct table *table, const struct verdict *first,
                       const struct verdict *second)
{
    for (uint32_t i = 0; i < COST_COUNT; i++) {
        if (estimator_cost_key(i, table->arena) != NULL) {
            push_seconds(table, report_cost_name(i, table->arena), slowest(first)->cost_s[i],
                         slowest(second)->cost_s[i]);
        }
    }
}

/* The first plan answers another question: its line, where it differs. */
static void dump_difference(struct command *command, const struct question *first,
                            const struct question *second)
{
    if (first->model.digest == second->model.digest &&
        first->cluster.digest == second->cluster.digest &&
        setup_digest(&first->setup, command->arena) ==
            setup_digest(&second->setup, command->arena)) {
        return;
    }
    text_push(&command->out,
              "The questions differ. The first is %s on %s, %llu sequences of %llu tokens, %s, "
              "runtime %s.\n\n",
              first->model.name, first->cluster.name, (unsigned long long)first->setup.global_batch,
              (unsigned long long)first->setup.seq_length, dtype_name(first->setup.dtype),
              first->runtime.name);
}

void compare_dump(struct command *command, const struct compared *first,
                  const struct question *question, const struct verdict *second)
{
    static const char *const headings[] = {"", ">first", ">second", ">change", NULL};
    const struct verdict *before = &first->verdict;
    struct report_rates rates[2];
    struct table table;
    text_push(&command->out, "\nCompared with %s, the first:\n\n", first->name);
    dump_difference(command, &first->question, question);
    report_dump_flags(command, "first", first->plan, &first->question.runtime);
    report_dump_flags(command, "second", second->plan, &question->runtime);
    text_push(&command->out, "\n");
    table_init(&table, command->arena, headings);
    report_find_rates(&first->question, before->estimate.step_s, &rates[0]);
    report_find_rates(question, second->estimate.step_s, &rates[1]);
    push_seconds(&table, "time per step", before->estimate.step_s, second->estimate.step_s);
    push_seconds(&table, "simulated", before->simulated_step_s, second->simulated_step_s);
    const double tokens[2] = {rates[0].tokens_per_s_per_device, rates[1].tokens_per_s_per_device};
    const char *const shown[2] = {report_count(command->arena, (uint64_t)(tokens[0] + 0.5)),
                                  report_count(command->arena, (uint64_t)(tokens[1] + 0.5))};
    push_row(&table, "tokens/s per device", shown, tokens);
    push_costs(&table, before, second);
    push_bytes(&table, "memory", before->estimate.peak_bytes, second->estimate.peak_bytes);
    for (uint32_t i = 0; i < MEMORY_CLASS_COUNT; i++) {
        push_bytes(&table, report_memory_name(i), fullest(before)->memory_bytes[i],
                   fullest(second)->memory_bytes[i]);
    }
    table_dump(&table, &command->out);
    text_push(&command->out, "times of each plan's slowest stage, memory of its fullest\n");
}
