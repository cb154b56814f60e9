/* A script word by word: what it sets is followed, what it runs is listed. */
#include "base/shell.h"

#include <string.h>

#include "base/shell_inside.h"

#define DEPTH_MAX 32u

/* The word under way; one that nothing stands in, not even quotes, is none. */
struct building {
    struct text text;
    struct diag_place place;
    bool any, quoted, open;
    bool listed;     /* the last variable had all values of an array */
    size_t open_end; /* bytes up to the end of what is open */
};

struct reader {
    struct setting_cursor at;
    struct shell_variables variables;
    struct shell_script script;
    uint32_t room;
    struct shell_word *words; /* of the command under way, or of an array */
    uint32_t count, word_room;
    const char *inside[DEPTH_MAX]; /* what stands around the command */
    uint32_t depth;
    bool conditional; /* behind && or || */
    const char *here; /* the word that ends a text behind <<; NULL: there is none */
    struct arena *arena;
    struct diag *diag;
};

static char look(const struct reader *reader)
{
    return reader->at.text[reader->at.at];
}

static char look_behind(const struct reader *reader)
{
    return look(reader) == '\0' ? '\0' : reader->at.text[reader->at.at + 1];
}

static void step(struct reader *reader, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        setting_step(&reader->at);
    }
}

static bool refuse(struct reader *reader, const char *hint, const char *what)
{
    return diag_push(reader->diag, DIAG_B133, setting_place(&reader->at), hint,
                     "no list of arguments: %s", what);
}

/* --- words ------------------------------------------------------------------------------------ */

static bool push_word(struct reader *reader, struct building *building)
{
    if (!building->any) {
        return true;
    }
    if (reader->count == SHELL_WORD_MAX) {
        return refuse(reader, NULL, "there are too many words");
    }
    if (reader->count == reader->word_room) {
        const uint32_t room = 2 * reader->word_room + 64;
        struct shell_word *words = ARENA_PUSH(reader->arena, struct shell_word, room);
        for (uint32_t i = 0; i < reader->count; i++) {
            words[i] = reader->words[i];
        }
        reader->words = words;
        reader->word_room = room;
    }
    reader->words[reader->count++] = (struct shell_word){
        text_build_copy(reader->arena, building->text.bytes, building->text.length),
        building->place, building->open};
    text_init(&building->text, reader->arena);
    building->any = building->quoted = building->open = false;
    return true;
}

/* Without quotes blanks part words. */
static bool push_split(struct reader *reader, struct building *building, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (strchr(" \t\r\n", *at) == NULL) {
            text_push_bytes(&building->text, at, 1);
            building->any = true;
        } else if (!push_word(reader, building)) {
            return false;
        }
    }
    return true;
}

/* Of an array that is not known even quotes tell no number of words. */
static bool is_list(const char *text)
{
    return strstr(text, "[@]") != NULL;
}

/* Values of a variable at the cursor. In an assignment (`whole`) nothing parts words. */
static bool read_variable(struct reader *reader, struct building *building, bool whole)
{
    struct shell_values values;
    const bool alone = building->text.length == 0;
    const bool quoted = building->quoted;
    const size_t bytes = shell_variables_read(&reader->variables, reader->at.text + reader->at.at,
                                              reader->at.length - reader->at.at, &values);
    step(reader, bytes);
    for (uint32_t i = 0; i < values.count; i++) {
        if (building->text.length + strlen(values.items[i]) > SHELL_BYTES_MAX) {
            return refuse(reader, NULL, "a word is too long");
        }
        if (i > 0 && whole) {
            text_push(&building->text, " ");
        } else if (i > 0 && !push_word(reader, building)) {
            return false;
        }
        if (values.places != NULL && !building->any) {
            building->place = values.places[i];
        }
        if (quoted || whole || !values.known) {
            text_push(&building->text, "%s", values.items[i]);
            building->any = true;
        } else if (!push_split(reader, building, values.items[i])) {
            return false;
        }
        building->quoted = quoted;
    }
    building->open = alone && !values.known && (!quoted || whole || is_list(values.items[0]));
    building->open_end = building->text.length;
    building->listed = values.list;
    return true;
}

