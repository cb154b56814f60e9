/* `shardplan validate`: predictions against published or own measurements. */
#include <string.h>

#include "tools/validate.h"

extern const struct command_kind command_validate;

static const struct flag flags[] = {
    {.name = "--where",
     .kind = FLAG_TEXT,
     .value = "LIST",
     .help = "only rows whose cells hold these texts: \"tier=A,framework!=vTrain\"",
     .absent = "all rows"},
    {.name = "--max-median-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest median of absolute errors of time, as a share (0.05)",
     .absent = "no limit"},
    {.name = "--max-p90-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest 90th percentile of absolute errors of time",
     .absent = "no limit"},
    {.name = "--max-bias",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest mean error of time, either way",
     .absent = "no limit"},
    {.name = "--max-memory-median-error",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "largest median of absolute errors of memory",
     .absent = "no limit"},
    {.name = "--baseline",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "earlier answer of `validate --json`, to compare every group of rows with",
     .absent = "no comparison"},
    {.name = "--max-regression",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "beside --baseline: how much the median error of a group may grow",
     .fallback = "0.005"},
    {.name = "--max-drift",
     .kind = FLAG_NUMBER,
     .value = "F",
     .help = "beside --baseline: how far the predictions of a group may move (median)",
     .fallback = "0.01"},
    {.name = "--junit", .kind = FLAG_TEXT, .value = "FILE", .help = "writes a JUnit XML report"},
    {.name = "--gnuplot",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "writes a gnuplot script: predicted over measured time"},
    {.name = NULL},
};

/* --- which rows ------------------------------------------------------------------------------ */

struct condition {
    const char *column, *text;
    bool wanted;
};

#define CONDITION_MAX 16u

static bool read_condition(struct command *command, const char *text, struct condition *out)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || (equals[-1] == '!' && equals == text + 1)) {
        return diag_push(command->diag, DIAG_C731, (struct diag_place){0}, NULL,
                         "--where has '%s': write COLUMN=TEXT or COLUMN!=TEXT", text);
    }
    out->wanted = equals[-1] != '!';
    out->column =
        text_build_copy(command->arena, text, (size_t)(equals - text) - (out->wanted ? 0 : 1));
    out->text = text_build(command->arena, "%s", equals + 1);
    return true;
}

static bool read_conditions(struct command *command, struct condition *out, uint32_t *count)
{
    const char *list = "";
    *count = 0;
    if (command_has(command, "--where") && !command_text(command, "--where", &list)) {
        return false;
    }
    while (*list != '\0') {
        const size_t length = strcspn(list, ",");
        if (*count == CONDITION_MAX) {
            return diag_push(command->diag, DIAG_C731, (struct diag_place){0}, NULL,
                             "--where has more than %u conditions", CONDITION_MAX);
        }
        if (!read_condition(command, text_build_copy(command->arena, list, length),
                            &out[(*count)++])) {
            return false;
        }
        list += length + (list[length] == ',' ? 1 : 0);
    }
    return true;
}

static bool check_columns(struct command *command, const struct csv *csv,
                          const struct condition *conditions, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (csv_find_column(csv, conditions[i].column) == CSV_NO_COLUMN) {
            return diag_push(
                command->diag, DIAG_C731, (struct diag_place){.file = csv->name},
                command_hint(command, conditions[i].column, csv->columns, csv->column_count, NULL),
                "there is no column '%s' to choose rows by", conditions[i].column);
        }
    }
    return true;
}

static bool is_wanted(const struct csv *csv, uint32_t row, const struct condition *conditions,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *cell = csv_find_cell(csv, row, csv_find_column(csv, conditions[i].column));
        const char *const words[] = {conditions[i].text, NULL};
        const bool holds = conditions[i].text[0] == '\0' ? cell[0] == '\0'
                                                         : measured_find_word(cell, words) != NULL;
        if (holds != conditions[i].wanted) {
            return false;
        }
    }
    return true;
}

/* --- reading --------------------------------------------------------------------------------- */

/* "../measured/vtrain_a100.csv" is the source "vtrain_a100". */
static const char *table_name(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    return text_build_copy(arena, name,
                           dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name));
}

static struct validated *next_row(struct validation *all, struct arena *arena)
{
    if (all->count == all->capacity) {
        const uint32_t capacity = all->capacity == 0 ? 256 : 2 * all->capacity;
        struct validated *grown = ARENA_PUSH(arena, struct validated, capacity);
        if (all->count > 0) {
            memcpy(grown, all->rows, all->count * sizeof *grown);
        }
        all->rows = grown;
        all->capacity = capacity;
    }
    return &all->rows[all->count++];
}

