/* The importer of the file's kind writes a plan, which is read back. */
#include "tools/config_file.h"

#include <string.h>

#include "tools/plan_flags.h"

static const struct diag_place nowhere = {0};

const struct flag config_file_flags[] = {
    {.name = "--config",
     .kind = FLAG_TEXT,
     .value = "FILE",
     .help = "a configuration of a runtime (Megatron-LM arguments, torchtitan TOML, DeepSpeed "
             "JSON), instead of all flags but --cluster and --model"},
    {.name = "--config-kind",
     .kind = FLAG_TEXT,
     .value = "KIND",
     .help = "of what runtime the configuration is (shardplan list importers)",
     .absent = "told by the end of its name"},
    {.name = "--set",
     .kind = FLAG_TEXT,
     .value = "NAME=VALUE,...",
     .help =
         "variables that the configuration leaves open ($NAME, ${NAME}), settings that it lacks",
     .absent = "as the file says"},
    {.name = NULL},
};

bool config_file_given(const struct command *command)
{
    return command_has(command, "--config");
}

/* A saved plan says so itself. */
bool config_file_check(struct command *command, const char *path, bool *out)
{
    struct text text;
    text_init(&text, command->arena);
    *out = command_has(command, "--config-kind");
    if (*out || strcmp(path, "-") == 0) {
        return true;
    }
    if (!command_read_file(command, path, &text)) {
        return false;
    }
    *out = strstr(text.bytes, "\"shardplan/plan/") == NULL;
    return true;
}

bool config_file_request(struct command *command, const char *path, struct import_request *out)
{
    *out = (struct import_request){.path = path};
    return (!command_has(command, "--model") || command_text(command, "--model", &out->model)) &&
           (!command_has(command, "--cluster") ||
            command_text(command, "--cluster", &out->cluster)) &&
           (!command_has(command, "--set") || command_text(command, "--set", &out->set));
}

static bool ends(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static const struct importer *guess(const char *path)
{
    for (uint32_t i = 0; i < importer_table_count; i++) {
        const char *const *endings = importer_table[i]->endings;
        for (uint32_t k = 0; endings != NULL && endings[k] != NULL; k++) {
            if (ends(path, endings[k])) {
                return importer_table[i];
            }
        }
    }
    return NULL;
}

static const struct importer *find_importer(struct command *command, const char *path)
{
    const char *name = NULL;
    if (!command_has(command, "--config-kind")) {
        const struct importer *importer = guess(path);
        if (importer == NULL) {
            diag_push(command->diag, DIAG_X667, (struct diag_place){.file = path},
                      "say with --config-kind which it is: `shardplan list importers`",
                      "the end of the name tells no runtime");
        }
        return importer;
    }
    const struct importer *importer =
        command_text(command, "--config-kind", &name) ? importer_find(name) : NULL;
    if (importer == NULL || importer->endings == NULL) {
        diag_push(command->diag, DIAG_C704, nowhere, "`shardplan list importers` names them",
                  "--config-kind is '%s': that is no configuration of a runtime",
                  name == NULL ? "" : name);
        return NULL;
    }
    return importer;
}

/* The runtime's own parser refuses the file, whatever else is wrong with it. */
static bool is_refusal(const struct diag *diag)
{
    for (uint32_t i = 0; i < diag->kept; i++) {
        const enum diag_code code = diag->entries[i].code;
        if (!diag->entries[i].warning &&
            (code == DIAG_X660 || code == DIAG_X661 || code == DIAG_X663)) {
            return true;
        }
    }
    return false;
}

static bool read_back(struct command *command, const struct text *text, struct plan_file *out)
{
    struct json *document = NULL;
    if (!json_open_text("the configuration", text->bytes, text->length, false, command->arena,
                        &document, command->diag)) {
        return false;
    }
    const bool good = plan_read_json(json_root(document), "the configuration", command->arena, out,
                                     command->diag);
    json_close(document);
    return good;
}

bool config_file_read(struct command *command, const char *path, struct question *question,
                      struct plan **out, bool *refused)
{
    struct import_places places = {.file = NULL};
    struct import_request request;
    struct plan_file file;
    struct text text;
    struct json_writer writer;
    *refused = false;
    if (command->positional_count > 0 || plan_flags_any(command)) {
        return diag_push(command->diag, DIAG_C709, nowhere, "give one of the two",
                         "flags or a saved plan stand beside the configuration '%s'", path);
    }
    if (!config_file_request(command, path, &request)) {
        return false;
    }
    request.places = &places;
    command->config = true;
    const struct importer *importer = find_importer(command, path);
    text_init(&text, command->arena);
    json_writer_init(&writer, &text, false);
    if (importer == NULL || !importer->read(&request, command->arena, &writer, command->diag)) {
        *refused = importer != NULL && is_refusal(command->diag);
        return false;
    }
    if (!read_back(command, &text, &file)) {
        return false;
    }
    const struct problem problem = {file.model, file.cluster, file.setup};
    *out = file.plan;
    const bool good = problem_flags_adopt(command, &problem, question);
    question->places = places;
    return good;
}

void config_file_place(const struct question *question, struct diag *diag)
{
    const struct import_places *places = &question->places;
    for (uint32_t i = 0; i < diag->kept && places->file != NULL; i++) {
        struct diag_entry *entry = &diag->entries[i];
        const bool batch = entry->code == DIAG_P415 || entry->code == DIAG_P416;
        if (!entry->warning && entry->place.file == NULL) {
            entry->place = batch ? places->batch : (struct diag_place){.file = places->file};
        }
    }
}

void config_file_dump(struct command *command, const struct question *question,
                      const struct plan *plan)
{
    struct text flags;
    text_init(&flags, command->arena);
    plan_flags_dump(plan, &question->runtime, command->arena, &flags);
    text_push(&command->out,
              "Understood: %s on %s, %llu sequences of %llu tokens, %s, %s, runtime %s\n"
              "            %s\n",
              question->model.name, question->cluster.name,
              (unsigned long long)question->setup.global_batch,
              (unsigned long long)question->setup.seq_length, dtype_name(question->setup.dtype),
              question->setup.optimizer->name, question->runtime.name, flags.bytes);
}
