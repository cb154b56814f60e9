/* `shardplan import`: a foreign file as native JSON. */
#include "imports/importer.h"
#include "tools/config_file.h"

extern const struct command_kind command_import;

static const struct importer *find_importer(struct command *command)
{
    const char *word = command->positional[0];
    const struct importer *importer = importer_find(word);
    if (importer == NULL) {
        diag_push(command->diag, DIAG_C710, (struct diag_place){0},
                  command_hint(command, word, importer_names(), importer_table_count,
                               "`shardplan list importers` names them"),
                  "'%s' is no kind of file to import", word);
    }
    return importer;
}

static bool read_request(struct command *command, struct import_request *out)
{
    return config_file_request(command, command->positional[1], out) &&
           (!command_has(command, "--device") || command_text(command, "--device", &out->device)) &&
           (!command_has(command, "--fabric") || command_text(command, "--fabric", &out->fabric));
}

static int run(struct command *command)
{
    struct import_request request = {.path = NULL};
    struct text text;
    struct json_writer writer;
    text_init(&text, command->arena);
    json_writer_init(&writer, &text, false);
    const struct importer *importer = find_importer(command);
    if (importer == NULL || !read_request(command, &request) ||
        !importer->read(&request, command->arena, &writer, command->diag)) {
        return command_fail(command);
    }
    text_push(&text, "\n");
    return command_write_answer(command, &text) ? 0 : command_fail(command);
}

static const struct flag flags[] = {
    {.name = "--device",
     .kind = FLAG_TEXT,
     .value = "KIND",
     .help = "kind of the devices of a topology that does not name them (shardplan list "
             "accelerators)",
     .absent = "as the file says"},
    {.name = "--fabric",
     .kind = FLAG_TEXT,
     .value = "LINK",
     .help = "network of a topology that does not say how fast its cards are, such as ib-ndr",
     .absent = "as the file says"},
    {.name = "--cluster",
     .kind = FLAG_TEXT,
     .value = "C",
     .help = "what a configuration of a runtime runs on",
     .absent = "a configuration asks for it"},
    {.name = "--model",
     .kind = FLAG_TEXT,
     .value = "M",
     .help = "what a configuration of a runtime trains, where it does not say so itself",
     .absent = "as the file says"},
    {.name = "--set",
     .kind = FLAG_TEXT,
     .value = "NAME=VALUE,...",
     .help = "variables that a configuration leaves open ($NAME, ${NAME}), settings that it lacks",
     .absent = "as the file says"},
    COMMAND_FLAG_OUTPUT("write to this file"),
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The import", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_import = {
    .name = "import",
    .usage = "shardplan import KIND FILE [--device KIND] [--fabric LINK] [--cluster C] "
             "[--model M] [--set NAME=VALUE,...] [-o FILE]",
    .summary = "a file of another program as native JSON",
    .lesson = "Reads a file that another program wrote and prints what was understood of it as "
              "native JSON,\n"
              "which --model, --cluster and the other commands read. What had to be assumed is a\n"
              "warning; what cannot be known is asked for.\n\n"
              "  shardplan import hf-config config.json\n"
              "  shardplan import megatron-args train.sh --cluster dgx-h100:8 -o plan.json\n",
    .groups = groups,
    .positional_min = 2,
    .positional_max = 2,
    .run = run,
};