static bool read_quoted(struct reader *reader, struct building *building, bool whole)
{
    const char quote = look(reader);
    const size_t begin = building->text.length;
    bool listed = false;
    building->quoted = true;
    step(reader, 1);
    while (look(reader) != quote) {
        const char c = look(reader);
        if (c == '\0') {
            return refuse(reader, NULL, "a quote is not closed");
        }
        if (quote == '"' && (c == '$' || c == '`')) {
            if (!read_variable(reader, building, whole)) {
                return false;
            }
            listed = listed || building->listed;
            continue;
        }
        if (quote == '"' && c == '\\' && look_behind(reader) != '\0') {
            step(reader, 1);
            if (look(reader) == '\n') {
                step(reader, 1);
                continue;
            }
        }
        text_push_bytes(&building->text, reader->at.text + reader->at.at, 1);
        step(reader, 1);
    }
    step(reader, 1);
    building->any = building->any || building->text.length > begin || !listed;
    building->quoted = false;
    return true;
}

static bool skip_redirection(struct reader *reader);

/* Up to a blank or a mark between commands. */
static bool read_word(struct reader *reader, struct building *building, bool whole)
{
    building->place = setting_place(&reader->at);
    while (look(reader) != '\0' && strchr(" \t\r\n;&|()", look(reader)) == NULL) {
        const char c = look(reader);
        bool good = true;
        if (building->text.length > SHELL_BYTES_MAX) {
            return refuse(reader, NULL, "a word is too long");
        }
        if (c == '\'' || c == '"') {
            good = read_quoted(reader, building, whole);
        } else if (c == '$' || c == '`') {
            good = read_variable(reader, building, whole);
        } else if (c == '<' || c == '>') {
            if (strspn(building->text.bytes, "0123456789") == building->text.length) {
                building->any = false; /* the number of what is redirected */
                text_init(&building->text, reader->arena);
            }
            return skip_redirection(reader) && push_word(reader, building);
        } else if (c == '\\' && look_behind(reader) == '\n') {
            step(reader, 2);
        } else {
            step(reader, c == '\\' && look_behind(reader) != '\0');
            text_push_bytes(&building->text, reader->at.text + reader->at.at, 1);
            building->any = true;
            step(reader, 1);
        }
        if (!good) {
            return false;
        }
    }
    return whole || push_word(reader, building);
}

static void skip_blanks(struct reader *reader)
{
    for (;;) {
        const char c = look(reader);
        if (c == '\\' && look_behind(reader) == '\n') {
            step(reader, 2);
        } else if (c != '\0' && strchr(" \t\r", c) != NULL) {
            step(reader, 1);
        } else {
            return;
        }
    }
}

/* ">> file", "2>&1", "<<END": nothing of it is an argument. */
static bool skip_redirection(struct reader *reader)
{
    struct building target = {.any = false};
    const char *mark = reader->at.text + reader->at.at;
    const bool here = strncmp(mark, "<<", 2) == 0 && mark[2] != '<';
    const uint32_t count = reader->count;
    text_init(&target.text, reader->arena);
    step(reader, strspn(mark, "<>&|") + (here && mark[2] == '-'));
    skip_blanks(reader);
    if (look(reader) == '(') {
        return refuse(reader, "write the command alone", "a command stands in for a file");
    }
    if (!read_word(reader, &target, true)) {
        return false;
    }
    reader->count = count;
    reader->here = here ? target.text.bytes : reader->here;
    return true;
}

/* --- assignments ------------------------------------------------------------------------------ */

/* Under a condition nothing is known of the variable behind it. */
static void set(struct reader *reader, const char *name, struct shell_values values)
{
    values.known = values.known && reader->depth == 0 && !reader->conditional;
    shell_variables_push(&reader->variables, name, &values);
}

