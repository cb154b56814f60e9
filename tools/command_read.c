/* Values of flags as numbers, words, quantities. */
#include <stdlib.h>
#include <string.h>

#include "tools/command_inside.h"

static const struct diag_place nowhere = {0};

static const struct flag *flag_of(const struct command *command, const char *name,
                                  const char **value)
{
    const uint32_t index = command_find_flag(command, name);
    if (index == UINT32_MAX) {
        BUG("'%s' has no flag %s", command->kind->name, name);
    }
    *value = command->values[index];
    return command->flags[index];
}

const char *command_hint(const struct command *command, const char *word, const char *const *names,
                         uint32_t count, const char *otherwise)
{
    const char *near = text_find_nearest(word, names, count);
    return near == NULL ? otherwise : text_build(command->arena, "did you mean '%s'?", near);
}

bool command_has(const struct command *command, const char *flag)
{
    const uint32_t index = command_find_flag(command, flag);
    return index != UINT32_MAX && command->values[index] != NULL;
}

bool command_searches(const struct command *command, const char *flag)
{
    const uint32_t index = command_find_flag(command, flag);
    return index != UINT32_MAX && command->flags[index]->searchable &&
           command->values[index] != NULL && strcmp(command->values[index], "search") == 0;
}

static const struct flag *read_value(struct command *command, const char *name, const char **value)
{
    const struct flag *flag = flag_of(command, name, value);
    if (*value == NULL) {
        *value = flag->fallback;
    }
    if (*value == NULL) {
        diag_push(command->diag, DIAG_C707, nowhere,
                  text_build(command->arena, "usage: %s", command->kind->usage),
                  "%s %s is missing: %s", flag->name, flag->value != NULL ? flag->value : "",
                  flag->help);
        return NULL;
    }
    return flag;
}

static bool refuse(struct command *command, const struct flag *flag, const char *value,
                   const char *right)
{
    return diag_push(command->diag, DIAG_C704, nowhere, NULL, "%s is '%s': it must be %s%s",
                     flag->name, value, right, flag->searchable ? ", or the word search" : "");
}

bool command_text(struct command *command, const char *name, const char **out)
{
    return read_value(command, name, out) != NULL;
}

static const char *count_range(struct command *command, const struct flag *flag)
{
    return flag->max > 0 ? text_build(command->arena, "a whole number from %llu to %llu",
                                      (unsigned long long)flag->min, (unsigned long long)flag->max)
                         : text_build(command->arena, "a whole number from %llu up",
                                      (unsigned long long)flag->min);
}

static bool is_digits(const char *text)
{
    return text[0] != '\0' && strlen(text) <= 18 && text[strspn(text, "0123456789")] == '\0';
}

bool command_count(struct command *command, const char *name, uint64_t *out)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    const uint64_t count = is_digits(value) ? strtoull(value, NULL, 10) : 0;
    if (!is_digits(value) || count < flag->min || (flag->max > 0 && count > flag->max)) {
        return refuse(command, flag, value, count_range(command, flag));
    }
    *out = count;
    return true;
}

bool command_parse_number(const char **cursor, double *out)
{
    char *end;
    const double value = strtod(*cursor, &end);
    const bool good = end != *cursor && value - value == 0;
    *cursor = end;
    *out = value;
    return good;
}

bool command_number(struct command *command, const char *name, double *out)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    const char *cursor = value;
    double number;
    if (!command_parse_number(&cursor, &number) || *cursor != '\0') {
        return refuse(command, flag, value, "a number");
    }
    *out = number;
    return true;
}

bool command_numbers(struct command *command, const char *name, const double **out, uint32_t *count)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    uint32_t commas = 0;
    for (const char *at = value; *at != '\0'; at++) {
        commas += *at == ',';
    }
    double *numbers = ARENA_PUSH(command->arena, double, (size_t)commas + 1);
    const char *cursor = value;
    for (uint32_t i = 0; i <= commas; i++) {
        if (!command_parse_number(&cursor, &numbers[i]) || *cursor != (i < commas ? ',' : '\0')) {
            return refuse(command, flag, value, "numbers with commas between them");
        }
        cursor += i < commas;
    }
    *out = numbers;
    *count = commas + 1;
    return true;
}

bool command_quantity(struct command *command, const char *name, double *out)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    if (!unit_read(value, flag->unit, out)) {
        return diag_push(command->diag, DIAG_C704, nowhere, unit_example(flag->unit),
                         "%s is '%s': that is no quantity", flag->name, value);
    }
    return true;
}

static const char *choice_list(struct command *command, const struct flag *flag)
{
    struct text text;
    text_init(&text, command->arena);
    for (uint32_t i = 0; flag->choices[i] != NULL; i++) {
        text_push(&text, "%s%s", i == 0 ? "one of " : ", ", flag->choices[i]);
    }
    return text.bytes;
}

bool command_choice(struct command *command, const char *name, uint32_t *out)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    for (uint32_t i = 0; flag->choices[i] != NULL; i++) {
        if (strcmp(flag->choices[i], value) == 0) {
            *out = i;
            return true;
        }
    }
    return refuse(command, flag, value, choice_list(command, flag));
}

bool command_toggle(struct command *command, const char *name, bool *out)
{
    const char *value;
    const struct flag *flag = read_value(command, name, &value);
    if (flag == NULL) {
        return false;
    }
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0) {
        return refuse(command, flag, value, "on or off");
    }
    *out = strcmp(value, "on") == 0;
    return true;
}
