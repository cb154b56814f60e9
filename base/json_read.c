/* Typed reads of an object's members, each with one message that says what would be right. */
#include "base/json.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_inside.h"

#define SHOWN_BYTES_MAX 48u /* of a value inside a message */

/* What a key accepts in words, the code for a value that it does not, a hint or NULL. */
struct wish {
    const char *words;
    enum diag_code code;
    const char *hint;
};

const char *json_type_name(struct json_value value)
{
    if (json_is_absent(value)) {
        return "missing";
    }
    return json_is_object(value)   ? "an object"
           : json_is_array(value)  ? "an array"
           : json_is_string(value) ? "a string"
           : json_is_number(value) ? "a number"
           : json_is_bool(value)   ? "true or false"
                                   : "null";
}

const char *json_name(struct json_value value, struct arena *arena)
{
    const char *pointer = json_pointer(value, arena);
    return pointer[0] == '\0' ? "the document" : pointer;
}

/* The value as it stands in the file, shortened. */
static const char *shown(struct json_value value, struct arena *arena)
{
    size_t length;
    const char *span = json_value_span(value, &length);
    if (json_is_object(value) || json_is_array(value)) {
        return json_type_name(value);
    }
    if (length <= SHOWN_BYTES_MAX) {
        return text_build_copy(arena, span, length);
    }
    length = SHOWN_BYTES_MAX;
    while (((unsigned char)span[length] & 0xc0) == 0x80) {
        length--;
    }
    return text_build(arena, "%.*s...", (int)length, span);
}

/* Says why the member of `object` under `key` is not what it must be. */
static bool refuse(struct json_value object, const char *key, struct wish wish, struct diag *diag)
{
    const struct json_value member = json_find(object, key);
    if (json_is_only_counted(diag, wish.code)) {
        return false;
    }
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "%s is %s, but must be an object with the key '%s'",
                         json_name(object, diag->arena), json_type_name(object), key);
    }
    if (json_is_absent(member)) {
        return diag_push(diag, DIAG_B106, json_place(object), wish.hint,
                         "%s lacks the key '%s': it must be %s", json_name(object, diag->arena),
                         key, wish.words);
    }
    return diag_push(diag, wish.code, json_place(member), wish.hint, "%s is %s, but must be %s",
                     json_name(member, diag->arena), shown(member, diag->arena), wish.words);
}

static enum diag_code number_code(struct json_value object, const char *key)
{
    return json_is_number(json_find(object, key)) ? DIAG_B108 : DIAG_B107;
}

/* --- whole numbers, never rounded ------------------------------------------------------------ */

static bool append_digit(uint64_t *value, uint32_t digit)
{
    if (*value > (UINT64_MAX - digit) / 10) {
        return false;
    }
    *value = *value * 10 + digit;
    return true;
}

static bool append_zeros(uint64_t *value, int64_t count)
{
    for (; count > 0 && *value > 0; count--) {
        if (!append_digit(value, 0)) {
            return false;
        }
    }
    return true;
}

/* Clamped far outside of what any number of some sixty digits could make up for. */
static int64_t read_exponent(const char *digits)
{
    const long exponent = strtol(digits, NULL, 10);
    return exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
}

/* A scanned JSON number as a whole: 12, 1.5e3 and 2.0 are, 1.5 and -1 are none. */
static bool read_whole(const char *span, size_t length, uint64_t *out)
{
    uint64_t value = 0;
    int64_t zeros = 0; /* seen but not yet multiplied in, so that 2.000 is whole */
    int64_t power = 0;
    bool fraction = false;
    size_t i = span[0] == '-' ? 1 : 0;
    for (; i < length && span[i] != 'e' && span[i] != 'E'; i++) {
        power -= fraction && span[i] != '.';
        fraction |= span[i] == '.';
        zeros += span[i] == '0';
        if (span[i] == '0' || span[i] == '.') {
            continue;
        }
        if (!append_zeros(&value, zeros) || !append_digit(&value, (uint32_t)(span[i] - '0'))) {
            return false;
        }
        zeros = 0;
    }
    power += zeros + (i < length ? read_exponent(span + i + 1) : 0);
    const bool whole = value == 0 || (span[0] != '-' && power >= 0);
    if (!whole || !append_zeros(&value, power)) {
        return false;
    }
    *out = value;
    return true;
}

bool json_value_u64(struct json_value value, uint64_t *out)
{
    size_t length;
    const char *span = json_value_span(value, &length);
    return json_is_number(value) && read_whole(span, length, out);
}

static const char *whole_words(uint64_t min, uint64_t max, struct arena *arena)
{
    if (max == UINT64_MAX || max == UINT32_MAX) {
        return text_build(arena, "a whole number, at least %llu", (unsigned long long)min);
    }
    return text_build(arena, "a whole number from %llu to %llu", (unsigned long long)min,
                      (unsigned long long)max);
}

bool json_read_u64(struct json_value object, const char *key, uint64_t min, uint64_t max,
                   uint64_t *out, struct diag *diag)
{
    uint64_t value;
    if (json_value_u64(json_find(object, key), &value) && value >= min && value <= max) {
        *out = value;
        return true;
    }
    const struct wish wish = {.words = whole_words(min, max, diag->arena),
                              .code = number_code(object, key)};
    return refuse(object, key, wish, diag);
}

