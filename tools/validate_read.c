/* Rows of the files that a command was given, those that --where asks for. */
#include <string.h>

#include "tools/validate.h"

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
    ARENA_MAKE_ROOM(arena, all->rows, all->count, all->capacity);
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

bool validate_read(struct command *command, struct validation *out)
{
    struct reading reading = {.command = command};
    memset(out, 0, sizeof *out);
    text_init(&reading.others, command->arena);
    if (!read_conditions(command, reading.conditions, &reading.condition_count) ||
        !read_files(&reading, out)) {
        return false;
    }
    out->others = reading.others.bytes;
    return true;
}
