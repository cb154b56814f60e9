/* Members that this folder's formats share. */
#include "topologies/member.h"

#include <string.h>

static bool refuse(struct json_value object, struct json_value found, const char *key,
                   const char *what, struct diag *diag)
{
    if (json_is_absent(found)) {
        return diag_push(diag, DIAG_B106, json_place(object), NULL, "'%s' is missing: %s", key,
                         what);
    }
    return diag_push(diag, DIAG_B107, json_place(found), NULL, "'%s' must be %s", key, what);
}

bool member_read_array(struct json_value object, const char *key, const char *what,
                       struct json_value *out, struct diag *diag)
{
    const struct json_value found = json_find(object, key);
    if (!json_is_array(found)) {
        return refuse(object, found, key, what, diag);
    }
    *out = found;
    return true;
}

bool member_read_object(struct json_value object, const char *key, const char *what,
                        struct json_value *out, struct diag *diag)
{
    const struct json_value found = json_find(object, key);
    if (!json_is_object(found)) {
        return refuse(object, found, key, what, diag);
    }
    *out = found;
    return true;
}

bool member_check_format(struct json_value object, const char *format, struct diag *diag)
{
    const struct json_value found = json_find(object, "format");
    const char *text;
    if (json_is_absent(found)) {
        return diag_push(diag, DIAG_B112, json_place(object), NULL,
                         "'format' is missing: write \"format\": \"%s\"", format);
    }
    if (!json_value_string(found, &text)) {
        return diag_push(diag, DIAG_B112, json_place(found), NULL, "'format' must be \"%s\"",
                         format);
    }
    if (strcmp(text, format) != 0) {
        return diag_push(diag, DIAG_B112, json_place(found), NULL,
                         "the format is '%s'; '%s' is expected here", text, format);
    }
    return true;
}

void member_dump_text(const char *key, const char *value, struct json_writer *out)
{
    if (value != NULL && value[0] != '\0') {
        json_push_key_string(out, key, value);
    }
}