/* Words up to the closing parenthesis, behind those that there are. */
static bool read_array(struct reader *reader, const char *name, const struct shell_values *before)
{
    const struct diag_place here = setting_place(&reader->at);
    const uint32_t begin = reader->count;
    step(reader, 1);
    for (skip_blanks(reader); look(reader) != ')'; skip_blanks(reader)) {
        struct building building = {.any = false};
        text_init(&building.text, reader->arena);
        if (look(reader) == '#') {
            step(reader, strcspn(reader->at.text + reader->at.at, "\n"));
        } else if (look(reader) == '\n') {
            step(reader, 1);
        } else if (look(reader) == '\0' || strchr(";&|(", look(reader)) != NULL) {
            return refuse(reader, NULL, "the list of an array is not closed");
        } else if (!read_word(reader, &building, false)) {
            return false;
        }
    }
    step(reader, 1);
    const uint32_t kept = before == NULL ? 0 : before->count, added = reader->count - begin;
    struct shell_values values = {.count = kept + added, .list = true, .known = true};
    struct diag_place *places = ARENA_PUSH(reader->arena, struct diag_place, values.count);
    values.items = ARENA_PUSH(reader->arena, const char *, values.count);
    values.places = places;
    for (uint32_t i = 0; i < kept; i++) {
        values.items[i] = before->items[i];
        places[i] = before->places != NULL ? before->places[i] : here;
    }
    for (uint32_t i = 0; i < added; i++) {
        values.items[kept + i] = reader->words[begin + i].text;
        places[kept + i] = reader->words[begin + i].place;
    }
    reader->count = begin;
    set(reader, name, values);
    return true;
}

/* A value that is nothing but what is not known is not known either. */
static bool read_value(struct reader *reader, const char *name, const struct shell_values *before)
{
    struct building building = {.any = false};
    text_init(&building.text, reader->arena);
    if (!read_word(reader, &building, true)) {
        return false;
    }
    struct shell_values values = {.items = ARENA_PUSH(reader->arena, const char *, 1),
                                  .count = 1,
                                  .known =
                                      !building.open || building.open_end < building.text.length};
    values.items[0] = text_build(reader->arena, "%s%s", before == NULL ? "" : before->items[0],
                                 building.text.bytes);
    set(reader, name, values);
    return true;
}

