/* A list of settings grows by twice; keys are unique. */
#include "base/setting.h"

#include <string.h>

#include "base/setting_inside.h"

#define LINE_SHOWN_BYTES 200u

void setting_list_init(struct setting_list *list, const char *name, struct arena *arena)
{
    *list = (struct setting_list){.arena = arena, .file = name};
}

const char *setting_find_given(const struct setting_given *given, const char *name,
                               size_t name_length, size_t *length)
{
    const char *at = given->list;
    while (at != NULL && *at != '\0') {
        const size_t whole = strcspn(at, ","), equals = strcspn(at, "=,");
        if (equals == name_length && at[equals] == '=' && strncmp(at, name, equals) == 0) {
            given->used[at - given->list] = true;
            *length = whole - equals - 1;
            return at + equals + 1;
        }
        at += whole + (at[whole] == ',');
    }
    return NULL;
}

const struct setting *setting_find(const struct setting_list *list, const char *key)
{
    for (uint32_t i = list->count; i > 0; i--) {
        if (strcmp(list->settings[i - 1].key, key) == 0) {
            return &list->settings[i - 1];
        }
    }
    return NULL;
}

void setting_drop(struct setting_list *list, const char *key)
{
    const struct setting *found = setting_find(list, key);
    if (found != NULL) {
        const uint32_t index = (uint32_t)(found - list->settings);
        memmove(&list->settings[index], &list->settings[index + 1],
                (list->count - index - 1) * sizeof *found);
        list->count--;
    }
}

static struct setting *grow(struct setting *old, uint32_t count, struct arena *arena)
{
    struct setting *settings = ARENA_PUSH(arena, struct setting, 2 * (size_t)count + 8);
    if (count > 0) {
        memcpy(settings, old, count * sizeof *old);
    }
    return settings;
}

struct setting *setting_push(struct setting_list *list, const char *key, struct diag_place place,
                             struct diag *diag)
{
    if (setting_find(list, key) != NULL) {
        diag_push(diag, DIAG_B104, place, NULL, "'%s' is set twice", key);
        return NULL;
    }
    if (list->count == SETTING_MAX) {
        diag_push(diag, DIAG_B102, place, NULL, "the file has more than %u settings", SETTING_MAX);
        return NULL;
    }
    if (list->count == list->room) {
        list->settings = grow(list->settings, list->count, list->arena);
        list->room = 2 * list->count + 8;
    }
    struct setting *setting = &list->settings[list->count++];
    *setting = (struct setting){.key = key, .text = "", .place = place};
    return setting;
}

/* Room for 8, 24, 56, ... items. */
struct setting *setting_push_item(struct setting *list, struct arena *arena)
{
    const uint32_t count = list->item_count;
    if (count % 8 == 0 && ((count / 8 + 1) & (count / 8)) == 0) {
        list->items = grow(list->items, count, arena);
    }
    struct setting *item = &list->items[list->item_count++];
    *item = (struct setting){.text = "", .place = list->place};
    return item;
}

const char *setting_join(struct arena *arena, const char *table, const char *key)
{
    return text_build(arena, "%s%s%s", table, table[0] == '\0' ? "" : ".", key);
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (uint32_t i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* Digits with at most one point and one exponent. */
static bool is_number(const char *word)
{
    const size_t sign = word[0] == '-' || word[0] == '+';
    const size_t whole = strspn(word + sign, "0123456789");
    const char *rest = word + sign + whole;
    size_t part = 0;
    if (*rest == '.') {
        part = strspn(rest + 1, "0123456789");
        rest += 1 + part;
    }
    if (whole + part > 0 && (*rest == 'e' || *rest == 'E')) {
        const size_t exponent_sign = rest[1] == '-' || rest[1] == '+';
        const size_t exponent = strspn(rest + 1 + exponent_sign, "0123456789");
        rest += exponent == 0 ? 0 : 1 + exponent_sign + exponent;
    }
    return whole + part > 0 && *rest == '\0';
}

enum setting_kind setting_guess(const char *word)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const truths[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    if (is_one_of(word, nulls)) {
        return SETTING_NULL;
    }
    if (is_one_of(word, truths)) {
        return SETTING_BOOL;
    }
    return is_number(word) ? SETTING_NUMBER : SETTING_TEXT;
}

void setting_step(struct setting_cursor *cursor)
{
    if (cursor->text[cursor->at] == '\n') {
        cursor->line++;
        cursor->line_begin = cursor->at + 1;
    }
    cursor->at++;
}

static uint32_t count_column(struct setting_cursor *cursor)
{
    if (cursor->counted_from != cursor->line_begin || cursor->counted_to > cursor->at) {
        cursor->counted_from = cursor->counted_to = cursor->line_begin;
        cursor->counted = 0;
    }
    for (; cursor->counted_to < cursor->at; cursor->counted_to++) {
        cursor->counted += ((unsigned char)cursor->text[cursor->counted_to] & 0xc0) != 0x80;
    }
    return cursor->counted + 1;
}

struct diag_place setting_place(struct setting_cursor *cursor)
{
    const char *line = cursor->text + cursor->line_begin;
    size_t length = 0;
    while (length < LINE_SHOWN_BYTES && strchr("\r\n", line[length]) == NULL) {
        length++;
    }
    while (length > 0 && length == LINE_SHOWN_BYTES &&
           ((unsigned char)line[length] & 0xc0) == 0x80) {
        length--;
    }
    return (struct diag_place){.file = cursor->name,
                               .line = cursor->line,
                               .column = count_column(cursor),
                               .source_line = text_build_copy(cursor->arena, line, length)};
}
