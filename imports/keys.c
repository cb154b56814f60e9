/* A key is known by its name; a value by its shape. */
#include "imports/keys.h"

#include <string.h>

#include "base/data_folder.h"

struct keys {
    const char *name;
    const char *const *names; /* NULL-terminated, in the order of the file */
    uint32_t count;
    const char **types;          /* per key: "integer", "number", "bool", "switch", "text", "any" */
    const char *const **choices; /* per key, NULL: none */
    const char *const *strict;   /* sections that know all their keys; NULL: every one does */
};

static bool read_words(struct json_value list, struct arena *arena, const char *const **out)
{
    const char **words = ARENA_PUSH(arena, const char *, (size_t)json_count(list) + 1);
    bool good = true;
    for (uint32_t i = 0; i < json_count(list) && good; i++) {
        const char *word = NULL;
        good = json_value_string(json_find_index(list, i), &word);
        words[i] = good ? text_build_copy(arena, word, strlen(word)) : NULL;
    }
    *out = words;
    return good;
}

static bool read_key(struct json_value member, struct arena *arena, struct keys *out, uint32_t i)
{
    const char *type = "any";
    if (json_is_array(member)) {
        out->types[i] = "choice";
        return read_words(member, arena, &out->choices[i]);
    }
    const bool good = json_value_string(member, &type);
    out->types[i] = text_build_copy(arena, type, strlen(type));
    return good;
}

static bool read_object(struct json_value root, struct arena *arena, struct keys *out,
                        struct diag *diag)
{
    static const char *const known[] = {"format", "name", "source", "strict", "keys", NULL};
    static const char *const formats[] = {"shardplan/keys/1", NULL};
    const struct json_value keys = json_find(root, "keys"), strict = json_find(root, "strict");
    uint32_t format = 0;
    bool good = json_check_keys(root, known, diag);
    good = json_read_choice(root, "format", formats, &format, diag) && good;
    good = json_read_string(root, "name", arena, &out->name, diag) && good;
    if (!good || !json_is_object(keys)) {
        return good && diag_push(diag, DIAG_B106, json_place(root), NULL, "keys are missing");
    }
    out->count = json_count(keys);
    const char **names = ARENA_PUSH(arena, const char *, (size_t)out->count + 1);
    out->types = ARENA_PUSH(arena, const char *, out->count);
    out->choices = ARENA_PUSH(arena, const char *const *, out->count);
    for (uint32_t i = 0; i < out->count; i++) {
        const struct json_value member = json_find_index(keys, i);
        names[i] = text_build_copy(arena, json_key(member), strlen(json_key(member)));
        good = read_key(member, arena, out, i) && good;
    }
    out->names = names;
    good = (json_is_null(strict) || read_words(strict, arena, &out->strict)) && good;
    return good ||
           diag_push(diag, DIAG_B107, json_place(keys), NULL, "a type or a choice is no word");
}

bool keys_read(const char *name, struct arena *arena, const struct keys **out, struct diag *diag)
{
    struct json *document = NULL;
    struct keys *keys = ARENA_PUSH(arena, struct keys, 1);
    const char *path = data_folder_find(text_build(arena, "imports/keys/%s.json", name), arena);
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_object(json_root(document), arena, keys, diag);
    json_close(document);
    *out = good ? keys : NULL;
    return good;
}

static uint32_t find(const struct keys *keys, const char *key)
{
    uint32_t i = 0;
    while (i < keys->count && strcmp(keys->names[i], key) != 0) {
        i++;
    }
    return i;
}

bool keys_has(const struct keys *keys, const char *key)
{
    return find(keys, key) < keys->count;
}

static bool is_strict(const struct keys *keys, const char *key)
{
    bool strict = keys->strict == NULL;
    for (uint32_t i = 0; !strict && keys->strict[i] != NULL; i++) {
        const size_t length = strlen(keys->strict[i]);
        strict = strncmp(key, keys->strict[i], length) == 0 && key[length] == '.';
    }
    return strict;
}