/* NAME=, NAME+= at the cursor; *out says whether there is one. */
static bool read_assignment(struct reader *reader, bool *out)
{
    const char *text = reader->at.text + reader->at.at;
    const size_t length = strspn(text, SHELL_NAME_CHARACTERS);
    const bool named = length > 0 && !(text[0] >= '0' && text[0] <= '9');
    const bool adds = named && text[length] == '+' && text[length + 1] == '=';
    *out = named && (adds || text[length] == '=');
    if (named && text[length] == '[' && text[length + strcspn(text + length, "]= \n")] == ']') {
        return refuse(reader, "write the array as one list", "an array is set element by element");
    }
    if (!*out) {
        return true;
    }
    const char *name = text_build_copy(reader->arena, text, length);
    const struct shell_values *before =
        adds ? shell_variables_find(&reader->variables, name, length) : NULL;
    const bool before_list = before != NULL && before->list;
    const bool lost = adds && before == NULL && shell_variables_are_lost(&reader->variables, name);
    step(reader, length + adds + 1);
    const bool list = look(reader) == '(';
    if (!(list ? read_array(reader, name, before) : read_value(reader, name, before))) {
        return false;
    }
    if (lost) {
        set(reader, name, (struct shell_values){.known = false});
    }
    if (before != NULL && before_list != list) {
        return refuse(reader, "give the list in parentheses",
                      "a word is added to an array, or a "
                      "list to a word");
    }
    return true;
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static bool open_block(struct reader *reader, const char *what)
{
    if (reader->depth == DEPTH_MAX) {
        return refuse(reader, NULL, "commands stand too deep within each other");
    }
    reader->inside[reader->depth++] = what;
    return true;
}

/* Words that no command is called by. */
static bool take_keyword(struct reader *reader, bool *out)
{
    static const char *const opening[] = {"if",     "for",      "while", "until", "case",
                                          "select", "function", "{",     NULL};
    static const char *const closing[] = {"fi", "done", "esac", "}", NULL};
    static const char *const between[] = {"then", "do", "else", "elif", "!", "time", NULL};
    const char *word = reader->count == 1 ? reader->words[0].text : "";
    *out = true;
    if (is_one_of(word, opening)) {
        reader->count = 0;
        return strcmp(word, "function") == 0 || open_block(reader, word);
    }
    if (is_one_of(word, closing)) {
        reader->depth -= reader->depth > 0;
        reader->count = 0;
    } else if (is_one_of(word, between)) {
        reader->count = 0;
    } else {
        *out = false;
    }
    return true;
}

/* What another file sets, or what is typed, is not known. */
static void warn_of_others(struct reader *reader)
{
    static const char *const others[] = {"source", ".", NULL};
    if (reader->count > 1 && is_one_of(reader->words[0].text, others)) {
        diag_push_warning(reader->diag, DIAG_B133, reader->words[0].place,
                          "give with --set what it sets of what is used here", "'%s' is not read",
                          reader->words[1].text);
    }
}

static void end_command(struct reader *reader)
{
    if (reader->count == 0) {
        return;
    }
    warn_of_others(reader);
    if (reader->script.count == reader->room) {
        const uint32_t room = 2 * reader->room + 16;
        struct shell_command *commands = ARENA_PUSH(reader->arena, struct shell_command, room);
        for (uint32_t i = 0; i < reader->script.count; i++) {
            commands[i] = reader->script.commands[i];
        }
        reader->script.commands = commands;
        reader->room = room;
    }
    reader->script.commands[reader->script.count++] = (struct shell_command){
        .words = reader->words,
        .count = reader->count,
        .inside = reader->depth > 0 ? reader->inside[reader->depth - 1] : NULL};
    reader->words = NULL;
    reader->count = reader->word_room = 0;
}

/* The lines of a text that a command reads. */
static void skip_here(struct reader *reader)
{
    const size_t length = strlen(reader->here);
    while (look(reader) != '\0') {
        const char *line = reader->at.text + reader->at.at;
        const size_t indent = strspn(line, "\t"), whole = strcspn(line, "\n");
        const bool last =
            whole == indent + length && strncmp(line + indent, reader->here, length) == 0;
        step(reader, whole + (line[whole] == '\n'));
        if (last) {
            break;
        }
    }
    reader->here = NULL;
}

/* A parenthesis: a function's, a pattern's, or a shell of its own. */
static bool take_parenthesis(struct reader *reader)
{
    const bool opens = look(reader) == '(';
    step(reader, 1);
    if (opens && reader->count == 1 && look(reader) == ')') {
        step(reader, 1);
        reader->count = 0;
        return true;
    }
    end_command(reader);
    if (opens) {
        return open_block(reader, "(");
    }
    reader->depth -= reader->depth > 0 && strcmp(reader->inside[reader->depth - 1], "(") == 0;
    return true;
}

static bool take_mark(struct reader *reader)
{
    const char c = look(reader);
    if (c == '(' || c == ')') {
        return take_parenthesis(reader);
    }
    if (c == '&' && look_behind(reader) == '>') {
        step(reader, 1);
        return skip_redirection(reader);
    }
    const bool both = c != '\n' && look_behind(reader) == c;
    end_command(reader);
    reader->conditional = c == '|' || (c == '&' && both);
    step(reader, 1 + both);
    if (c == '\n' && reader->here != NULL) {
        skip_here(reader);
    }
    return true;
}

static bool is_declaring(const struct reader *reader)
{
    static const char *const words[] = {"export", "declare", "local", "readonly", "typeset", NULL};
    return reader->count == 0 || is_one_of(reader->words[0].text, words);
}

static bool read_next(struct reader *reader)
{
    struct building building = {.any = false};
    bool taken = false;
    const char c = look(reader);
    text_init(&building.text, reader->arena);
    if (c == '#') {
        step(reader, strcspn(reader->at.text + reader->at.at, "\n"));
        return true;
    }
    if (strchr("\n;&|()", c) != NULL) {
        return take_mark(reader);
    }
    if (is_declaring(reader) && !read_assignment(reader, &taken)) {
        return false;
    }
    if (taken) {
        return true;
    }
    const bool bare = c != '\'' && c != '"' && c != '$';
    return read_word(reader, &building, false) && (!bare || take_keyword(reader, &taken));
}

bool shell_read(const char *name, const char *text, size_t length, struct arena *arena,
                struct shell_script *out, struct diag *diag)
{
    struct reader *reader = ARENA_PUSH(arena, struct reader, 1);
    *reader = (struct reader){
        .at = {.name = name, .text = text, .length = length, .line = 1, .arena = arena},
        .variables = {.given = out->given, .arena = arena},
        .arena = arena,
        .diag = diag,
    };
    for (skip_blanks(reader); look(reader) != '\0'; skip_blanks(reader)) {
        if (!read_next(reader)) {
            return false;
        }
    }
    end_command(reader);
    out->commands = reader->script.commands;
    out->count = reader->script.count;
    return true;
}
