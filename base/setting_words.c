/* Settings of a command line, as a list of words or as the script that runs it.
 *
 * In a script, a word NAME=VALUE sets a variable, $NAME and ${NAME:-VALUE} stand for it; flags
 * before a word that ends in ".py" on one line are its launcher's. */
#include <string.h>

#include "base/setting_inside.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define WORD_MAX 100000u
#define VALUE_BYTES_MAX 65536u

struct word {
    const char *text;
    struct diag_place place;
    uint32_t line; /* logical: a backslash at its end joins two */
};

struct reader {
    struct setting_cursor at;
    struct word *words;
    uint32_t count, room;
    uint32_t logical_line;
    const char **names, **values; /* variables */
    uint32_t variables, variable_room;
    const struct setting_given *given; /* variables of the environment, NULL: none */
    struct arena *arena;
    struct diag *diag;
};

static char look(const struct reader *reader)
{
    return reader->at.text[reader->at.at];
}

static bool refuse(struct reader *reader, const char *what)
{
    return diag_push(reader->diag, DIAG_B133, setting_place(&reader->at), NULL,
                     "no list of arguments: %s", what);
}

static bool push_word(struct reader *reader, const char *text, struct diag_place place)
{
    if (reader->count == WORD_MAX) {
        return refuse(reader, "there are too many words");
    }
    if (reader->count == reader->room) {
        struct word *words = ARENA_PUSH(reader->arena, struct word, 2 * (size_t)reader->room + 64);
        if (reader->count > 0) {
            memcpy(words, reader->words, reader->count * sizeof *words);
        }
        reader->words = words;
        reader->room = 2 * reader->room + 64;
    }
    reader->words[reader->count++] =
        (struct word){.text = text, .place = place, .line = reader->logical_line};
    return true;
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

static bool read_plain(struct reader *reader)
{
    while (look(reader) != '\0') {
        const char *line = reader->at.text + reader->at.at;
        const size_t length = strcspn(line, "\r\n");
        if (length > 0 && line[0] != '#' &&
            !push_word(reader, text_build_copy(reader->arena, line, length),
                       setting_place(&reader->at))) {
            return false;
        }
        reader->at.at += strcspn(line, "\n");
        if (look(reader) == '\n') {
            setting_step(&reader->at);
        }
    }
    return true;
}

/* --- a script --------------------------------------------------------------------------------- */

static const char *value_of(const struct reader *reader, const char *name, size_t length)
{
    for (uint32_t i = reader->variables; i > 0; i--) {
        if (strlen(reader->names[i - 1]) == length &&
            strncmp(reader->names[i - 1], name, length) == 0) {
            return reader->values[i - 1];
        }
    }
    return NULL;
}

static void set_variable(struct reader *reader, const char *name, const char *value)
{
    if (reader->variables == reader->variable_room) {
        const uint32_t room = 2 * reader->variable_room + 16;
        const char **names = ARENA_PUSH(reader->arena, const char *, room);
        const char **values = ARENA_PUSH(reader->arena, const char *, room);
        for (uint32_t i = 0; i < reader->variables; i++) {
            names[i] = reader->names[i];
            values[i] = reader->values[i];
        }
        reader->names = names;
        reader->values = values;
        reader->variable_room = room;
    }
    reader->names[reader->variables] = name;
    reader->values[reader->variables++] = value;
}

/* $NAME, ${NAME}, ${NAME:-VALUE}, ${NAME-VALUE}, ${NAME:VALUE}: its value; what nothing sets stays
 * as it is. */
static void expand(struct reader *reader, struct text *out)
{
    const char *at = reader->at.text + reader->at.at;
    const bool braced = at[1] == '{';
    const char *name = at + 1 + braced;
    const size_t length = strspn(name, NAME_CHARACTERS);
    const size_t rest = braced ? strcspn(name + length, "}\n") : 0;
    const char *value = value_of(reader, name, length);
    const size_t whole =
        (size_t)(name - at) + length + rest + (braced && name[length + rest] == '}');
    size_t given_length = 0;
    const char *given = value != NULL || reader->given == NULL
                            ? NULL
                            : setting_find_given(reader->given, name, length, &given_length);
    if (value != NULL) {
        text_push(out, "%s", value);
    } else if (given != NULL) {
        text_push_bytes(out, given, given_length);
    } else if (braced && rest > 1 && (name[length] == ':' || name[length] == '-')) {
        const size_t skip = strncmp(name + length, ":-", 2) == 0 ? 2 : 1;
        text_push_bytes(out, name + length + skip, rest - skip);
    } else {
        text_push_bytes(out, at, whole);
    }
    reader->at.at += whole;
}

/* Up to the closing quote. */
static bool read_quoted(struct reader *reader, struct text *out)
{
    const char quote = look(reader);
    setting_step(&reader->at);
    while (look(reader) != quote) {
        if (look(reader) == '\0') {
            return refuse(reader, "a quote is not closed");
        }
        if (quote == '"' && look(reader) == '$') {
            expand(reader, out);
            continue;
        }
        if (quote == '"' && look(reader) == '\\' && reader->at.text[reader->at.at + 1] != '\0') {
            setting_step(&reader->at);
        }
        text_push_bytes(out, reader->at.text + reader->at.at, 1);
        setting_step(&reader->at);
    }
    setting_step(&reader->at);
    return true;
}

static bool read_word(struct reader *reader, struct text *out)
{
    while (look(reader) != '\0' && strchr(" \t\r\n;&|()", look(reader)) == NULL) {
        const char c = look(reader);
        if (out->length > VALUE_BYTES_MAX) {
            return refuse(reader, "a word is too long");
        }
        if (c == '\'' || c == '"') {
            if (!read_quoted(reader, out)) {
                return false;
            }
        } else if (c == '$') {
            expand(reader, out);
        } else if (c == '\\' && reader->at.text[reader->at.at + 1] == '\n') {
            return true;
        } else {
            text_push_bytes(out, &c, 1);
            setting_step(&reader->at);
        }
    }
    return true;
}

static bool is_assignment(const char *word)
{
    const size_t length = strspn(word, NAME_CHARACTERS);
    return length > 0 && word[length] == '=' && !(word[0] >= '0' && word[0] <= '9');
}

/* Blanks, comments, joined lines, marks between commands. */
static void skip(struct reader *reader)
{
    for (;;) {
        const char c = look(reader);
        if (c == '\\' && reader->at.text[reader->at.at + 1] == '\n') {
            reader->at.at++;
            setting_step(&reader->at);
        } else if (c == '#') {
            reader->at.at += strcspn(reader->at.text + reader->at.at, "\n");
        } else if (c != '\0' && strchr(" \t\r\n;&|()", c) != NULL) {
            reader->logical_line += c == '\n' || c == ';';
            setting_step(&reader->at);
        } else {
            return;
        }
    }
}

static bool read_script(struct reader *reader)
{
    for (skip(reader); look(reader) != '\0'; skip(reader)) {
        const struct diag_place place = setting_place(&reader->at);
        const size_t before = reader->at.at;
        struct text word;
        text_init(&word, reader->arena);
        if (!read_word(reader, &word)) {
            return false;
        }
        if (reader->at.at == before) {
            setting_step(&reader->at);
        }
        if (is_assignment(word.bytes)) {
            const size_t length = strspn(word.bytes, NAME_CHARACTERS);
            set_variable(reader, text_build_copy(reader->arena, word.bytes, length),
                         word.bytes + length + 1);
        } else if (!push_word(reader, word.bytes, place)) {
            return false;
        }
    }
    return true;
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

/* Words of a launcher's line up to the program are dropped. */
static void drop_launchers(struct reader *reader)
{
    uint32_t kept = 0, line_begin = 0, line = UINT32_MAX;
    for (uint32_t i = 0; i < reader->count; i++) {
        if (reader->words[i].line != line) {
            line = reader->words[i].line;
            line_begin = kept;
        }
        reader->words[kept++] = reader->words[i];
        if (is_program(reader->words[i].text) && !is_flag(reader->words[line_begin].text)) {
            kept = line_begin;
        }
    }
    reader->count = kept;
}

/* The values of the flag at `first`: up to the next flag, on the same logical line of a script. */
static uint32_t count_values(const struct reader *reader, uint32_t first, bool plain)
{
    uint32_t count = 0;
    while (first + 1 + count < reader->count && !is_flag(reader->words[first + 1 + count].text) &&
           (plain || reader->words[first + 1 + count].line == reader->words[first].line)) {
        count++;
    }
    return count;
}

static void fill_value(struct setting *out, const struct word *values, uint32_t count,
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

static bool push_flag(struct reader *reader, const struct word *flag, uint32_t values,
                      struct setting_list *out)
{
    const char *name = flag->text + 2, *equals = strchr(name, '=');
    const size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    const char *key = text_build_copy(reader->arena, name, length);
    setting_drop(out, key); /* of two the last counts, as it does for programs */
    struct setting *setting = setting_push(out, key, flag->place, reader->diag);
    if (setting == NULL) {
        return false;
    }
    const struct word given = {.text = equals == NULL ? "true" : equals + 1};
    if (equals != NULL || values == 0) {
        fill_value(setting, &given, 1, reader->arena);
    } else {
        fill_value(setting, flag + 1, values, reader->arena);
    }
    return true;
}

bool setting_read_words(const char *name, const char *text, size_t length, struct arena *arena,
                        struct setting_list *out, struct diag *diag)
{
    const char *kept = text_build_copy(arena, name, strlen(name));
    struct reader reader = {
        .at = {.name = kept, .text = text, .length = length, .line = 1, .arena = arena},
        .given = out->given,
        .arena = arena,
        .diag = diag,
    };
    struct setting_list list;
    setting_list_init(&list, kept, arena);
    const bool plain = is_plain(text);
    if (!(plain ? read_plain(&reader) : read_script(&reader))) {
        return false;
    }
    drop_launchers(&reader);
    for (uint32_t i = 0; i < reader.count; i++) {
        const uint32_t values = count_values(&reader, i, plain);
        if (is_flag(reader.words[i].text) && !push_flag(&reader, &reader.words[i], values, &list)) {
            return false;
        }
    }
    *out = list;
    return true;
}
