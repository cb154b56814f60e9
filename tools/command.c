/* From the words of a command line to an exit status. */
#include "tools/command.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file_text.h"
#include "base/json.h"
#include "tools/command_inside.h"

static const struct diag_place nowhere = {0};

int command_fail(struct command *command)
{
    if (command->diag->count == 0) {
        BUG("'%s' failed without a word", command->kind->name);
    }
    return 2;
}

bool command_read_file(struct command *command, const char *path, struct text *out)
{
    return file_text_read(path, file_text_name(path, command->arena), json_limits.max_bytes,
                          command->arena, out, command->diag);
}

bool command_write(struct command *command, const char *path, const struct text *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return diag_push(command->diag, DIAG_C708, nowhere, NULL, "cannot open '%s' for writing",
                         path);
    }
    const bool written = fwrite(text->bytes, 1, text->length, file) == text->length;
    if (fclose(file) != 0 || !written) {
        return diag_push(command->diag, DIAG_C708, nowhere, NULL, "cannot write %zu bytes to '%s'",
                         text->length, path);
    }
    return true;
}

bool command_write_flag(struct command *command, const char *flag, const struct text *text)
{
    const char *path;
    return !command_has(command, flag) ||
           (command_text(command, flag, &path) && command_write(command, path, text));
}

bool command_write_answer(struct command *command, const struct text *text)
{
    if (!command_has(command, "-o")) {
        text_push_bytes(&command->out, text->bytes, text->length);
    }
    return command_write_flag(command, "-o", text);
}

double command_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void print_diag(const struct diag *diag, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    diag_dump(diag, &text);
    fwrite(text.bytes, 1, text.length, stderr);
}

/* False when standard output could not take it all. */
static bool print_out(const struct text *out)
{
    return fwrite(out->bytes, 1, out->length, stdout) == out->length && fflush(stdout) == 0;
}

static bool read_limits(struct command *command)
{
    double max_bytes;
    if (!command_has(command, "--max-input")) {
        return true;
    }
    if (!command_quantity(command, "--max-input", &max_bytes)) {
        return false;
    }
    json_limits.max_bytes = max_bytes < 1e18 ? (uint64_t)max_bytes : UINT64_MAX;
    if (max_bytes > 67108864.0) {
        json_limits.max_values = UINT64_MAX;
    }
    return true;
}

static const struct command_kind *find_kind(const char *name)
{
    for (uint32_t i = 0; i < command_table_count; i++) {
        if (strcmp(command_table[i]->name, name) == 0) {
            return command_table[i];
        }
    }
    return NULL;
}

static void refuse_command(const char *name, struct arena *arena, struct diag *diag)
{
    const char **names = ARENA_PUSH(arena, const char *, command_table_count);
    for (uint32_t i = 0; i < command_table_count; i++) {
        names[i] = command_table[i]->name;
    }
    const char *near = text_find_nearest(name, names, command_table_count);
    diag_push(diag, DIAG_C701, nowhere,
              near != NULL ? text_build(arena, "did you mean '%s'?", near)
                           : "`shardplan --help` lists the commands",
              "shardplan has no command '%s'", name);
}

static int run_command(struct command *command, int argc, char **argv)
{
    command_collect_flags(command);
    const bool good = command_parse(command, argc, argv);
    if (command_has(command, "--help")) {
        diag_init(command->diag, command->arena); /* whatever else is wrong */
        command_dump_help(command, &command->out);
        return 0;
    }
    return good && read_limits(command) ? command->kind->run(command) : 2;
}

/* shardplan --help, --version, help COMMAND; false: it is a command. */
static bool is_about_itself(int argc, char **argv, struct text *out)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        command_dump_list(out);
        return true;
    }
    if (strcmp(argv[1], "--version") == 0) {
        text_push(out, "shardplan %s\n", SHARDPLAN_VERSION);
        return true;
    }
    return false;
}

int command_call(const char *name, int argc, char **argv, struct arena *arena, struct diag *diag,
                 struct text *out)
{
    struct command command = {.kind = find_kind(name), .arena = arena, .diag = diag, .out = *out};
    if (command.kind == NULL) {
        refuse_command(name, arena, diag);
        return 2;
    }
    const int status = run_command(&command, argc, argv);
    *out = command.out;
    return status;
}

static int answer(int argc, char **argv, struct arena *arena)
{
    static char help[] = "--help";
    static char *help_words[] = {help};
    struct diag diag;
    struct text out;
    diag_init(&diag, arena);
    text_init(&out, arena);
    if (is_about_itself(argc, argv, &out)) {
        if (argc < 2) {
            fwrite(out.bytes, 1, out.length, stderr);
            return 2;
        }
        return print_out(&out) ? 0 : 2;
    }
    const bool wants_help = strcmp(argv[1], "help") == 0;
    const int status = wants_help ? command_call(argv[2], 1, help_words, arena, &diag, &out)
                                  : command_call(argv[1], argc - 2, argv + 2, arena, &diag, &out);
    print_diag(&diag, arena);
    if (status < 2 && !print_out(&out)) {
        fprintf(stderr, "error: standard output takes no more\n");
        return 2;
    }
    return status;
}

int command_main(int argc, char **argv)
{
    struct arena arena;
    arena_init(&arena);
    const int status = answer(argc, argv, &arena);
    arena_release(&arena);
    return status;
}
