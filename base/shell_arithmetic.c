/* Sums and products of whole numbers and of variables that hold them. */
#include <stdlib.h>
#include <string.h>

#include "base/shell_inside.h"

#define DEPTH_MAX 32u
#define NUMBER_MAX 1000000000000ll /* products of two stay within 64 bits */
#define DIGITS_MAX 12u

struct reader {
    const struct shell_variables *variables;
    const char *at, *end;
    uint32_t depth;
    bool good;
};

static char look(struct reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\n", *reader->at) != NULL) {
        reader->at++;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

static long long number_of(struct reader *reader, const char *text, size_t length)
{
    const size_t sign = length > 0 && text[0] == '-';
    const size_t digits = strspn(text + sign, "0123456789");
    reader->good = reader->good && digits > 0 && digits <= DIGITS_MAX && sign + digits == length &&
                   (digits == 1 || text[sign] != '0'); /* 010 is 8 to a shell */
    return reader->good ? strtoll(text, NULL, 10) : 0;
}

static long long read_variable(struct reader *reader)
{
    const bool braced = reader->at + 1 < reader->end && reader->at[1] == '{';
    reader->at += *reader->at == '$' ? 1 + braced : 0;
    const size_t length = strspn(reader->at, SHELL_NAME_CHARACTERS);
    const struct shell_values *values = shell_variables_find(reader->variables, reader->at, length);
    reader->at += length;
    if (braced && look(reader) == '}') {
        reader->at++;
    } else if (braced) {
        reader->good = false;
    }
    if (values == NULL || !values->known || values->count != 1) {
        reader->good = false;
        return 0;
    }
    return number_of(reader, values->items[0], strlen(values->items[0]));
}

static long long read_sum(struct reader *reader);

static long long read_operand(struct reader *reader)
{
    const char c = look(reader);
    if (c == '(' && reader->depth < DEPTH_MAX) {
        reader->depth++;
        reader->at++;
        const long long value = read_sum(reader);
        reader->good = reader->good && look(reader) == ')';
        reader->at += reader->good;
        reader->depth--;
        return value;
    }
    if (c >= '0' && c <= '9') {
        const size_t length = strspn(reader->at, SHELL_NAME_CHARACTERS);
        const long long value = number_of(reader, reader->at, length);
        reader->at += length;
        return value;
    }
    if (c == '$' || (c != '\0' && strchr(SHELL_NAME_CHARACTERS, c) != NULL)) {
        return read_variable(reader);
    }
    reader->good = false;
    return 0;
}

static bool is_small(long long value)
{
    return value <= NUMBER_MAX && value >= -NUMBER_MAX;
}

static long long read_product(struct reader *reader)
{
    long long value = read_operand(reader);
    for (char c = look(reader); reader->good && (c == '*' || c == '/' || c == '%');
         c = look(reader)) {
        reader->at++;
        const long long other = read_operand(reader);
        const bool apart = is_small(value) && (c != '*' || value == 0 || other == 0 ||
                                               llabs(value) <= NUMBER_MAX / llabs(other));
        reader->good = reader->good && apart && (c == '*' || other != 0);
        if (reader->good) {
            value = c == '*' ? value * other : c == '/' ? value / other : value % other;
        }
    }
    return value;
}

static long long read_sum(struct reader *reader)
{
    long long value = read_product(reader);
    for (char c = look(reader); reader->good && (c == '+' || c == '-'); c = look(reader)) {
        reader->at++;
        const long long other = read_product(reader);
        value = c == '+' ? value + other : value - other;
        reader->good = reader->good && is_small(value);
    }
    return value;
}

bool shell_arithmetic_read(const struct shell_variables *variables, const char *text, size_t length,
                           long long *out)
{
    struct reader reader = {variables, text, text + length, 0, true};
    const long long value = read_sum(&reader);
    if (!reader.good || look(&reader) != '\0') {
        return false;
    }
    *out = value;
    return true;
}
