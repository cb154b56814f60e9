/* `shardplan sweep`: one command at every combination of lists of values, to CSV. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "tools/command.h"

extern const struct command_kind command_sweep;

#define POINT_MAX 1000000u
#define VALUE_MAX 4096u /* of one flag */

/* A flag with the values that it takes, as words of a command line. */
struct sweep_axis {
    const char *flag;
    const char **values; /* "on": the bare flag */
    uint32_t count;
};

struct sweep {
    const char *name;               /* of the command that is run */
    const struct sweep_axis *fixed; /* one value each */
    uint32_t fixed_count;
    const struct sweep_axis *axes; /* the last varies fastest */
    uint32_t axis_count;
    const char **columns; /* keys of the command's JSON, nested ones joined by '/' */
    uint32_t column_count, point_count;
    uint32_t rank, rank_count; /* this process does points rank, rank + rank_count, ... */
};

/* What one point gave; in an arena that goes with the point. */
struct sweep_answer {
    const char *status; /* "yes", "no", "fault" */
    const char *message;
    const char **cells; /* per column, JSON as it stands; NULL where the answer has no such key */
};

/* --- what is asked ---------------------------------------------------------------------------- */

/* Numbers and strings as they stand; true is a bare flag. */
static const char *read_word(struct json_value value, struct arena *arena)
{
    const char *text;
    bool on;
    if (json_value_string(value, &text)) {
        return text_build_copy(arena, text, strlen(text));
    }
    if (json_value_bool(value, &on)) {
        return on ? "on" : "off";
    }
    return json_is_number(value) ? json_value_text(value, arena) : NULL;
}

static bool read_values(struct command *command, struct json_value value, struct sweep_axis *out)
{
    const bool many = json_is_array(value);
    const uint32_t count = many ? json_count(value) : 1;
    out->flag = text_build_copy(command->arena, json_key(value), strlen(json_key(value)));
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
    return out->column_count > 0 || diag_push(command->diag, DIAG_C760, json_place(list),
                                              "[\"step_s\", \"configuration/flags\"]",
                                              "'columns' must be a list of keys of the answer");
}

static bool count_points(struct command *command, struct sweep *out)
{
    uint64_t points = 1;
    for (uint32_t i = 0; i < out->axis_count && points <= POINT_MAX; i++) {
        points *= out->axes[i].count;
    }
    out->point_count = (uint32_t)points;
    return points <= POINT_MAX || diag_push(command->diag, DIAG_C760, (struct diag_place){0}, NULL,
                                            "the lists make more than %u points", POINT_MAX);
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
           read_columns(command, json_find(root, "columns"), out) && count_points(command, out);
}

static bool read_sweep(struct command *command, struct sweep *out)
{
    struct json *document;
    if (!json_open(command->positional[0], false, command->arena, &document, command->diag)) {
        return false;
    }
    const bool good = read_spec(command, json_root(document), out);
    json_close(document);
    return good;
}

/* Launchers number their processes in the environment: Open MPI, MPICH and others, Slurm. */
static void find_rank(struct sweep *out)
{
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};
    out->rank = 0;
    out->rank_count = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i][0]), *count = getenv(names[i][1]);
        if (rank != NULL && count != NULL && strtoul(rank, NULL, 10) < strtoul(count, NULL, 10)) {
            out->rank = (uint32_t)strtoul(rank, NULL, 10);
            out->rank_count = (uint32_t)strtoul(count, NULL, 10);
            return;
        }
    }
}

/* --- one point -------------------------------------------------------------------------------- */

/* Which value of an axis a point has. */
static uint32_t find_choice(const struct sweep *sweep, uint32_t point, uint32_t axis)
{
    for (uint32_t i = sweep->axis_count - 1; i > axis; i--) {
        point /= sweep->axes[i].count;
    }
    return point % sweep->axes[axis].count;
}

static int push_words(const struct sweep_axis *axis, uint32_t choice, struct arena *arena,
                      char **words)
{
    const char *value = axis->values[choice];
    if (strcmp(value, "off") == 0) {
        return 0;
    }
    words[0] = text_build(arena, "%s", axis->flag);
    if (strcmp(value, "on") == 0) {
        return 1;
    }
    words[1] = text_build(arena, "%s", value);
    return 2;
}

