/* Words of a command line become flags and their values. */
#include <string.h>

#include "tools/command_inside.h"

static const struct diag_place nowhere = {0};

const struct flag command_common_flags[] = {
    {.name = "--json", .kind = FLAG_SWITCH, .help = "print the result as one JSON object"},
    {.name = "--timing",
     .kind = FLAG_SWITCH,
     .help = "add how long the program itself took (without it equal inputs give equal bytes)"},
    {.name = "--max-input",
     .kind = FLAG_QUANTITY,
     .value = "SIZE",
     .help = "read input files up to this size, such as 1GB",
     .unit = UNIT_BYTES,
     .absent = "64 MiB"},
    {.name = "--help", .kind = FLAG_SWITCH, .help = "print this and do nothing else"},
    {.name = NULL},
};

static const struct flag *flags_of(const struct flag_group *group, struct arena *arena)
{
    return group->build != NULL ? group->build(arena) : group->flags;
}

static uint32_t count_flags(const struct flag *flags)
{
    uint32_t count = 0;
    while (flags[count].name != NULL) {
        count++;
    }
    return count;
}

static void add_flags(struct command *command, const struct flag *flags)
{
    for (uint32_t i = 0; flags[i].name != NULL; i++) {
        command->flags[command->flag_count++] = &flags[i];
    }
}

void command_collect_flags(struct command *command)
{
    const struct flag_group *groups = command->kind->groups;
    uint32_t count = count_flags(command_common_flags), group_count = 0;
    while (groups[group_count].title != NULL) {
        group_count++;
    }
    const struct flag **lists = ARENA_PUSH(command->arena, const struct flag *, group_count);
    for (uint32_t i = 0; i < group_count; i++) {
        lists[i] = flags_of(&groups[i], command->arena);
        count += count_flags(lists[i]);
    }
    command->flags = ARENA_PUSH(command->arena, const struct flag *, count);
    command->values = ARENA_PUSH(command->arena, const char *, count);
    for (uint32_t i = 0; i < group_count; i++) {
        add_flags(command, lists[i]);
    }
    add_flags(command, command_common_flags);
}

uint32_t command_find_flag(const struct command *command, const char *name)
{
    for (uint32_t i = 0; i < command->flag_count; i++) {
        if (strcmp(command->flags[i]->name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

static bool refuse_flag(struct command *command, const char *name)
{
    const char **names = ARENA_PUSH(command->arena, const char *, command->flag_count);
    for (uint32_t i = 0; i < command->flag_count; i++) {
        names[i] = command->flags[i]->name;
    }
    const char *near = text_find_nearest(name, names, command->flag_count);
    const char *hint = near != NULL
                           ? text_build(command->arena, "did you mean '%s'?", near)
                           : text_build(command->arena, "`shardplan %s --help` lists its flags",
                                        command->kind->name);
    return diag_push(command->diag, DIAG_C702, nowhere, hint, "'shardplan %s' has no flag '%s'",
                     command->kind->name, name);
}

static bool is_toggle_word(const char *word)
{
    return strcmp(word, "on") == 0 || strcmp(word, "off") == 0 || strcmp(word, "search") == 0;
}

/* The value that the words behind a flag give it, next to how many it takes. NULL: none. */
static const char *value_of(const struct flag *flag, int left, char **next, int *taken)
{
    *taken = 0;
    if (flag->kind == FLAG_SWITCH) {
        return "on";
    }
    if (flag->kind == FLAG_TOGGLE && (left == 0 || !is_toggle_word(next[0]))) {
        return "on";
    }
    if (left == 0) {
        return NULL;
    }
    *taken = 1;
    return next[0];
}

static bool push_value(struct command *command, uint32_t index, const char *value)
{
    const struct flag *flag = command->flags[index];
    if (value == NULL) {
        return diag_push(command->diag, DIAG_C703, nowhere, NULL, "%s needs a value: %s %s",
                         flag->name, flag->name, flag->value != NULL ? flag->value : "VALUE");
    }
    if (command->values[index] != NULL) {
        return diag_push(command->diag, DIAG_C705, nowhere, NULL,
                         "%s is given twice: '%s' and '%s'", flag->name, command->values[index],
                         value);
    }
    command->values[index] = value;
    return true;
}

/* One flag, at argv[0]; gives the number of words it took. */
static int parse_flag(struct command *command, int argc, char **argv, bool *good)
{
    const char *equals = strchr(argv[0], '=');
    const size_t length = equals == NULL ? strlen(argv[0]) : (size_t)(equals - argv[0]);
    const char *name = text_build_copy(command->arena, argv[0], length);
    const uint32_t index = command_find_flag(command, name);
    int taken = 0;
    if (index == UINT32_MAX) {
        *good = refuse_flag(command, name);
        return argc > 1 && equals == NULL && argv[1][0] != '-' ? 2 : 1;
    }
    if (equals == NULL) {
        *good = push_value(command, index,
                           value_of(command->flags[index], argc - 1, argv + 1, &taken)) &&
                *good;
        return 1 + taken;
    }
    if (command->flags[index]->kind == FLAG_SWITCH) {
        *good = diag_push(command->diag, DIAG_C704, nowhere, NULL,
                          "%s takes no value, '%s' was given", name, equals + 1);
        return 1;
    }
    *good = push_value(command, index, equals + 1) && *good;
    return 1;
}

static bool check_positional(struct command *command)
{
    const struct command_kind *kind = command->kind;
    const uint32_t count = command->positional_count;
    if (count > kind->positional_max) {
        return diag_push(command->diag, DIAG_C706, nowhere,
                         text_build(command->arena, "usage: %s", kind->usage),
                         "'shardplan %s' does not know what to do with '%s'", kind->name,
                         command->positional[kind->positional_max]);
    }
    if (count < kind->positional_min) {
        return diag_push(command->diag, DIAG_C706, nowhere,
                         text_build(command->arena, "usage: %s", kind->usage),
                         "'shardplan %s' needs %u word%s beside its flags, %u %s given", kind->name,
                         kind->positional_min, kind->positional_min == 1 ? "" : "s", count,
                         count == 1 ? "is" : "are");
    }
    return true;
}

bool command_parse(struct command *command, int argc, char **argv)
{
    const char **words = ARENA_PUSH(command->arena, const char *, (size_t)argc + 1);
    bool good = true, flags_over = false;
    for (int i = 0; i < argc;) {
        if (!flags_over && strcmp(argv[i], "--") == 0) {
            flags_over = true;
            i++;
        } else if (!flags_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            i += parse_flag(command, argc - i, argv + i, &good);
        } else {
            words[command->positional_count++] = argv[i++];
        }
    }
    command->positional = words;
    command->json = command_has(command, "--json");
    command->timing = command_has(command, "--timing");
    return check_positional(command) && good;
}
