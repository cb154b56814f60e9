/* What a script has set so far stands for the dollar signs behind it. */
#include <string.h>

#include "base/shell_inside.h"

#define DEPTH_MAX 8u

struct shell_variable {
    const char *name;
    struct shell_values values;
};

void shell_variables_push(struct shell_variables *variables, const char *name,
                          const struct shell_values *values)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        if (strcmp(variables->variables[i].name, name) == 0) {
            variables->variables[i].values = *values;
            return;
        }
    }
    if (variables->count == variables->room) {
        const uint32_t room = 2 * variables->room + 16;
        struct shell_variable *more = ARENA_PUSH(variables->arena, struct shell_variable, room);
        for (uint32_t i = 0; i < variables->count; i++) {
            more[i] = variables->variables[i];
        }
        variables->variables = more;
        variables->room = room;
    }
    variables->variables[variables->count++] =
        (struct shell_variable){.name = name, .values = *values};
}

static struct shell_values one(const struct shell_variables *variables, const char *text,
                               size_t length, bool known)
{
    struct shell_values values = {
        .items = ARENA_PUSH(variables->arena, const char *, 1), .count = 1, .known = known};
    values.items[0] = text_build_copy(variables->arena, text, length);
    return values;
}

const struct shell_values *shell_variables_find(const struct shell_variables *variables,
                                                const char *name, size_t length)
{
    size_t given_length = 0;
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct shell_variable *variable = &variables->variables[i];
        if (strlen(variable->name) == length && strncmp(variable->name, name, length) == 0 &&
            variable->values.known) {
            return &variable->values;
        }
    }
    const char *given = variables->given == NULL || length == 0
                            ? NULL
                            : setting_find_given(variables->given, name, length, &given_length);
    if (given == NULL) {
        return NULL;
    }
    struct shell_values *values = ARENA_PUSH(variables->arena, struct shell_values, 1);
    *values = one(variables, given, given_length, true);
    return values;
}

bool shell_variables_are_lost(const struct shell_variables *variables, const char *name)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        if (strcmp(variables->variables[i].name, name) == 0) {
            return !variables->variables[i].values.known;
        }
    }
    return false;
}

/* --- forms ------------------------------------------------------------------------------------ */

/* Bytes up to and with the `close` that belongs to the `open` at `text`. */
static size_t find_close(const char *text, size_t length, char open, char close)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += text[i] == open;
        depth -= text[i] == close;
        if (depth == 0) {
            return i + 1;
        }
    }
    return length;
}

static struct shell_values read_form(const struct shell_variables *variables, const char *text,
                                     size_t length, size_t *taken, uint32_t depth);

/* A default value, itself with variables: one text. */
static struct shell_values fill(const struct shell_variables *variables, const char *text,
                                size_t length, uint32_t depth)
{
    struct text out;
    text_init(&out, variables->arena);
    for (size_t i = 0; i < length && out.length < SHELL_BYTES_MAX;) {
        if (text[i] != '$' || depth == DEPTH_MAX) {
            if (text[i] != '"') {
                text_push_bytes(&out, text + i, 1);
            }
            i++;
            continue;
        }
        size_t taken = 0;
        const struct shell_values part =
            read_form(variables, text + i, length - i, &taken, depth + 1);
        for (uint32_t k = 0; k < part.count; k++) {
            text_push(&out, "%s%s", k == 0 ? "" : " ", part.items[k]);
        }
        i += taken;
    }
    return one(variables, out.bytes, out.length, strchr(out.bytes, '$') == NULL);
}

/* "[@]" and "[3]" behind a name; `index` UINT32_MAX for all. */
static size_t read_index(const char *text, size_t length, uint32_t *index)
{
    const size_t digits = length > 1 && text[0] == '[' ? strspn(text + 1, "0123456789") : 0;
    *index = UINT32_MAX;
    if (length > 2 && (strncmp(text, "[@]", 3) == 0 || strncmp(text, "[*]", 3) == 0)) {
        return 3;
    }
    if (digits == 0 || digits > 6 || digits + 1 >= length || text[digits + 1] != ']') {
        return 0;
    }
    *index = 0;
    for (size_t i = 0; i < digits; i++) {
        *index = 10 * *index + (uint32_t)(text[1 + i] - '0');
    }
    return digits + 2;
}

