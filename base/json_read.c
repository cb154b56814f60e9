/* Typed reads of an object's members, each with one message that says what would be right. */
#include "base/json.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_inside.h"

#define SHOWN_BYTES_MAX 48u     /* of a value inside a message */

/* What a key accepts, in words, and the code for a value of the right type that it does not. */
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

static bool refuse(struct json_value value, struct wish wish, struct diag *diag)
{
    return diag_push(diag, wish.code, json_place(value), wish.hint, "%s is %s, but must be %s",
                     json_name(value, diag->arena), shown(value, diag->arena), wish.words);
}

/* The member, present; reports an object that is none and a missing key. */
static bool find_present(struct json_value object, const char *key, struct wish wish,
                         struct json_value *out, struct diag *diag)
{
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "%s is %s, but must be an object with the key '%s'",
                         json_name(object, diag->arena), json_type_name(object), key);
    }
    const struct json_value member = json_find(object, key);
    if (json_is_absent(member)) {
        return diag_push(diag, DIAG_B106, json_place(object), NULL,
                         "%s lacks the key '%s': it must be %s", json_name(object, diag->arena),
                         key, wish.words);
    }
    *out = member;
    return true;
}

/* --- whole numbers, never rounded ------------------------------------------------------------------- */

static bool append_digit(uint64_t *value, uint32_t digit)
{
    if (*value > (UINT64_MAX - digit) / 10) {
        return false;
    }
    *value = *value * 10 + digit;
    return true;
}

/* A scanned JSON number as a whole: 12, 1.5e3 and 2.0 are, 1.5 and -1 are none. */
static bool read_whole(const char *span, size_t length, uint64_t *out)
{
    uint64_t value = 0;
    int64_t zeros = 0;          /* seen but not yet multiplied in, so that 2.000 needs no room */
    int64_t power = 0;
    bool fraction = false;
    size_t i = span[0] == '-' ? 1 : 0;
    for (; i < length && span[i] != 'e' && span[i] != 'E'; i++) {
        if (span[i] == '.') {
            fraction = true;
            continue;
        }
        power -= fraction ? 1 : 0;
        zeros++;
        if (span[i] == '0') {
            continue;
        }
        for (; zeros > 1 && value > 0; zeros--) {
            if (!append_digit(&value, 0)) {
                return false;
            }
        }
        if (!append_digit(&value, (uint32_t)(span[i] - '0'))) {
            return false;
        }
        zeros = 0;
    }
    power += zeros + (i < length ? strtol(span + i + 1, NULL, 10) : 0);
    if (value == 0) {
        *out = 0;
        return true;
    }
    if (span[0] == '-' || power < 0) {
        return false;
    }
    for (; power > 0; power--) {
        if (!append_digit(&value, 0)) {
            return false;
        }
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

static struct wish wish_whole(uint64_t min, uint64_t max, struct arena *arena)
{
    struct text words;
    text_init(&words, arena);
    text_push(&words, "a whole number");
    if (max == UINT64_MAX || max == UINT32_MAX) {
        text_push(&words, ", at least %llu", (unsigned long long)min);
    } else {
        text_push(&words, " from %llu to %llu", (unsigned long long)min, (unsigned long long)max);
    }
    return (struct wish){ .words = words.bytes, .code = DIAG_B108 };
}

bool json_read_u64(struct json_value object, const char *key, uint64_t min, uint64_t max,
                   uint64_t *out, struct diag *diag)
{
    struct wish wish = wish_whole(min, max, diag->arena);
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    uint64_t value;
    if (!json_value_u64(member, &value) || value < min || value > max) {
        wish.code = json_is_number(member) ? DIAG_B108 : DIAG_B107;
        return refuse(member, wish, diag);
    }
    *out = value;
    return true;
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

/* --- the other types -------------------------------------------------------------------------------- */

static struct wish wish_number(double min, double max, struct arena *arena)
{
    struct text words;
    text_init(&words, arena);
    text_push(&words, "a number");
    if (min >= -DBL_MAX && max <= DBL_MAX) {
        text_push(&words, " from %.15g to %.15g", min, max);
    } else if (min >= -DBL_MAX) {
        text_push(&words, ", at least %.15g", min);
    } else if (max <= DBL_MAX) {
        text_push(&words, ", at most %.15g", max);
    }
    return (struct wish){ .words = words.bytes, .code = DIAG_B108 };
}

bool json_read_double(struct json_value object, const char *key, double min, double max,
                      double *out, struct diag *diag)
{
    struct wish wish = wish_number(min, max, diag->arena);
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    double value;
    if (!json_value_double(member, &value) || !(value >= min && value <= max)) {
        wish.code = json_is_number(member) ? DIAG_B108 : DIAG_B107;
        return refuse(member, wish, diag);
    }
    *out = value;
    return true;
}

bool json_read_string(struct json_value object, const char *key, struct arena *arena,
                      const char **out, struct diag *diag)
{
    const struct wish wish = { .words = "a string", .code = DIAG_B107 };
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    const char *value;
    if (!json_value_string(member, &value)) {
        return refuse(member, wish, diag);
    }
    *out = text_build_copy(arena, value, strlen(value));
    return true;
}

static const char *const quantity_words[UNIT_KIND_COUNT] = {
    [UNIT_BYTES] = "a size with its unit",
    [UNIT_BYTES_PER_SECOND] = "a bandwidth with its unit",
    [UNIT_FLOPS_PER_SECOND] = "a rate of operations with its unit",
    [UNIT_SECONDS] = "a time with its unit",
    [UNIT_HERTZ] = "a frequency with its unit",
    [UNIT_WATTS] = "a power with its unit",
};

bool json_read_quantity(struct json_value object, const char *key, enum unit_kind kind,
                        double *out, struct diag *diag)
{
    const struct wish wish = {
        .words = quantity_words[kind], .code = DIAG_B109, .hint = unit_example(kind)
    };
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    const char *text;
    double value;
    if (!json_value_string(member, &text) || !unit_read(text, kind, &value)) {
        return refuse(member, wish, diag);
    }
    *out = value;
    return true;
}

static struct wish wish_choice(const char *const *names, size_t count, struct arena *arena)
{
    struct text words;
    text_init(&words, arena);
    for (size_t i = 0; i < count; i++) {
        text_push(&words, "%s\"%s\"", i == 0 ? "" : i + 1 == count ? " or " : ", ", names[i]);
    }
    return (struct wish){ .words = words.bytes, .code = DIAG_B107 };
}

bool json_read_choice(struct json_value object, const char *key, const char *const *names,
                      uint32_t *out, struct diag *diag)
{
    size_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    struct wish wish = wish_choice(names, count, diag->arena);
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    const char *word;
    if (!json_value_string(member, &word)) {
        return refuse(member, wish, diag);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(word, names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    const char *nearest = text_find_nearest(word, names, count);
    wish.code = DIAG_B110;
    wish.hint = nearest == NULL ? NULL : text_build(diag->arena, "did you mean '%s'?", nearest);
    return refuse(member, wish, diag);
}

/* --- with a fallback -------------------------------------------------------------------------------- */

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
    const struct wish wish = { .words = "true or false", .code = DIAG_B107 };
    if (is_left_out(object, key)) {
        *out = fallback;
        return true;
    }
    struct json_value member;
    if (!find_present(object, key, wish, &member, diag)) {
        return false;
    }
    return json_value_bool(member, out) || refuse(member, wish, diag);
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