static const char *find_cell(struct json_value value, const char *path, struct arena *arena)
{
    while (*path != '\0') {
        const size_t length = strcspn(path, "/");
        value = json_find(value, text_build_copy(arena, path, length));
        if (json_is_absent(value)) {
            return NULL;
        }
        path += length + (path[length] == '/');
    }
    return json_value_text(value, arena);
}

static void read_cells(const struct sweep *sweep, const struct text *text, struct arena *arena,
                       struct sweep_answer *out)
{
    struct json *document;
    struct diag diag;
    diag_init(&diag, arena);
    if (!json_open_text("answer", text->bytes, text->length, false, arena, &document, &diag)) {
        BUG("'%s' printed no JSON", sweep->name);
    }
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        out->cells[i] = find_cell(json_root(document), sweep->columns[i], arena);
    }
    json_close(document);
}

static const char *first_message(const struct diag *diag)
{
    for (uint32_t i = 0; i < diag->kept; i++) {
        if (!diag->entries[i].warning) {
            return diag->entries[i].message;
        }
    }
    return "";
}

static void run_point(const struct sweep *sweep, uint32_t point, struct arena *arena,
                      struct sweep_answer *out)
{
    static const char *const words_of[] = {"yes", "no", "fault"};
    const uint32_t flags = sweep->fixed_count + sweep->axis_count;
    char **words = ARENA_PUSH(arena, char *, 2 * flags + 1);
    int count = 0;
    struct diag diag;
    struct text text;
    for (uint32_t i = 0; i < sweep->fixed_count; i++) {
        count += push_words(&sweep->fixed[i], 0, arena, words + count);
    }
    for (uint32_t i = 0; i < sweep->axis_count; i++) {
        count += push_words(&sweep->axes[i], find_choice(sweep, point, i), arena, words + count);
    }
    words[count++] = text_build(arena, "--json");
    diag_init(&diag, arena);
    text_init(&text, arena);
    const int status = command_call(sweep->name, count, words, arena, &diag, &text);
    out->status = words_of[status < 2 ? status : 2];
    out->message = first_message(&diag);
    out->cells = ARENA_PUSH(arena, const char *, sweep->column_count);
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        out->cells[i] = NULL;
    }
    if (status < 2) {
        read_cells(sweep, &text, arena, out);
    }
}

/* --- the table -------------------------------------------------------------------------------- */

/* In quotes where a comma, a quote or a new line would end the cell. */
static void push_word(struct text *out, const char *cell, char end)
{
    cell += strspn(cell, " ");
    if (cell[strcspn(cell, ",\"\n")] == '\0') {
        text_push(out, "%s%c", cell, end);
        return;
    }
    text_push(out, "\"");
    for (; *cell != '\0'; cell++) {
        text_push(out, *cell == '"' ? "\"\"" : "%c", *cell);
    }
    text_push(out, "\"%c", end);
}

/* JSON without the quotes of a string; nothing for null. */
static void push_cell(struct text *out, const char *cell, char end)
{
    const char *word = cell == NULL || strcmp(cell, "null") == 0 ? "" : cell;
    const size_t length = strlen(word);
    if (length > 1 && word[0] == '"') {
        word = text_build_copy(out->arena, word + 1, length - 2);
    }
    push_word(out, word, end);
}

static void push_heading(const struct sweep *sweep, struct text *out)
{
    for (uint32_t i = 0; i < sweep->axis_count; i++) {
        push_word(out, sweep->axes[i].flag + strspn(sweep->axes[i].flag, "-"), ',');
    }
    push_word(out, "answer", ',');
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        push_word(out, sweep->columns[i], ',');
    }
    push_word(out, "fault", '\n');
}

static void push_row(const struct sweep *sweep, uint32_t point, const struct sweep_answer *answer,
                     struct text *out)
{
    for (uint32_t i = 0; i < sweep->axis_count; i++) {
        push_word(out, sweep->axes[i].values[find_choice(sweep, point, i)], ',');
    }
    push_word(out, answer->status, ',');
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        push_cell(out, answer->cells[i], ',');
    }
    push_word(out, answer->message, '\n');
}

