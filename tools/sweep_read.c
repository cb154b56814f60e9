/* The file of a sweep, and the place of this process among others. */
#include "tools/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define VALUE_MAX 4096u /* of one flag */

const char sweep_bare_flag[] = "true", sweep_no_flag[] = "false";

/* Numbers and strings as they stand. */
static const char *read_word(struct json_value value, struct arena *arena)
{
    const char *text;
    bool on;
    if (json_value_string(value, &text)) {
        return text_build_copy(arena, text, strlen(text));
    }
    if (json_value_bool(value, &on)) {
        return on ? sweep_bare_flag : sweep_no_flag;
    }
    return json_is_number(value) ? json_value_text(value, arena) : NULL;
}

/* Flags that make the command print or write something else than the answer that is read. */
static bool is_ours(const char *flag)
{
    static const char *const ours[] = {"--json", "--help", "--timing", "-o"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (strcmp(flag, ours[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_values(struct command *command, struct json_value value, struct sweep_axis *out)
{
    const bool many = json_is_array(value);
    const uint32_t count = many ? json_count(value) : 1;
    out->flag = text_build_copy(command->arena, json_key(value), strlen(json_key(value)));
    if (is_ours(out->flag)) {
        return diag_push(command->diag, DIAG_C760, json_place(value), NULL,
                         "'%s' is none of the flags that a sweep passes on: its own table is the "
                         "answer",
                         out->flag);
    }
    if (count == 0 || count > VALUE_MAX) {
        return diag_push(command->diag, DIAG_C760, json_place(value), NULL,
                         "'%s' has %u values: 1 to %u are possible", out->flag, count, VALUE_MAX);
    }
    out->values = ARENA_PUSH(command->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        out->values[i] = read_word(many ? json_find_index(value, i) : value, command->arena);
        if (out->values[i] == NULL) {
            return diag_push(command->diag, DIAG_C760, json_place(value),
                             "a flag takes a string, a number, true or false",
                             "value %u of '%s' is no word of a command line", i + 1, out->flag);
        }
    }
    out->count = count;
    return true;
}

/* The flags of one member of the file; lists only where `many`. */
static bool read_axes(struct command *command, struct json_value object, bool many,
                      const struct sweep_axis **out, uint32_t *count)
{
    *count = json_is_object(object) ? json_count(object) : 0;
    struct sweep_axis *axes = ARENA_PUSH(command->arena, struct sweep_axis, *count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        const struct json_value value = json_find_index(object, i);
        if (!many && json_is_array(value)) {
            return diag_push(command->diag, DIAG_C760, json_place(value), "lists go under 'vary'",
                             "'%s' under 'flags' is a list", json_key(value));
        }
        if (!read_values(command, value, &axes[i])) {
            return false;
        }
    }
    *out = axes;
    return json_is_null(object) || json_is_object(object) ||
           diag_push(command->diag, DIAG_C760, json_place(object), NULL,
                     "it must be an object of flags: {\"--tp\": [1, 2, 4]}");
}

static bool read_columns(struct command *command, struct json_value list, struct sweep *out)
{
    static const char *usual[] = {
        "step_s",           "tokens_per_s_per_device", "mfu_frac",           "peak_memory_bytes",
        "simulated_step_s", "certificate/gap_frac",    "configuration/flags"};
    if (json_is_null(list)) {
        out->columns = usual;
        out->column_count = sizeof usual / sizeof usual[0];
        return true;
    }
    out->column_count = json_is_array(list) ? json_count(list) : 0;
    out->columns = ARENA_PUSH(command->arena, const char *, out->column_count + 1);
    for (uint32_t i = 0; i < out->column_count; i++) {
        if (!json_value_string(json_find_index(list, i), &out->columns[i])) {
            out->column_count = 0;
        } else {
            out->columns[i] =
                text_build_copy(command->arena, out->columns[i], strlen(out->columns[i]));
        }
    }
    for (uint32_t i = 0; i < out->column_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(out->columns[i], out->columns[k]) == 0) {
                return diag_push(command->diag, DIAG_C760, json_place(list), NULL,
                                 "column '%s' is asked for twice", out->columns[i]);
            }
        }
    }
    return out->column_count > 0 || diag_push(command->diag, DIAG_C760, json_place(list),
                                              "[\"step_s\", \"configuration/flags\"]",
                                              "'columns' must be a list of keys of the answer");
}

static bool count_points(struct command *command, struct sweep *out)
{
    uint64_t points = 1;
    for (uint32_t i = 0; i < out->axis_count && points <= SWEEP_POINT_MAX; i++) {
        points *= out->axes[i].count;
    }
    out->point_count = (uint32_t)points;
    return points <= SWEEP_POINT_MAX ||
           diag_push(command->diag, DIAG_C760, (struct diag_place){0}, NULL,
                     "the lists make more than %u points", SWEEP_POINT_MAX);
}

static bool check_names(struct command *command, struct json_value root, const struct sweep *sweep)
{
    if (strcmp(sweep->name, command->kind->name) == 0) {
        return diag_push(command->diag, DIAG_C760, json_place(root), NULL,
                         "a sweep cannot run itself at every point");
    }
    for (uint32_t i = 0; i < sweep->fixed_count; i++) {
        for (uint32_t k = 0; k < sweep->axis_count; k++) {
            if (strcmp(sweep->fixed[i].flag, sweep->axes[k].flag) == 0) {
                return diag_push(command->diag, DIAG_C760, json_place(root), NULL,
                                 "'%s' stands under 'flags' and under 'vary'",
                                 sweep->fixed[i].flag);
            }
        }
    }
    return true;
}

static bool read_spec(struct command *command, struct json_value root, struct sweep *out)
{
    static const char *const keys[] = {"format", "command", "flags", "vary", "columns", NULL};
    static const char *const formats[] = {"shardplan/sweep/1", NULL};
    struct diag *diag = command->diag;
    uint32_t format;
    return json_check_keys(root, keys, diag) &&
           json_read_choice(root, "format", formats, &format, diag) &&
           json_read_string_or(root, "command", "plan", command->arena, &out->name, diag) &&
           read_axes(command, json_find(root, "flags"), false, &out->fixed, &out->fixed_count) &&
           read_axes(command, json_find(root, "vary"), true, &out->axes, &out->axis_count) &&
           read_columns(command, json_find(root, "columns"), out) &&
           check_names(command, root, out) && count_points(command, out);
}

bool sweep_read(struct command *command, struct sweep *out)
{
    struct json *document;
    if (!json_open(command->positional[0], false, command->arena, &document, command->diag)) {
        return false;
    }
    const bool good = read_spec(command, json_root(document), out);
    out->digest = json_digest(document);
    json_close(document);
    return good;
}

/* Launchers number their processes in the environment: Open MPI, MPICH and others, srun (a batch
 * script alone has Slurm's number of tasks, not that of a step). */
void sweep_find_rank(struct sweep *out)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
    out->rank = 0;
    out->rank_count = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank_text = getenv(names[i][0]), *count_text = getenv(names[i][1]);
        if (rank_text == NULL || count_text == NULL) {
            continue;
        }
        const unsigned long rank = strtoul(rank_text, NULL, 10);
        const unsigned long count = strtoul(count_text, NULL, 10);
        if (rank < count && count <= SWEEP_POINT_MAX) {
            out->rank = (uint32_t)rank;
            out->rank_count = (uint32_t)count;
            return;
        }
    }
}

uint32_t sweep_find_choice(const struct sweep *sweep, uint32_t point, uint32_t axis)
{
    for (uint32_t i = sweep->axis_count - 1; i > axis; i--) {
        point /= sweep->axes[i].count;
    }
    return point % sweep->axes[axis].count;
}