struct reading {
    struct command *command;
    struct condition conditions[CONDITION_MAX];
    uint32_t condition_count, tables;
    struct text others; /* files without training rows */
};

static bool read_file(struct reading *reading, const char *path, struct validation *all)
{
    struct command *command = reading->command;
    struct text text;
    struct csv csv;
    if (!command_read_file(command, path, &text) ||
        !csv_read(path, text.bytes, text.length, command->arena, &csv, command->diag)) {
        return false;
    }
    if (!measured_is_table(&csv)) {
        text_push(&reading->others,
                  "%s has no training rows (columns accelerator, n_accel, seq_len, "
                  "global_batch and a time): %u rows left out\n",
                  path, csv.row_count);
        return true;
    }
    if (!check_columns(command, &csv, reading->conditions, reading->condition_count)) {
        return false;
    }
    reading->tables++;
    const char *table = table_name(path, command->arena);
    for (uint32_t i = 0; i < csv.row_count; i++) {
        if (is_wanted(&csv, i, reading->conditions, reading->condition_count)) {
            struct validated *row = next_row(all, command->arena);
            row->table = table;
            row->skipped = NULL;
            (void)measured_read(&csv, i, command->arena, &row->row, &row->skipped);
        }
    }
    return true;
}

static bool read_files(struct reading *reading, struct validation *all)
{
    struct command *command = reading->command;
    bool good = true;
    for (uint32_t i = 0; i < command->positional_count; i++) {
        good = read_file(reading, command->positional[i], all) && good;
    }
    if (good && reading->tables == 0) {
        return diag_push(command->diag, DIAG_C730, (struct diag_place){0},
                         "docs/validate.md lists the columns",
                         "no file has the columns accelerator, n_accel, seq_len, global_batch and "
                         "iteration_time_s or tokens_per_s_per_accel");
    }
    return good;
}

/* --- answering ------------------------------------------------------------------------------- */

static bool write_files(struct command *command, const struct validation *all,
                        const struct validate_verdict *verdict)
{
    const char *path;
    struct text text;
    text_init(&text, command->arena);
    if (command_has(command, "--junit")) {
        validate_dump_junit(all, verdict, &text);
        if (!command_text(command, "--junit", &path) || !command_write(command, path, &text)) {
            return false;
        }
    }
    text_init(&text, command->arena);
    if (command_has(command, "--gnuplot")) {
        validate_dump_gnuplot(all, &text);
        return command_text(command, "--gnuplot", &path) && command_write(command, path, &text);
    }
    return true;
}

static void dump_failures(struct command *command, const struct validate_verdict *verdict)
{
    for (uint32_t i = 0; i < verdict->count; i++) {
        text_push(&command->out, "%sFAILED %s: %s\n", i == 0 ? "\n" : "", verdict->failures[i].name,
                  verdict->failures[i].message);
    }
}

static int run(struct command *command)
{
    struct reading reading = {.command = command};
    struct validation all = {0};
    struct validate_verdict verdict;
    text_init(&reading.others, command->arena);
    if (!read_conditions(command, reading.conditions, &reading.condition_count) ||
        !read_files(&reading, &all)) {
        return command_fail(command);
    }
    struct validate_bench *bench = validate_bench_init(command);
    if (bench == NULL) {
        return command_fail(command);
    }
    for (uint32_t i = 0; i < all.count; i++) {
        if (all.rows[i].skipped == NULL) {
            validate_judge(bench, &all.rows[i]);
        }
    }
    if (!validate_check(command, &all, &verdict) || !write_files(command, &all, &verdict)) {
        return command_fail(command);
    }
    if (command->json) {
        validate_dump_json(command, &all);
    } else {
        text_push(&command->out, "%s%s", reading.others.bytes,
                  reading.others.length > 0 ? "\n" : "");
        validate_dump_people(command, &all);
        dump_failures(command, &verdict);
    }
    return verdict.count > 0 ? 1 : 0;
}

static const struct flag_group groups[] = {
    {.title = "Validation", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_validate = {
    .name = "validate",
    .usage = "shardplan validate FILE... [...]",
    .summary = "how far predictions are from measured training steps in CSV files",
    .lesson = "Each row of a table of measured steps (docs/validate.md lists the columns) is "
              "expressed as\n"
              "model, cluster, setup, plan, runtime; its time and memory are predicted and "
              "compared. Rows\n"
              "that cannot be expressed are skipped, each with its reason.\n\n"
              "  shardplan validate runs.csv\n"
              "  shardplan validate runs.csv --where tier=A --max-median-error 0.08\n"
              "  shardplan validate runs.csv --json > before.json\n"
              "  shardplan validate runs.csv --baseline before.json --junit report.xml\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = UINT32_MAX,
    .run = run,
};
