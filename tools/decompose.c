/* One effect after another is switched on in the simulator, from nothing, where it must give the
 * cost model's time. */
#include "tools/decompose.h"

#include "base/table.h"

enum { ROW_MODEL, ROW_SLOTS, ROW_KERNELS, ROW_ROUNDING, ROW_OVERLAP, ROW_ARRIVAL, ROW_CONTENTION };

static const struct effect {
    const char *key, *words;
} effects[DECOMPOSE_ROWS] = {
    {"cost_model", "the cost model"},
    {"slots", "the simulator with everything off, slot by slot"},
    {"kernels", "kernel by kernel"},
    {"rounding", "times rounded to picoseconds"},
    {"overlap", "gradient sums start layer by layer, rare ones when due"},
    {"arrival", "who exchanges waits for the last to arrive"},
    {"contention", "messages share the ports of their device"},
};

static struct sim_options options_of(uint32_t row)
{
    struct sim_options options = sim_full_options();
    options.granularity = row >= ROW_KERNELS ? SIM_OPS : SIM_SLOTS;
    options.rounding = row >= ROW_ROUNDING;
    options.overlap = row >= ROW_OVERLAP;
    options.arrival = row >= ROW_ARRIVAL;
    options.contention = row >= ROW_CONTENTION;
    return options;
}

static bool run_row(struct command *command, const struct question *question,
                    const struct plan *plan, uint32_t row, double *out)
{
    struct simulated simulated;
    struct sim_result result;
    const struct sim_options options = options_of(row);
    if (!simulated_build(command, question, plan, &options, &simulated) ||
        !sim_run(&simulated.sim, &simulated.load, command->arena, &result, command->diag)) {
        return false;
    }
    *out = result.estimate.step_s;
    return true;
}

bool decompose_find(struct command *command, const struct question *question, struct plan *plan,
                    struct decomposition *out)
{
    struct verdict verdict;
    report_judge(command, question, plan, &verdict);
    for (uint32_t row = 0; row < DECOMPOSE_ROWS; row++) {
        out->keys[row] = effects[row].key;
        out->words[row] = effects[row].words;
        out->step_s[row] = verdict.estimate.step_s;
        if (row != ROW_MODEL && !run_row(command, question, plan, row, &out->step_s[row])) {
            return false;
        }
    }
    return true;
}

void decompose_push_json(const struct decomposition *parts, struct json_writer *out)
{
    json_push_key(out, "decomposition");
    json_push_array(out);
    for (uint32_t row = 0; row < DECOMPOSE_ROWS; row++) {
        json_push_object(out);
        json_push_key_string(out, "effect", parts->keys[row]);
        json_push_key_double(out, "step_s", parts->step_s[row]);
        json_push_key_double(out, "change_s",
                             row == 0 ? 0.0 : parts->step_s[row] - parts->step_s[row - 1]);
        json_pop_object(out);
    }
    json_pop_array(out);
}

void decompose_dump(struct command *command, const struct decomposition *parts)
{
    static const char *const headings[] = {"what is switched on, one after another", ">step",
                                           ">change", NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t row = 0; row < DECOMPOSE_ROWS; row++) {
        table_push(&table, "%s", parts->words[row]);
        table_push(&table, "%s", report_seconds(command->arena, parts->step_s[row]));
        if (row == 0) {
            table_push(&table, "-");
        } else {
            const double change = parts->step_s[row] / parts->step_s[row - 1] - 1.0;
            table_push(&table, "%+.2f %%", 100.0 * change);
        }
    }
    text_push(&command->out, "\n");
    table_dump(&table, &command->out);
}
