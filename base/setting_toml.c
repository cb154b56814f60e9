/* Settings of a TOML 1.0 text. Arrays of tables are refused: no configuration read here has any. */
#include <string.h>

#include "base/setting_inside.h"

struct reader {
    struct setting_cursor at;
    struct setting_list list;
    const char *table; /* [a.b] in force, "" at the top */
    struct diag *diag;
};

static bool read_value(struct reader *reader, uint32_t depth, struct setting *out);
static bool read_pair(struct reader *reader, const char *table, uint32_t depth);

static char look(const struct reader *reader)
{
    return reader->at.text[reader->at.at];
}

static bool refuse(struct reader *reader, const char *what)
{
    return diag_push(reader->diag, DIAG_B131, setting_place(&reader->at), NULL, "no TOML: %s",
                     what);
}

static void skip_blanks(struct reader *reader)
{
    while (look(reader) == ' ' || look(reader) == '\t') {
        setting_step(&reader->at);
    }
}

static void skip_comment(struct reader *reader)
{
    skip_blanks(reader);
    while (look(reader) == '#' && look(reader) != '\n') {
        reader->at.at += strcspn(reader->at.text + reader->at.at, "\n");
    }
}

/* Blanks, comments, ends of lines. */
static void skip_lines(struct reader *reader)
{
    skip_comment(reader);
    while (look(reader) == '\n' || look(reader) == '\r') {
        setting_step(&reader->at);
        skip_comment(reader);
    }
}

static bool end_line(struct reader *reader)
{
    skip_comment(reader);
    if (look(reader) == '\r') {
        setting_step(&reader->at);
    }
    if (look(reader) != '\n' && look(reader) != '\0') {
        return refuse(reader, "nothing may follow a value on its line");
    }
    return true;
}

/* --- strings ---------------------------------------------------------------------------------- */

static bool read_code(struct reader *reader, uint32_t digits, struct text *out)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t code = 0;
    for (uint32_t i = 0; i < digits; i++) {
        const char c = look(reader);
        const char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
        const char *digit = c == '\0' ? NULL : strchr(hex, lower);
        if (digit == NULL) {
            return refuse(reader, "a character code has a digit that is not hexadecimal");
        }
        code = code << 4 | (uint32_t)(digit - hex);
        setting_step(&reader->at);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return refuse(reader, "a character code stands for no character");
    }
    const char bytes[] = {(char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3f)),
                          (char)(0x80 | (code >> 6 & 0x3f)), (char)(0x80 | (code & 0x3f))};
    const char two = (char)(0xc0 | code >> 6), three = (char)(0xe0 | code >> 12);
    if (code < 0x80) {
        text_push(out, "%c", (char)code);
    } else if (code < 0x800) {
        text_push(out, "%c%c", two, bytes[3]);
    } else if (code < 0x10000) {
        text_push(out, "%c%c%c", three, bytes[2], bytes[3]);
    } else {
        text_push_bytes(out, bytes, 4);
    }
    return true;
}

/* Behind the backslash. */
static bool read_escape(struct reader *reader, bool multiline, struct text *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const char c = look(reader);
    const char *found = c == '\0' ? NULL : strchr(from, c);
    if (c == 'u' || c == 'U') {
        setting_step(&reader->at);
        return read_code(reader, c == 'u' ? 4 : 8, out);
    }
    if (multiline && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) {
        while (look(reader) != '\0' && strchr(" \t\r\n", look(reader)) != NULL) {
            setting_step(&reader->at);
        }
        return true;
    }
    if (found == NULL) {
        return refuse(reader, "a backslash is followed by something else than an escape");
    }
    text_push_bytes(out, &to[found - from], 1);
    setting_step(&reader->at);
    return true;
}

/* "...", '...', or either with three quotes. */
static bool read_string(struct reader *reader, const char **out)
{
    const char quote = look(reader);
    const char marks[] = {quote, quote, quote, '\0'};
    const bool multiline = strncmp(reader->at.text + reader->at.at, marks, 3) == 0;
    const size_t width = multiline ? 3 : 1;
    struct text text;
    text_init(&text, reader->list.arena);
    reader->at.at += width;
    if (multiline && look(reader) == '\n') {
        setting_step(&reader->at);
    }
    while (strncmp(reader->at.text + reader->at.at, marks, width) != 0) {
        const char c = look(reader);
        if (c == '\0' || (!multiline && c == '\n')) {
            return refuse(reader, "a string is not closed");
        }
        setting_step(&reader->at);
        if (quote == '"' && c == '\\') {
            if (!read_escape(reader, multiline, &text)) {
                return false;
            }
        } else {
            text_push_bytes(&text, &c, 1);
        }
    }
    reader->at.at += width;
    *out = text.bytes;
    return true;
}

/* --- keys ------------------------------------------------------------------------------------- */

#define BARE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static bool read_key_part(struct reader *reader, const char **out)
{
    if (look(reader) == '"' || look(reader) == '\'') {
        return read_string(reader, out);
    }
    const char *start = reader->at.text + reader->at.at;
    const size_t length = strspn(start, BARE);
    if (length == 0) {
        return refuse(reader, "a key is expected here");
    }
    *out = text_build_copy(reader->list.arena, start, length);
    reader->at.at += length;
    return true;
}

