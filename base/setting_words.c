/* Settings of a command line, as a list of words or as the script that runs it: flags behind the
 * word of a command that ends in ".py", or all where no command has such a word. */
#include <string.h>

#include "base/setting_inside.h"
#include "base/shell.h"

struct reader {
    struct setting_cursor at;
    struct shell_word *words;
    uint32_t count, room;
    struct arena *arena;
    struct diag *diag;
};

static void push_word(struct reader *reader, const char *text, struct diag_place place)
{
    if (reader->count == reader->room) {
        const uint32_t room = 2 * reader->room + 64;
        struct shell_word *words = ARENA_PUSH(reader->arena, struct shell_word, room);
        for (uint32_t i = 0; i < reader->count; i++) {
            words[i] = reader->words[i];
        }
        reader->words = words;
        reader->room = room;
    }
    reader->words[reader->count++] = (struct shell_word){.text = text, .place = place};
}

/* --- a plain list ----------------------------------------------------------------------------- */

/* One word a line, the first a flag, none with a blank or a quote in it. */
static bool is_plain(const char *text)
{
    bool first = true;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const bool counts = length > 0 && text[0] != '#' && text[0] != '\r';
        if (counts && first && strncmp(text, "--", 2) != 0) {
            return false;
        }
        if (counts && strcspn(text, " \t'\"\\$") < length) {
            return false;
        }
        first = first && !counts;
        text += length + (text[length] == '\n');
    }
    return !first;
}

static void read_plain(struct reader *reader)
{
    while (reader->at.text[reader->at.at] != '\0') {
        const char *line = reader->at.text + reader->at.at;
        const size_t length = strcspn(line, "\r\n");
        if (length > 0 && line[0] != '#') {
            push_word(reader, text_build_copy(reader->arena, line, length),
                      setting_place(&reader->at));
        }
        reader->at.at += strcspn(line, "\n");
        if (reader->at.text[reader->at.at] == '\n') {
            setting_step(&reader->at);
        }
    }
}

/* --- flags ------------------------------------------------------------------------------------ */

static bool is_program(const char *word)
{
    const size_t length = strlen(word);
    return length > 3 && strcmp(word + length - 3, ".py") == 0;
}

static bool is_flag(const char *word)
{
    return strncmp(word, "--", 2) == 0 && word[2] != '\0';
}

/* Words of a launcher's command up to the program, with it; 0: it runs none. */
static uint32_t count_launcher(const struct shell_command *command)
{
    for (uint32_t i = 0; i < command->count && !is_flag(command->words[0].text); i++) {
        if (is_program(command->words[i].text)) {
            return i + 1;
        }
    }
    return 0;
}

/* Any words may stand in a variable that is not known. */
static bool check_open(const struct shell_command *command, uint32_t first, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = first; i < command->count; i++) {
        const struct shell_word *word = &command->words[i];
        const bool list = strstr(word->text, "[@]}") != NULL || strstr(word->text, "[*]}") != NULL;
        const bool value = i > first && is_flag(command->words[i - 1].text) && !list &&
                           strchr(command->words[i - 1].text, '=') == NULL;
        if (word->open && !value) {
            good = diag_push(diag, DIAG_B133, word->place,
                             list ? "write its list without a condition, before it is used"
                                  : "give it: --set NAME=VALUE, or write what it holds",
                             "no list of arguments: what %s holds is not known", word->text);
        }
    }
    return good;
}

/* The command that runs the program; where none does, all of them together are its arguments. */
static bool find_run(const struct shell_script *script, struct diag *diag, uint32_t *out)
{
    *out = UINT32_MAX;
    for (uint32_t i = 0; i < script->count; i++) {
        const struct shell_command *command = &script->commands[i];
        const uint32_t launcher = count_launcher(command);
        if (launcher == 0) {
            continue;
        }
        const struct shell_word *program = &command->words[launcher - 1];
        if (command->inside != NULL) {
            return diag_push(diag, DIAG_B133, program->place, "write the command that is run alone",
                             "no list of arguments: whether '%s' runs, and how often, is up to "
                             "the '%s' around it",
                             program->text, command->inside);
        }
        if (*out != UINT32_MAX) {
            return diag_push(diag, DIAG_B133, program->place, "leave one of them",
                             "no list of arguments: '%s' is the second program that is run",
                             program->text);
        }
        *out = i;
    }
    return true;
}

/* The values of the flag at `first`: up to the next flag. */
static uint32_t count_values(const struct shell_command *command, uint32_t first)
{
    uint32_t count = 0;
    while (first + 1 + count < command->count && !is_flag(command->words[first + 1 + count].text)) {
        count++;
    }
    return count;
}

static void fill_value(struct setting *out, const struct shell_word *values, uint32_t count,
                       struct arena *arena)
{
    if (count == 1) {
        out->text = values[0].text;
        out->kind = setting_guess(out->text);
        return;
    }
    out->kind = SETTING_LIST;
    for (uint32_t i = 0; i < count; i++) {
        struct setting *item = setting_push_item(out, arena);
        item->text = values[i].text;
        item->kind = setting_guess(item->text);
    }
}

static bool push_flag(struct arena *arena, const struct shell_word *flag, uint32_t values,
                      struct setting_list *out, struct diag *diag)
{
    const char *name = flag->text + 2, *equals = strchr(name, '=');
    const size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const char *key = text_build_copy(arena, name, length);
    setting_drop(out, key); /* of two the last counts, as it does for programs */
    struct setting *setting = setting_push(out, key, flag->place, diag);
    if (setting == NULL) {
        return false;
    }
    const struct shell_word given = {.text = equals == NULL ? "true" : equals + 1};
    if (equals != NULL || values == 0) {
        fill_value(setting, &given, 1, arena);
    } else {
        fill_value(setting, flag + 1, values, arena);
    }
    return true;
}

static bool push_flags(const struct shell_command *command, uint32_t first, struct arena *arena,
                       struct setting_list *out, struct diag *diag)
{
    bool good = check_open(command, first, diag);
    for (uint32_t i = first; i < command->count && good; i++) {
        const struct shell_word *word = &command->words[i];
        good = !is_flag(word->text) || push_flag(arena, word, count_values(command, i), out, diag);
    }
    return good;
}

static bool push_script(const struct shell_script *script, struct arena *arena,
                        struct setting_list *out, struct diag *diag)
{
    uint32_t run;
    if (!find_run(script, diag, &run)) {
        return false;
    }
    if (run != UINT32_MAX) {
        const struct shell_command *command = &script->commands[run];
        return push_flags(command, count_launcher(command), arena, out, diag);
    }
    bool good = true;
    for (uint32_t i = 0; i < script->count && good; i++) {
        good = push_flags(&script->commands[i], 0, arena, out, diag);
    }
    return good;
}

bool setting_read_words(const char *name, const char *text, size_t length, struct arena *arena,
                        struct setting_list *out, struct diag *diag)
{
    const char *kept = text_build_copy(arena, name, strlen(name));
    struct setting_list list;
    setting_list_init(&list, kept, arena);
    if (is_plain(text)) {
        struct reader reader = {
            .at = {.name = kept, .text = text, .length = length, .line = 1, .arena = arena},
            .arena = arena,
            .diag = diag,
        };
        read_plain(&reader);
        const struct shell_command all = {.words = reader.words, .count = reader.count};
        if (!push_flags(&all, 0, arena, &list, diag)) {
            return false;
        }
    } else {
        struct shell_script script = {.given = out->given};
        if (!shell_read(kept, text, length, arena, &script, diag) ||
            !push_script(&script, arena, &list, diag)) {
            return false;
        }
    }
    *out = list;
    return true;
}
