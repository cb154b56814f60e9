/* Help is the flags' own text in columns. */
#include <string.h>

#include "tools/command_inside.h"

#define HELP_COLUMN 30u
#define HELP_WIDTH 98u

/* "--tp N|search", "--sequence-parallel [on|off]". */
static const char *head_of(const struct flag *flag, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    text_push(&text, "  %s", flag->name);
    if (flag->kind == FLAG_TOGGLE) {
        text_push(&text, " [on|off%s]", flag->searchable ? "|search" : "");
    } else if (flag->kind == FLAG_CHOICE && flag->value == NULL) {
        for (uint32_t i = 0; flag->choices[i] != NULL; i++) {
            text_push(&text, "%s%s", i == 0 ? " " : "|", flag->choices[i]);
        }
    } else if (flag->value != NULL) {
        text_push(&text, " %s", flag->value);
    }
    if (flag->searchable && flag->kind != FLAG_TOGGLE) {
        text_push(&text, "|search");
    }
    return text.bytes;
}

/* Words wrapped between the help column and the right edge. */
static void push_wrapped(struct text *out, const char *words, uint32_t column)
{
    while (*words != '\0') {
        const size_t length = strcspn(words, " ");
        if (column + 1 + length > HELP_WIDTH && column > HELP_COLUMN) {
            text_push(out, "\n%*s", (int)HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        const bool first = column == HELP_COLUMN;
        text_push(out, "%s%.*s", first ? "" : " ", (int)length, words);
        column += (uint32_t)length + (first ? 0 : 1);
        words += length + (words[length] == ' ');
    }
    text_push(out, "\n");
}

static void dump_flag(const struct flag *flag, struct arena *arena, struct text *out)
{
    const char *head = head_of(flag, arena);
    const char *otherwise = flag->absent != NULL ? flag->absent : flag->fallback;
    const char *help =
        otherwise == NULL ? flag->help : text_build(arena, "%s [%s]", flag->help, otherwise);
    text_push(out, "%s", head);
    if (strlen(head) + 2 > HELP_COLUMN) {
        text_push(out, "\n%*s", (int)HELP_COLUMN, "");
    } else {
        text_push(out, "%*s", (int)(HELP_COLUMN - strlen(head)), "");
    }
    push_wrapped(out, help, HELP_COLUMN);
}

static void dump_group(const char *title, const struct flag *flags, struct arena *arena,
                       struct text *out)
{
    text_push(out, "\n%s:\n", title);
    for (uint32_t i = 0; flags[i].name != NULL; i++) {
        dump_flag(&flags[i], arena, out);
    }
}

void command_dump_help(struct command *command, struct text *out)
{
    const struct command_kind *kind = command->kind;
    text_push(out, "usage: %s\n\n%s", kind->usage, kind->lesson);
    for (const struct flag_group *group = kind->groups; group->title != NULL; group++) {
        dump_group(group->title, group->build != NULL ? group->build(command->arena) : group->flags,
                   command->arena, out);
    }
    dump_group("All commands", command_common_flags, command->arena, out);
    text_push(
        out, "\nWhat stands in [brackets] holds when a flag is not given. --flag value and "
             "--flag=value\n"
             "mean the same. Exit status: 0 an answer, 1 a negative answer, 2 a fault in flags or\n"
             "inputs, 3 a fault of the program.\n");
}

void command_dump_list(struct text *out)
{
    text_push(out, "shardplan plans the distributed training of large models: how to split the "
                   "work, how long\n"
                   "a step takes, how much memory each device needs.\n\n"
                   "usage: shardplan COMMAND [flags]\n\n");
    for (uint32_t i = 0; i < command_table_count; i++) {
        text_push(out, "  %-12s%s\n", command_table[i]->name, command_table[i]->summary);
    }
    text_push(out,
              "\n`shardplan COMMAND --help` says more; `shardplan --version` names this version.\n"
              "Begin with:\n\n"
              "  shardplan plan --model llama-3.1-8b --cluster dgx-h100:2 \\\n"
              "      --global-batch-size 128 --seq-length 4096\n");
}
