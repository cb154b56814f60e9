/* `shardplan fit`: constants of runtimes and devices from measured steps. */
#include <string.h>

#include "base/table.h"
#include "tools/fit.h"

extern const struct command_kind command_fit;

static const char *const leaves[] = {"source", "accelerator", "size", NULL};

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
    {.name = "--leave",
     .kind = FLAG_CHOICE,
     .value = "source|accelerator|size",
     .choices = leaves,
     .help = "fits again without the rows of each source, accelerator or model, then predicts them",
     .absent = "nothing is left out"},
    {.name = "--output",
     .kind = FLAG_TEXT,
     .value = "DIR",
     .help = "writes the data files with these constants to DIR/prices/runtimes and "
             "DIR/topologies/accelerators; the data folder itself: refits in place",
     .absent = "no file is written"},
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

/* One row of the table that leaves rows out. */
struct left {
    const struct fit_key *key;
    const char *value;
    struct error_summary with, without;
};

static bool is_left(const struct validated *row, const void *context)
{
    const struct left *left = context;
    return strcmp(left->key->value(row), left->value) == 0;
}

/* The values of a key in the order of the rows, with the errors of the fit that has seen them. */
static uint32_t find_left(struct command *command, const struct fit *fit, const struct fit_key *key,
                          struct left *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fit->all->count; i++) {
        const struct validated *row = &fit->all->rows[i];
        bool known = row->skipped != NULL;
        for (uint32_t k = 0; k < count && !known; k++) {
            known = is_left(row, &out[k]);
        }
        if (!known) {
            struct left *left = &out[count++];
            *left = (struct left){.key = key, .value = key->value(row)};
            validate_summarise(fit->all, is_left, left, command->arena, &left->with);
        }
    }
    return count;
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

/* Rows judged by constants that have not seen them: the errors are put together again, so that all
 * of them can be summed up. */
static void predict_left(struct command *command, struct fit *fit, uint32_t rounds,
                         struct left *left, double *errors)
{
    fit_weigh(fit, left->key, left->value);
    fit_forget(fit);
    fit_run(fit, rounds);
    validate_summarise(fit->all, is_left, left, command->arena, &left->without);
    for (uint32_t i = 0; i < fit->all->count; i++) {
        if (fit->all->rows[i].skipped == NULL && is_left(&fit->all->rows[i], left)) {
            errors[i] = fit->all->rows[i].error_frac;
        }
    }
}

static void dump_left(struct command *command, const struct left *left, uint32_t count)
{
    static const char *const headings[] = {"left out", ">rows",  ">median % with it", ">without",
                                           ">mean %",  ">p90 %", ">bias %",           NULL};
    struct table table;
    table_init(&table, command->arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        table_push(&table, "%s", left[i].value);
        table_push(&table, "%u", left[i].without.n);
        table_push(&table, "%.1f", 100.0 * left[i].with.median_abs_frac);
        table_push(&table, "%.1f", 100.0 * left[i].without.median_abs_frac);
        table_push(&table, "%.1f", 100.0 * left[i].without.mean_abs_frac);
        table_push(&table, "%.1f", 100.0 * left[i].without.p90_abs_frac);
        table_push(&table, "%+.1f", 100.0 * left[i].without.bias_frac);
    }
    table_dump(&table, &command->out);
    text_push(&command->out, "\n");
}

static bool is_any(const struct validated *row, const void *context)
{
    (void)context;
    return row->error_frac > -1.0;
}

/* Each group predicted by constants that have not seen it, from what is known without any row. */
static void leave_out(struct command *command, struct fit *fit, uint32_t rounds,
                      const struct fit_key *key)
{
    struct left *left = ARENA_PUSH(command->arena, struct left, fit->all->count + 1);
    double *errors = ARENA_PUSH(command->arena, double, fit->all->count);
    double *fitted = ARENA_PUSH(command->arena, double, fit->count);
    const uint32_t count = find_left(command, fit, key, left);
    for (uint32_t i = 0; i < fit->count; i++) {
        fitted[i] = fit->constants[i].low = fit->constants[i].high = fit->constants[i].value;
    }
    validate_summarise(fit->all, is_any, NULL, command->arena, &left[count].with);
    for (uint32_t i = 0; i < count; i++) {
        predict_left(command, fit, rounds, &left[i], errors);
        note_ranges(fit, fitted);
    }
    for (uint32_t i = 0; i < fit->all->count; i++) {
        fit->all->rows[i].error_frac = errors[i];
    }
    left[count].value = "all of them";
    validate_summarise(fit->all, is_any, NULL, command->arena, &left[count].without);
    dump_left(command, left, count + 1);
    fit_weigh(fit, NULL, NULL);
    fit_judge(fit);
}

struct request {
    struct fit_size size;
    uint32_t rounds;
    const struct fit_key *leave; /* NULL: nothing is left out */
    const char *output;          /* NULL: nothing is written */
};

static bool read_request(struct command *command, struct request *out)
{
    uint64_t least, most, rounds;
    uint32_t leave = 0;
    *out = (struct request){.leave = NULL};
    if (!command_count(command, "--least-rows", &least) ||
        !command_count(command, "--most-rows", &most) ||
        !command_count(command, "--rounds", &rounds) ||
        (command_has(command, "--leave") && !command_choice(command, "--leave", &leave)) ||
        (command_has(command, "--output") && !command_text(command, "--output", &out->output))) {
        return false;
    }
    out->size = (struct fit_size){(uint32_t)least, (uint32_t)most};
    out->rounds = (uint32_t)rounds;
    for (uint32_t i = 0; command_has(command, "--leave") && fit_keys[i].name != NULL; i++) {
        out->leave = strcmp(fit_keys[i].name, leaves[leave]) == 0 ? &fit_keys[i] : out->leave;
    }
    return true;
}

static int run(struct command *command)
{
    struct validation all;
    struct fit fit;
    struct request request;
    if (!validate_read(command, &all) || !read_request(command, &request)) {
        return command_fail(command);
    }
    struct validate_bench *bench = validate_bench_init(command);
    if (bench == NULL) {
        return command_fail(command);
    }
    validate_judge_all(bench, &all);
    fit_build(command, bench, &all, request.size, &fit);
    fit_run(&fit, request.rounds);
    if (request.output != NULL && !fit_write(command, &fit, request.output)) {
        validate_bench_release(bench);
        return command_fail(command);
    }
    if (request.leave != NULL) {
        leave_out(command, &fit, request.rounds, request.leave);
    }
    dump_constants(command, &fit, request.leave != NULL);
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
        "They start from what is known without any step, and are held to it where rows say "
        "little.\n"
        "Printed with the range that they take when rows are left out, and how well those are\n"
        "predicted by constants that have not seen them.\n\n"
        "  shardplan fit runs.csv --where tier=A\n"
        "  shardplan fit a.csv b.csv c.csv --leave source\n"
        "  shardplan fit a.csv b.csv c.csv --output data\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = UINT32_MAX,
    .run = run,
};