/* A value that a shell or a template is still to fill in. */
static bool is_open(const char *text)
{
    return strchr(text, '$') != NULL || strcmp(text, "auto") == 0;
}

static bool is_integer(const struct setting *value)
{
    const char *digits = value->text + (value->text[0] == '-' || value->text[0] == '+');
    return value->kind == SETTING_NUMBER && digits[0] != '\0' &&
           strspn(digits, "0123456789") == strlen(digits);
}

static bool is_choice(const char *word, const char *const *choices)
{
    for (uint32_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static const char *list_choices(const char *const *choices, struct arena *arena)
{
    struct text text;
    text_init(&text, arena);
    for (uint32_t i = 0; choices[i] != NULL; i++) {
        text_push(&text, "%s%s", i == 0 ? "one of " : ", ", choices[i]);
    }
    return text.bytes;
}

/* Whole numbers may be written as 5e8 where the file has numbers of its own. */
static bool fits(const struct setting *value, const char *type, bool written)
{
    if (strncmp(type, "integer", 7) == 0) {
        return is_integer(value) || (written && value->kind == SETTING_NUMBER);
    }
    if (strncmp(type, "number", 6) == 0) {
        return value->kind == SETTING_NUMBER;
    }
    if (strcmp(type, "bool") == 0 || strcmp(type, "switch") == 0) {
        static const char *const words[] = {"yes", "no", "on", "off", "true", "false", NULL};
        return value->kind == SETTING_BOOL || value->kind == SETTING_NULL ||
               (written && is_choice(value->text, words));
    }
    return strcmp(type, "any") == 0 || value->kind != SETTING_LIST;
}

static bool takes_several(const char *type)
{
    const char last = type[strlen(type) - 1];
    return last == '+' || last == '*';
}

static bool check_value(const struct keys *keys, uint32_t key, const struct setting *value,
                        struct diag *diag)
{
    const char *type = keys->types[key];
    const bool written = keys->strict != NULL;
    if (value->kind == SETTING_NULL || is_open(value->text)) {
        return true;
    }
    if (value->kind == SETTING_LIST && takes_several(type)) {
        bool good = value->item_count > 0 || type[strlen(type) - 1] == '*';
        for (uint32_t i = 0; i < value->item_count && good; i++) {
            good = is_open(value->items[i].text) || fits(&value->items[i], type, written);
        }
        return good || diag_push(diag, DIAG_X661, value->place, NULL,
                                 "'%s' takes values of type %s", keys->names[key], type);
    }
    if (keys->choices[key] != NULL) {
        return is_choice(value->text, keys->choices[key]) ||
               diag_push(diag, DIAG_X661, value->place,
                         list_choices(keys->choices[key], diag->arena), "'%s' is '%s'",
                         keys->names[key], value->text);
    }
    return fits(value, type, written) ||
           diag_push(diag, DIAG_X661, value->place,
                     text_build(diag->arena, "a value of type %s", type), "'%s' is '%s'%s",
                     keys->names[key], value->text, value->kind == SETTING_LIST ? ", a list" : "");
}

bool keys_check(const struct keys *keys, const struct setting_list *settings, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = 0; i < settings->count; i++) {
        const struct setting *setting = &settings->settings[i];
        const uint32_t key = find(keys, setting->key);
        if (key < keys->count) {
            good = check_value(keys, key, setting, diag) && good;
        } else if (is_strict(keys, setting->key)) {
            const char *near = text_find_nearest(setting->key, keys->names, keys->count);
            good =
                diag_push(diag, DIAG_X660, setting->place,
                          near == NULL ? NULL : text_build(diag->arena, "did you mean '%s'?", near),
                          "%s has no setting '%s'", keys->name, setting->key);
        }
    }
    return good;
}

bool keys_take_several(const struct keys *keys, const char *key)
{
    const uint32_t i = find(keys, key);
    return i < keys->count && takes_several(keys->types[i]);
}

bool keys_has_choice(const struct keys *keys, const char *key, const char *word)
{
    const uint32_t i = find(keys, key);
    return i < keys->count && keys->choices[i] != NULL && is_choice(word, keys->choices[i]);
}
