/* `shardplan sweep`: one command at every combination of lists of values, to CSV. */
#include <string.h>

#include "base/json.h"
#include "tools/report.h"
#include "tools/sweep.h"

extern const struct command_kind command_sweep;

/* What one point gave; in an arena that goes with the point. */
struct sweep_answer {
    const char *status; /* "yes", "no", "fault" */
    const char *message;
    const char **cells; /* per column, JSON as it stands; NULL where the answer has no such key */
};

/* --- one point -------------------------------------------------------------------------------- */

static int push_words(const struct sweep_axis *axis, uint32_t choice, struct arena *arena,
                      char **words)
{
    const char *value = axis->values[choice];
    if (value == sweep_no_flag) {
        return 0;
    }
    words[0] = text_build(arena, "%s", axis->flag);
    if (value == sweep_bare_flag) {
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

/* False: the command printed something else than JSON. */
static bool read_cells(const struct sweep *sweep, const struct text *text, struct arena *arena,
                       struct sweep_answer *out)
{
    struct json *document;
    struct diag diag;
    diag_init(&diag, arena);
    if (!json_open_text("answer", text->bytes, text->length, false, arena, &document, &diag)) {
        return false;
    }
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        out->cells[i] = find_cell(json_root(document), sweep->columns[i], arena);
    }
    json_close(document);
    return true;
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
        count +=
            push_words(&sweep->axes[i], sweep_find_choice(sweep, point, i), arena, words + count);
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
    if (status < 2 && !read_cells(sweep, &text, arena, out)) {
        out->status = words_of[2];
        out->message = text_build(arena, "'shardplan %s' has no answer in JSON", sweep->name);
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
        push_word(out, sweep->axes[i].values[sweep_find_choice(sweep, point, i)], ',');
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
                             sweep->axes[i].values[sweep_find_choice(sweep, point, i)]);
    }
    json_push_key_string(out, "answer", answer->status);
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        json_push_key(out, sweep->columns[i]);
        json_push_raw(out, answer->cells[i] == NULL ? "null" : answer->cells[i]);
    }
    json_push_key_string(out, "fault", answer->message);
    json_pop_object(out);
}

/* A column that no answer had is a word that nobody knows. */
static void warn_of_columns(struct command *command, const struct sweep *sweep, const bool *seen)
{
    for (uint32_t i = 0; i < sweep->column_count; i++) {
        if (!seen[i]) {
            diag_push_warning(command->diag, DIAG_C760, (struct diag_place){0}, NULL,
                              "no answer has the key '%s' of a column", sweep->columns[i]);
        }
    }
}

/* Runs this process's points; how many have an answer. */
static uint32_t run_points(struct command *command, const struct sweep *sweep, struct text *csv,
                           struct json_writer *json)
{
    uint32_t answered = 0;
    bool *seen = ARENA_PUSH(command->arena, bool, sweep->column_count);
    for (uint32_t point = sweep->rank; point < sweep->point_count; point += sweep->rank_count) {
        struct arena arena;
        struct sweep_answer answer;
        arena_init(&arena);
        run_point(sweep, point, &arena, &answer);
        answered += strcmp(answer.status, "yes") == 0;
        for (uint32_t i = 0; i < sweep->column_count; i++) {
            seen[i] = seen[i] || answer.cells[i] != NULL;
        }
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
    if (answered > 0) {
        warn_of_columns(command, sweep, seen);
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
    if (!sweep_read(command, &sweep)) {
        return command_fail(command);
    }
    sweep_find_rank(&sweep);
    text_init(&text, command->arena);
    json_writer_init(&json, &text, false);
    if (command->json) {
        json_push_object(&json);
        report_push_head_of(command, "sweep", sweep.digest, &json);
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
    if (!deliver(command, &sweep, &text)) {
        return command_fail(command);
    }
    /* A launcher would end the others of a process that reports a failure. */
    return answered == 0 && sweep.rank_count == 1;
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
        "has an answer, but for one of several processes. The last list varies fastest. Under "
        "mpirun or srun each process does every "
        "n-th\n"
        "point.\n\n"
        "  shardplan sweep scaling.json -o scaling.csv\n"
        "  mpirun -n 16 shardplan sweep scaling.json -o scaling.csv\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = 1,
    .run = run,
};