/* Of ${...}: what stands between the braces. */
static struct shell_values read_braced(const struct shell_variables *variables, const char *text,
                                       size_t length, uint32_t depth)
{
    const size_t name = strspn(text, SHELL_NAME_CHARACTERS);
    const struct shell_values *values =
        name == 0 || name > length ? NULL : shell_variables_find(variables, text, name);
    const struct shell_values unknown = {.known = false};
    uint32_t index = 0;
    const size_t indexed = name < length ? read_index(text + name, length - name, &index) : 0;
    const char *rest = text + name + indexed;
    const size_t left = length - name - indexed;
    const size_t colon = left > 0 && rest[0] == ':';
    const bool fallback = left > colon && strchr("-=?", rest[colon]) != NULL;
    if (name == 0 || (left > 0 && !fallback)) {
        return unknown;
    }
    const bool empty = values == NULL || values->count == 0 || values->items[0][0] == '\0';
    if (values == NULL || (fallback && colon == 1 && empty)) {
        return fallback && rest[colon] != '?'
                   ? fill(variables, rest + colon + 1, left - colon - 1, depth)
                   : unknown;
    }
    if (indexed > 0 && index == UINT32_MAX) {
        struct shell_values all = *values;
        all.list = true;
        return all;
    }
    index = indexed == 0 ? 0 : index;
    return index < values->count
               ? one(variables, values->items[index], strlen(values->items[index]), true)
               : one(variables, "", 0, true);
}

static struct shell_values read_plain(const struct shell_variables *variables, const char *text,
                                      size_t length)
{
    const struct shell_values *values = shell_variables_find(variables, text, length);
    if (values == NULL) {
        return (struct shell_values){.known = false};
    }
    return values->count > 0 ? one(variables, values->items[0], strlen(values->items[0]), true)
                             : one(variables, "", 0, true);
}

static struct shell_values read_sum(const struct shell_variables *variables, const char *text,
                                    size_t length)
{
    long long value;
    if (length < 2 || text[length - 1] != ')' ||
        !shell_arithmetic_read(variables, text, length - 1, &value)) {
        return (struct shell_values){.known = false};
    }
    const char *digits = text_build(variables->arena, "%lld", value);
    return one(variables, digits, strlen(digits), true);
}

static struct shell_values read_form(const struct shell_variables *variables, const char *text,
                                     size_t length, size_t *taken, uint32_t depth)
{
    struct shell_values values = {.known = false};
    const char next = length > 1 ? text[1] : '\0';
    size_t whole = 1;
    if (text[0] == '`') {
        const char *close = length > 1 ? memchr(text + 1, '`', length - 1) : NULL;
        whole = close == NULL ? length : (size_t)(close - text) + 1;
    } else if (next == '{') {
        whole = 1 + find_close(text + 1, length - 1, '{', '}');
        if (whole > 3 && text[whole - 1] == '}') {
            values = read_braced(variables, text + 2, whole - 3, depth);
        }
    } else if (next == '(') {
        whole = 1 + find_close(text + 1, length - 1, '(', ')');
        if (whole > 5 && text[2] == '(') {
            values = read_sum(variables, text + 3, whole - 4);
        }
    } else if (next != '\0' && strchr(SHELL_NAME_CHARACTERS, next) != NULL) {
        const bool digit = next >= '0' && next <= '9';
        whole = 1 + (digit ? 1 : strspn(text + 1, SHELL_NAME_CHARACTERS));
        values = read_plain(variables, text + 1, whole - 1);
    } else if (next == '@' || next == '*') {
        whole = 2;
        values = (struct shell_values){.list = true, .known = true};
    } else if (next != '\0' && strchr("#?!-$", next) != NULL) {
        whole = 2;
    }
    *taken = whole;
    return values.known ? values : one(variables, text, whole, false);
}

size_t shell_variables_read(const struct shell_variables *variables, const char *text,
                            size_t length, struct shell_values *out)
{
    size_t taken = 0;
    *out = read_form(variables, text, length, &taken, 0);
    return taken;
}
