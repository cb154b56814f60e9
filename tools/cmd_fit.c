/* `shardplan fit`: constants of runtimes and devices from measured steps. */
#include <string.h>

#include "base/table.h"
#include "tools/fit.h"

extern const struct command_kind command_fit;

static const struct flag flags[] = {
    {.name = "--where",
     .kind = FLAG_TEXT,
     .value = "LIST",
     .help = "only rows whose cells hold these texts: \"tier=A,framework!=vTrain\"",
     .absent = "all rows"},
    {.name = "--least-rows",
     .kind = FLAG_COUNT,
     .value = "N",
     .help =
         "rows that must speak for a constant of a device before it is moved; of a runtime twice "
         "as many",
     .fallback = "8",
     .min = 1},
    {.name = "--most-rows",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "rows of one source that are fitted to, evenly chosen; all are predicted",
     .fallback = "100",
     .min = 1,
     .max = UINT32_MAX - 1},
    {.name = "--rounds",
     .kind = FLAG_COUNT,
     .value = "N",
     .help = "how often the steps are halved",
     .fallback = "4",
     .min = 1,
     .max = 20},
    {.name = "--leave-out",
     .kind = FLAG_TOGGLE,
     .help = "fits again without each source, then predicts it",
     .fallback = "off"},
    {.name = NULL},
};

static const char *value_text(struct command *command, const struct fit_constant *constant,
                              double value)
{
    struct text text;
    if (constant->field->unit == UNIT_KIND_COUNT) {
        return text_build(command->arena, "%.4g", value);
    }
    text_init(&text, command->arena);
    unit_dump_short(constant->field->unit, value, &text);
    return text.bytes;
}

static void dump_constants(struct command *command, const struct fit *fit, bool ranges)
{
    static const char *const headings[] = {"constant", "of",       ">before", ">fitted",
                                           ">lowest",  ">highest", ">rows",   NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct fit_constant *constant = &fit->constants[i];
        table_push(&table, "%s", constant->field->key);
        table_push(&table, "%s", constant->owner);
        table_push(&table, "%s", value_text(command, constant, constant->before));
        table_push(&table, "%s", value_text(command, constant, constant->value));
        table_push(&table, "%s", ranges ? value_text(command, constant, constant->low) : "-");
        table_push(&table, "%s", ranges ? value_text(command, constant, constant->high) : "-");
        table_push(&table, "%u", constant->rows);
    }
    table_dump(&table, &command->out);
}

static const struct validate_group *find_source(const struct validate_group *groups, uint32_t count,
                                                const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (groups[i].key != NULL && strcmp(groups[i].key->name, "source") == 0 &&
            strcmp(groups[i].value, name) == 0) {
            return &groups[i];
        }
    }
    BUG("source '%s' has no rows", name);
}

static void note_ranges(struct fit *fit, const double *fitted)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        struct fit_constant *constant = &fit->constants[i];
        constant->low = constant->value < constant->low ? constant->value : constant->low;
        constant->high = constant->value > constant->high ? constant->value : constant->high;
        constant->value = fitted[i];
    }
}

/* Each source predicted by constants that have not seen it. */
static void leave_out(struct command *command, struct fit *fit, uint32_t rounds)
{
    static const char *const headings[] = {
        "left out", ">rows", ">median % with it", ">median % without", ">p90 %", ">bias %", NULL};
    uint32_t count, again;
    const struct validate_group *with = validate_groups(fit->all, command->arena, &count);
    double *fitted = ARENA_PUSH(command->arena, double, fit->count);
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < fit->count; i++) {
        fitted[i] = fit->constants[i].low = fit->constants[i].high = fit->constants[i].value;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (with[i].key == NULL || strcmp(with[i].key->name, "source") != 0) {
            continue;
        }
        fit_weigh(fit, with[i].value);
        for (uint32_t k = 0; k < fit->count; k++) {
            fit->constants[k].value = fit->constants[k].before;
        }
        fit_run(fit, rounds);
        const struct validate_group *groups = validate_groups(fit->all, command->arena, &again);
        const struct validate_group *without = find_source(groups, again, with[i].value);
        table_push(&table, "%s", with[i].value);
        table_push(&table, "%u", without->time.n);
        table_push(&table, "%.1f", 100.0 * with[i].time.median_abs_frac);
        table_push(&table, "%.1f", 100.0 * without->time.median_abs_frac);
        table_push(&table, "%.1f", 100.0 * without->time.p90_abs_frac);
        table_push(&table, "%+.1f", 100.0 * without->time.bias_frac);
        note_ranges(fit, fitted);
    }
    fit_weigh(fit, NULL);
    fit_judge(fit);
    table_dump(&table, &command->out);
    text_push(&command->out, "\n");
}

static int run(struct command *command)
{
    struct validation all;
    struct fit fit;
    uint64_t least, most, rounds;
    bool leaves = false;
    if (!validate_read(command, &all) || !command_count(command, "--least-rows", &least) ||
        !command_count(command, "--most-rows", &most) ||
        !command_count(command, "--rounds", &rounds) ||
        !command_toggle(command, "--leave-out", &leaves)) {
        return command_fail(command);
    }
    struct validate_bench *bench = validate_bench_init(command);
    if (bench == NULL) {
        return command_fail(command);
    }
    validate_judge_all(bench, &all);
    fit_build(command, bench, &all, (struct fit_size){(uint32_t)least, (uint32_t)most}, &fit);
    fit_run(&fit, (uint32_t)rounds);
    if (leaves) {
        leave_out(command, &fit, (uint32_t)rounds);
    }
    dump_constants(command, &fit, leaves);
    text_push(&command->out, "\nWith these constants:\n");
    validate_dump_people(command, &all);
    validate_bench_release(bench);
    return 0;
}

static const struct flag_group groups[] = {
    {.title = "Fitting", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_fit = {
    .name = "fit",
    .usage = "shardplan fit FILE... [...]",
    .summary = "constants of runtimes and devices that predict measured training steps best",
    .lesson =
        "Moves the physical constants of prices/runtimes/ and of the `training` member of "
        "devices,\n"
        "within their bounds, until the rows of the tables (docs/validate.md) are predicted best.\n"
        "Prints them with the range that they take when one source is left out, and how well each\n"
        "source is predicted by constants that have not seen it. No file is changed.\n\n"
        "  shardplan fit runs.csv --where tier=A\n"
        "  shardplan fit a.csv b.csv c.csv --leave-out\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = UINT32_MAX,
    .run = run,
};