static void push_json_row(const struct sweep *sweep, uint32_t point,
                          const struct sweep_answer *answer, struct json_writer *out)
{
    json_push_object(out);
    for (uint32_t i = 0; i < sweep->axis_count; i++) {
        json_push_key_string(out, sweep->axes[i].flag,
                             sweep->axes[i].values[find_choice(sweep, point, i)]);
    }
    json_push_key_string(out, "answer", answer->status);
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        json_push_key(out, sweep->columns[i]);
        json_push_raw(out, answer->cells[i] == NULL ? "null" : answer->cells[i]);
    }
    json_push_key_string(out, "fault", answer->message);
    json_pop_object(out);
}

/* Runs this process's points; how many have an answer. */
static uint32_t run_points(struct command *command, const struct sweep *sweep, struct text *csv,
                           struct json_writer *json)
{
    uint32_t answered = 0;
    for (uint32_t point = sweep->rank; point < sweep->point_count; point += sweep->rank_count) {
        struct arena arena;
        struct sweep_answer answer;
        arena_init(&arena);
        run_point(sweep, point, &arena, &answer);
        answered += strcmp(answer.status, "yes") == 0;
        if (command->json) {
            push_json_row(sweep, point, &answer, json);
        } else {
            push_row(sweep, point, &answer, csv);
        }
        arena_release(&arena);
        if (point > UINT32_MAX - sweep->rank_count) {
            break;
        }
    }
    return answered;
}

static bool deliver(struct command *command, const struct sweep *sweep, const struct text *text)
{
    const char *path;
    if (!command_has(command, "-o")) {
        text_push_bytes(&command->out, text->bytes, text->length);
        return true;
    }
    if (!command_text(command, "-o", &path)) {
        return false;
    }
    if (sweep->rank_count > 1) {
        path = text_build(command->arena, "%s.%u", path, sweep->rank);
    }
    return command_write(command, path, text);
}

static int run(struct command *command)
{
    struct sweep sweep;
    struct text text;
    struct json_writer json;
    if (!read_sweep(command, &sweep)) {
        return command_fail(command);
    }
    find_rank(&sweep);
    text_init(&text, command->arena);
    json_writer_init(&json, &text, false);
    if (command->json) {
        json_push_object(&json);
        json_push_key_string(&json, "version", SHARDPLAN_VERSION);
        json_push_key_u64(&json, "point_count", sweep.point_count);
        json_push_key(&json, "rows");
        json_push_array(&json);
    } else {
        push_heading(&sweep, &text);
    }
    const uint32_t answered = run_points(command, &sweep, &text, &json);
    if (command->json) {
        json_pop_array(&json);
        json_pop_object(&json);
        text_push(&text, "\n");
    }
    return !deliver(command, &sweep, &text) ? command_fail(command) : answered == 0;
}

static const struct flag flags[] = {
    {.name = "-o",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "write to this file; under a launcher of several processes each writes FILE.RANK",
     .absent = "standard output"},
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The table", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_sweep = {
    .name = "sweep",
    .usage = "shardplan sweep SPEC [-o FILE]",
    .summary = "one command at every combination of lists of values, as CSV",
    .lesson =
        "SPEC is a JSON file: a command (plan where none is said), flags that stay, flags that "
        "vary, the\n"
        "keys of its --json answer that become columns (nested ones joined by '/'; the usual ones "
        "where\n"
        "none are said):\n\n"
        "  {\"format\": \"shardplan/sweep/1\", \"command\": \"plan\",\n"
        "   \"flags\": {\"--model\": \"llama-3.1-8b\", \"--seq-length\": 4096, \"--runtime\": "
        "\"megatron\"},\n"
        "   \"vary\": {\"--cluster\": [\"dgx-h100:1\", \"dgx-h100:2\"], \"--global-batch-size\": "
        "[64, 128]},\n"
        "   \"columns\": [\"step_s\", \"mfu_frac\", \"configuration/flags\"]}\n\n"
        "A row says yes, no (nothing fits) or fault, with the first message. Exit status 1 when "
        "no point\n"
        "has an answer. The last list varies fastest. Under mpirun or srun each process does every "
        "n-th\n"
        "point.\n\n"
        "  shardplan sweep scaling.json -o scaling.csv\n"
        "  mpirun -n 16 shardplan sweep scaling.json -o scaling.csv\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = 1,
    .run = run,
};