/* a . "b" . c */
static bool read_key(struct reader *reader, const char *table, const char **out)
{
    const char *key = table, *part = NULL;
    uint32_t parts = 0;
    do {
        reader->at.at += parts > 0;
        skip_blanks(reader);
        if (parts++ == SETTING_DEPTH_MAX) {
            return refuse(reader, "a key has too many parts");
        }
        if (!read_key_part(reader, &part)) {
            return false;
        }
        key = setting_join(reader->list.arena, key, part);
        skip_blanks(reader);
    } while (look(reader) == '.');
    *out = key;
    return true;
}

/* --- values ----------------------------------------------------------------------------------- */

/* 10_000 without its underscores; dates and the like are kept as text. */
static bool read_word(struct reader *reader, struct setting *out)
{
    const char *start = reader->at.text + reader->at.at;
    const size_t length = strcspn(start, " \t\r\n#,]}");
    struct text text;
    text_init(&text, reader->list.arena);
    for (size_t i = 0; i < length; i++) {
        if (start[i] != '_') {
            text_push_bytes(&text, &start[i], 1);
        }
    }
    const char *word = text.bytes;
    const enum setting_kind kind = setting_guess(word);
    const bool truth = strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
    const bool other = word[0] >= '0' && word[0] <= '9';
    const bool unbounded = strstr("+inf -inf +nan -nan", word) != NULL && length >= 3;
    if (length == 0 || !(kind == SETTING_NUMBER || truth || other || unbounded)) {
        return refuse(reader, "a value is expected here: text stands in quotes");
    }
    out->kind = kind == SETTING_NUMBER || kind == SETTING_BOOL ? kind : SETTING_TEXT;
    out->text = word;
    reader->at.at += length;
    return true;
}

static bool read_list(struct reader *reader, uint32_t depth, struct setting *out)
{
    out->kind = SETTING_LIST;
    setting_step(&reader->at);
    skip_lines(reader);
    while (look(reader) != ']') {
        if (out->item_count == SETTING_MAX || depth == SETTING_DEPTH_MAX) {
            return refuse(reader, "a list is too long or nested too deep");
        }
        struct setting *item = setting_push_item(out, reader->list.arena);
        if (!read_value(reader, depth + 1, item)) {
            return false;
        }
        skip_lines(reader);
        if (look(reader) == ',') {
            setting_step(&reader->at);
            skip_lines(reader);
        } else if (look(reader) != ']') {
            return refuse(reader, "a list goes on with ',' or ends with ']'");
        }
    }
    setting_step(&reader->at);
    return true;
}

static bool read_value(struct reader *reader, uint32_t depth, struct setting *out)
{
    const char c = look(reader);
    if (c == '"' || c == '\'') {
        out->kind = SETTING_TEXT;
        return read_string(reader, &out->text);
    }
    if (c == '[') {
        return read_list(reader, depth, out);
    }
    if (c == '{') {
        return refuse(reader, "a table cannot stand in a list here");
    }
    return read_word(reader, out);
}

/* { a = 1, b = 2 } */
static bool read_inline_table(struct reader *reader, const char *table, uint32_t depth)
{
    if (depth == SETTING_DEPTH_MAX) {
        return refuse(reader, "a table is nested too deep");
    }
    setting_step(&reader->at);
    skip_blanks(reader);
    while (look(reader) != '}') {
        if (!read_pair(reader, table, depth + 1)) {
            return false;
        }
        skip_blanks(reader);
        if (look(reader) == ',') {
            setting_step(&reader->at);
            skip_blanks(reader);
        } else if (look(reader) != '}') {
            return refuse(reader, "an inline table goes on with ',' or ends with '}'");
        }
    }
    setting_step(&reader->at);
    return true;
}

static bool read_pair(struct reader *reader, const char *table, uint32_t depth)
{
    const struct diag_place place = setting_place(&reader->at);
    const char *key = NULL;
    if (!read_key(reader, table, &key)) {
        return false;
    }
    if (look(reader) != '=') {
        return refuse(reader, "'=' is expected behind a key");
    }
    setting_step(&reader->at);
    skip_blanks(reader);
    if (look(reader) == '{') {
        return read_inline_table(reader, key, depth);
    }
    struct setting *setting = setting_push(&reader->list, key, place, reader->diag);
    return setting != NULL && read_value(reader, 0, setting);
}

/* [a.b] */
static bool read_header(struct reader *reader)
{
    setting_step(&reader->at);
    if (look(reader) == '[') {
        return refuse(reader, "arrays of tables are not read");
    }
    if (!read_key(reader, "", &reader->table)) {
        return false;
    }
    if (look(reader) != ']') {
        return refuse(reader, "']' is expected behind the name of a table");
    }
    setting_step(&reader->at);
    return true;
}

bool setting_read_toml(const char *name, const char *text, size_t length, struct arena *arena,
                       struct setting_list *out, struct diag *diag)
{
    const char *kept = text_build_copy(arena, name, strlen(name));
    struct reader reader = {
        .at = {.name = kept, .text = text, .length = length, .line = 1, .arena = arena},
        .table = "",
        .diag = diag,
    };
    setting_list_init(&reader.list, kept, arena);
    for (skip_lines(&reader); look(&reader) != '\0'; skip_lines(&reader)) {
        const bool good =
            look(&reader) == '[' ? read_header(&reader) : read_pair(&reader, reader.table, 0);
        if (!good || !end_line(&reader)) {
            return false;
        }
    }
    *out = reader.list;
    return true;
}