bool json_read_u32(struct json_value object, const char *key, uint32_t min, uint32_t max,
                   uint32_t *out, struct diag *diag)
{
    uint64_t value;
    if (!json_read_u64(object, key, min, max, &value, diag)) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* --- the other types ------------------------------------------------------------------------- */

static const char *number_words(double min, double max, struct arena *arena)
{
    const bool low = min >= -DBL_MAX, high = max <= DBL_MAX;
    if (low && high) {
        return text_build(arena, "a number from %.15g to %.15g", min, max);
    }
    return low || high
               ? text_build(arena, "a number, at %s %.15g", low ? "least" : "most", low ? min : max)
               : "a number";
}

bool json_read_double(struct json_value object, const char *key, double min, double max,
                      double *out, struct diag *diag)
{
    double value;
    if (json_value_double(json_find(object, key), &value) && value >= min && value <= max) {
        *out = value;
        return true;
    }
    const struct wish wish = {.words = number_words(min, max, diag->arena),
                              .code = number_code(object, key)};
    return refuse(object, key, wish, diag);
}

bool json_read_string(struct json_value object, const char *key, struct arena *arena,
                      const char **out, struct diag *diag)
{
    const char *value;
    if (json_value_string(json_find(object, key), &value)) {
        *out = text_build_copy(arena, value, strlen(value));
        return true;
    }
    return refuse(object, key, (struct wish){.words = "a string", .code = DIAG_B107}, diag);
}

static const char *const quantity_words[UNIT_KIND_COUNT] = {
    [UNIT_BYTES] = "a size with its unit",
    [UNIT_BYTES_PER_SECOND] = "a bandwidth with its unit",
    [UNIT_FLOPS_PER_SECOND] = "a rate of operations with its unit",
    [UNIT_SECONDS] = "a time with its unit",
    [UNIT_HERTZ] = "a frequency with its unit",
    [UNIT_WATTS] = "a power with its unit",
};

bool json_read_quantity(struct json_value object, const char *key, enum unit_kind kind, double *out,
                        struct diag *diag)
{
    const char *text;
    if (json_value_string(json_find(object, key), &text) && unit_read(text, kind, out)) {
        return true;
    }
    const struct wish wish = {
        .words = quantity_words[kind], .code = DIAG_B109, .hint = unit_example(kind)};
    return refuse(object, key, wish, diag);
}

static const char *choice_words(const char *const *names, size_t count, struct arena *arena)
{
    struct text words;
    text_init(&words, arena);
    for (size_t i = 0; i < count; i++) {
        text_push(&words, "%s\"%s\"", i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i]);
    }
    return words.bytes;
}

static bool refuse_choice(struct json_value object, const char *key, const char *const *names,
                          size_t count, struct diag *diag)
{
    struct wish wish = {.words = choice_words(names, count, diag->arena), .code = DIAG_B107};
    const char *word;
    if (json_value_string(json_find(object, key), &word)) {
        const char *nearest = text_find_nearest(word, names, count);
        wish.code = DIAG_B110;
        wish.hint = nearest == NULL ? NULL : text_build(diag->arena, "did you mean '%s'?", nearest);
    }
    return refuse(object, key, wish, diag);
}

bool json_read_choice(struct json_value object, const char *key, const char *const *names,
                      uint32_t *out, struct diag *diag)
{
    const char *word = NULL;
    json_value_string(json_find(object, key), &word);
    uint32_t count = 0;
    for (; names[count] != NULL; count++) {
        if (word != NULL && strcmp(word, names[count]) == 0) {
            *out = count;
            return true;
        }
    }
    return refuse_choice(object, key, names, count, diag);
}

/* --- with a fallback ------------------------------------------------------------------------- */

/* True where the fallback holds; an object that is none is left for the read to report. */
static bool is_left_out(struct json_value object, const char *key)
{
    return json_is_object(object) && json_is_null(json_find(object, key));
}

bool json_read_u32_or(struct json_value object, const char *key, uint32_t min, uint32_t max,
                      uint32_t fallback, uint32_t *out, struct diag *diag)
{
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    return json_read_u32(object, key, min, max, out, diag);
}

bool json_read_double_or(struct json_value object, const char *key, double min, double max,
                         double fallback, double *out, struct diag *diag)
{
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    return json_read_double(object, key, min, max, out, diag);
}

bool json_read_bool_or(struct json_value object, const char *key, bool fallback, bool *out,
                       struct diag *diag)
{
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    return json_value_bool(json_find(object, key), out) ||
           refuse(object, key, (struct wish){.words = "true or false", .code = DIAG_B107}, diag);
}

bool json_read_string_or(struct json_value object, const char *key, const char *fallback,
                         struct arena *arena, const char **out, struct diag *diag)
{
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    return json_read_string(object, key, arena, out, diag);
}

bool json_read_quantity_or(struct json_value object, const char *key, enum unit_kind kind,
                           double fallback, double *out, struct diag *diag)
{
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    return json_read_quantity(object, key, kind, out, diag);
}

const char *json_value_text(struct json_value value, struct arena *arena)
{
    size_t length;
    const char *span = json_value_span(value, &length);
    return text_build_copy(arena, span, length);
}
