/* Many names written as one: "a[0-3]" stands for a0, a1, a2, a3. */
#include "topologies/id_range.h"

#include <string.h>

#define DIGITS_MAX 9

/* The number of up to nine digits at `at`; gives the byte behind it, NULL if there is none. */
static const char *read_number(const char *at, uint32_t *out)
{
    const char *begin = at;
    uint32_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (at - begin == DIGITS_MAX) {
            return NULL;
        }
        number = number * 10 + (uint32_t)(*at - '0');
    }
    *out = number;
    return at == begin ? NULL : at;
}

static bool read_bracket(const char *begin, struct id_bracket *out)
{
    uint32_t low, high;
    const char *dash = read_number(begin + 1, &low);
    if (dash == NULL || *dash != '-') {
        return false;
    }
    const char *close = read_number(dash + 1, &high);
    if (close == NULL || *close != ']' || high < low) {
        return false;
    }
    *out = (struct id_bracket){
        .begin = begin,
        .end = close + 1,
        .low = low,
        .high = high,
        .width = begin[1] == '0' ? (uint32_t)(dash - begin - 1) : 1,
    };
    return true;
}

bool id_range_read(const char *text, struct id_range *out)
{
    struct id_range range = {.text = text, .count = 1};
    const char *open = strchr(text, '[');
    while (open != NULL) {
        struct id_bracket *bracket = &range.brackets[range.bracket_count];
        if (range.bracket_count == ID_BRACKET_MAX || !read_bracket(open, bracket)) {
            return false;
        }
        range.bracket_count++;
        const uint64_t size = (uint64_t)bracket->high - bracket->low + 1;
        range.count = range.count > UINT64_MAX / size ? UINT64_MAX : range.count * size;
        open = strchr(bracket->end, '[');
    }
    *out = range;
    return *text != '\0';
}

/* At least `width` digits; gives the byte behind them. */
static char *write_number(char *to, uint32_t number, uint32_t width)
{
    char digits[DIGITS_MAX];
    uint32_t count = 0;
    for (; number > 0 || count < width; number /= 10) {
        digits[count++] = (char)('0' + number % 10);
    }
    for (; count > 0; count--) {
        *to++ = digits[count - 1];
    }
    return to;
}

const char *id_range_build(const struct id_range *range, uint64_t index, struct arena *arena)
{
    uint32_t numbers[ID_BRACKET_MAX];
    for (uint32_t i = range->bracket_count; i-- > 0;) {
        const struct id_bracket *bracket = &range->brackets[i];
        const uint64_t size = (uint64_t)bracket->high - bracket->low + 1;
        numbers[i] = bracket->low + (uint32_t)(index % size);
        index /= size;
    }
    /* A number is never longer than the bracket that it stands for. */
    char *id = arena_push(arena, strlen(range->text) + 1, 1);
    char *to = id;
    const char *at = range->text;
    for (uint32_t i = 0; i < range->bracket_count; i++) {
        const struct id_bracket *bracket = &range->brackets[i];
        const size_t plain = (size_t)(bracket->begin - at);
        memcpy(to, at, plain);
        to += plain;
        to = write_number(to, numbers[i], bracket->width);
        at = bracket->end;
    }
    memcpy(to, at, strlen(at) + 1);
    return id;
}

bool id_range_find_number(const char *id, size_t *out_prefix_length, uint32_t *out_number)
{
    const size_t length = strlen(id);
    size_t prefix = length;
    while (prefix > 0 && id[prefix - 1] >= '0' && id[prefix - 1] <= '9') {
        prefix--;
    }
    const bool zeros = id[prefix] == '0' && length - prefix > 1;
    if (zeros || strchr(id, '[') != NULL || read_number(id + prefix, out_number) == NULL) {
        return false;
    }
    *out_prefix_length = prefix;
    return true;
}
