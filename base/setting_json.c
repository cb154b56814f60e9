/* Settings of an open JSON document. */
#include <string.h>

#include "base/setting_inside.h"

static bool read_object(struct json_value object, const char *table, uint32_t depth,
                        struct setting_list *out, struct diag *diag);

/* The word between the quotes; numbers and truth values as they stand. */
static const char *text_of(struct json_value value, struct arena *arena)
{
    const char *text = "";
    if (json_value_string(value, &text)) {
        return text_build_copy(arena, text, strlen(text));
    }
    return json_is_null(value) ? "" : json_value_text(value, arena);
}

static enum setting_kind kind_of(struct json_value value)
{
    return json_is_array(value)    ? SETTING_LIST
           : json_is_null(value)   ? SETTING_NULL
           : json_is_bool(value)   ? SETTING_BOOL
           : json_is_number(value) ? SETTING_NUMBER
                                   : SETTING_TEXT;
}

/* Objects within lists are kept as their text: no runtime plans by them. */
static bool read_value(struct json_value value, uint32_t depth, struct setting_list *list,
                       struct setting *out, struct diag *diag)
{
    out->kind = kind_of(value);
    if (out->kind != SETTING_LIST) {
        out->text = text_of(value, list->arena);
        return true;
    }
    if (depth == SETTING_DEPTH_MAX) {
        return diag_push(diag, DIAG_B111, json_place(value), NULL,
                         "the value is nested deeper than %u levels", SETTING_DEPTH_MAX);
    }
    for (uint32_t i = 0; i < json_count(value); i++) {
        struct setting *item = setting_push_item(out, list->arena);
        if (!read_value(json_find_index(value, i), depth + 1, list, item, diag)) {
            return false;
        }
    }
    return true;
}

static bool read_member(struct json_value member, const char *key, uint32_t depth,
                        struct setting_list *out, struct diag *diag)
{
    if (json_is_object(member) && json_count(member) > 0) {
        return read_object(member, key, depth + 1, out, diag);
    }
    struct setting *setting = setting_push(out, key, json_place(member), diag);
    return setting != NULL && read_value(member, depth, out, setting, diag);
}

static bool read_object(struct json_value object, const char *table, uint32_t depth,
                        struct setting_list *out, struct diag *diag)
{
    if (depth == SETTING_DEPTH_MAX) {
        return diag_push(diag, DIAG_B111, json_place(object), NULL,
                         "the value is nested deeper than %u levels", SETTING_DEPTH_MAX);
    }
    bool good = true;
    for (uint32_t i = 0; i < json_count(object) && good; i++) {
        const struct json_value member = json_find_index(object, i);
        const char *key = setting_join(out->arena, table, json_key(member));
        good = read_member(member, key, depth, out, diag);
    }
    return good;
}

bool setting_read_json(struct json_value object, const char *name, struct arena *arena,
                       struct setting_list *out, struct diag *diag)
{
    struct setting_list list;
    setting_list_init(&list, name, arena);
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "a configuration is an object of keys and values");
    }
    if (!read_object(object, "", 0, &list, diag)) {
        return false;
    }
    *out = list;
    return true;
}
