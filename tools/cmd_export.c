/* `shardplan export`: a saved plan in the words of a runtime. */
#include "exports/exporter.h"
#include "tools/report.h"

extern const struct command_kind command_export;

static bool find_exporter(struct command *command, const struct exporter **out)
{
    const char *name;
    if (!command_text(command, "--to", &name)) {
        return false;
    }
    *out = exporter_find(name);
    if (*out != NULL) {
        return true;
    }
    return diag_push(command->diag, DIAG_C704, (struct diag_place){0},
                     command_hint(command, name, exporter_names(), exporter_table_count,
                                  "`shardplan list exporters` names them"),
                     "--to is '%s': nothing is exported to that", name);
}

static void dump_json(struct command *command, const struct problem *problem,
                      const struct exporter *exporter, const struct text *text)
{
    struct json_writer out;
    json_writer_init(&out, &command->out, false);
    json_push_object(&out);
    report_push_head(command, problem, &out);
    json_push_key_string(&out, "target", exporter->name);
    json_push_key_bool(&out, "script", command_has(command, "--script"));
    json_push_key_string(&out, "text", text->bytes);
    json_pop_object(&out);
    text_push(&command->out, "\n");
}

static int run(struct command *command)
{
    struct plan_file file;
    const struct exporter *exporter;
    struct text text;
    text_init(&text, command->arena);
    if (!find_exporter(command, &exporter) ||
        !plan_read(command->positional[0], command->arena, &file, command->diag)) {
        return command_fail(command);
    }
    const struct problem problem = {file.model, file.cluster, file.setup};
    if (!exporter_write(exporter, &problem, file.plan, command_has(command, "--script"), &text,
                        command->diag)) {
        return command_fail(command);
    }
    if (command->json) {
        dump_json(command, &problem, exporter, &text);
    }
    const bool written = command->json ? command_write_flag(command, "-o", &text)
                                       : command_write_answer(command, &text);
    return written ? 0 : command_fail(command);
}

static const struct flag flags[] = {
    {.name = "--to",
     .kind = FLAG_TEXT,
     .value = "TARGET",
     .help = "what to write for (shardplan list exporters)"},
    {.name = "--script",
     .kind = FLAG_SWITCH,
     .help = "write a launch script, where the target has one"},
    COMMAND_FLAG_OUTPUT("write to this file"),
    {.name = NULL},
};

static const struct flag_group groups[] = {
    {.title = "The export", .flags = flags},
    {.title = NULL},
};

const struct command_kind command_export = {
    .name = "export",
    .usage = "shardplan export PLAN --to TARGET [--script] [-o FILE]",
    .summary = "a saved plan as arguments, a launch script, a map of ranks",
    .lesson = "Writes a saved plan as its target reads it. What the target cannot express is "
              "refused with the\n"
              "reason, thing by thing; nothing is left out in silence.\n\n"
              "  shardplan export plan.json --to megatron\n"
              "  shardplan export plan.json --to megatron --script -o train.sh\n",
    .groups = groups,
    .positional_min = 1,
    .positional_max = 1,
    .run = run,
};
