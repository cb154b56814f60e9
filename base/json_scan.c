/* One pass over a JSON text that either finds the first fault or marks every value. */
#include "base/json_inside.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define NUMBER_LENGTH_MAX 62 /* cJSON reads numbers through a buffer of 64 bytes */

struct scanner {
    struct json_source *source;
    const char *text;
    size_t length, at;
    struct json_mark *marks;
    uint32_t count, capacity;
    uint32_t parent, depth;
    uint32_t nonfinite;
    bool lenient;
    bool open; /* a container was just opened: its first value comes next */
    struct diag *diag;
};

static bool fault(struct scanner *scanner, size_t offset, const char *hint, const char *message)
{
    return diag_push(scanner->diag, DIAG_B103, json_source_place(scanner->source, offset), hint,
                     "%s", message);
}

static void skip_blanks(struct scanner *scanner)
{
    const char *text = scanner->text;
    size_t at = scanner->at;
    while (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
        at++;
    }
    scanner->at = at;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Four hexadecimal digits; the NUL behind the text ends a short one. */
static bool read_hex(const char *digits, uint32_t *out)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const char digit = digits[i];
        const char lower = (char)(digit | 0x20);
        if (is_digit(digit)) {
            value = value * 16 + (uint32_t)(digit - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value * 16 + (uint32_t)(lower - 'a') + 10;
        } else {
            return false;
        }
    }
    *out = value;
    return true;
}

/* \uXXXX at `at`; pairs of surrogates are taken together. */
static bool scan_unicode_escape(struct scanner *scanner)
{
    const char *escape = scanner->text + scanner->at;
    uint32_t high, low;
    if (!read_hex(escape + 2, &high)) {
        return fault(scanner, scanner->at, NULL, "\\u is not followed by four hexadecimal digits");
    }
    if (high == 0) {
        return fault(scanner, scanner->at, NULL, "a string holds the NUL character");
    }
    scanner->at += 6;
    if (high < 0xd800 || high > 0xdfff) {
        return true;
    }
    if (high > 0xdbff || escape[6] != '\\' || escape[7] != 'u' || !read_hex(escape + 8, &low) ||
        low < 0xdc00 || low > 0xdfff) {
        scanner->at -= 6;
        return fault(scanner, scanner->at, NULL, "half a surrogate pair stands alone");
    }
    scanner->at += 6;
    return true;
}

static bool scan_escape(struct scanner *scanner)
{
    const char escaped = scanner->text[scanner->at + 1];
    if (escaped == 'u') {
        return scan_unicode_escape(scanner);
    }
    if (escaped == '\0' || strchr("\"\\/bfnrt", escaped) == NULL) {
        return fault(scanner, scanner->at, "a backslash itself is written \\\\",
                     "a string has an unknown escape");
    }
    scanner->at += 2;
    return true;
}

static bool refuse_byte(struct scanner *scanner, size_t begin)
{
    const char byte = scanner->text[scanner->at];
    if (scanner->at >= scanner->length || byte == '\n') {
        return fault(scanner, begin, "add the closing quotation mark", "a string does not end");
    }
    if (byte == '\0') {
        return fault(scanner, scanner->at, NULL, "a string holds the NUL character");
    }
    return (unsigned char)byte < 0x20
               ? fault(scanner, scanner->at, "write \\t for a tab, \\u00XX for others",
                       "a string holds a bare control character")
               : fault(scanner, scanner->at, "save the file as UTF-8",
                       "a string holds bytes that are not UTF-8");
}

static bool scan_string(struct scanner *scanner)
{
    const size_t begin = scanner->at++;
    const char *text = scanner->text;
    for (;;) {
        const unsigned char byte = (unsigned char)text[scanner->at];
        if (byte == '"') {
            scanner->at++;
            return true;
        }
        if (byte == '\\') {
            if (!scan_escape(scanner)) {
                return false;
            }
            continue;
        }
        const uint32_t size =
            byte < 0x20 ? 0
                        : text_count_character(text + scanner->at, scanner->length - scanner->at);
        if (size == 0) {
            return refuse_byte(scanner, begin);
        }
        scanner->at += size;
    }
}

static size_t digits_end(const char *text, size_t at)
{
    while (is_digit(text[at])) {
        at++;
    }
    return at;
}

bool json_scan_is_nonfinite(const char *text, size_t length)
{
    const char last = text[length - 1];
    if (!is_digit(last)) {
        return true; /* NaN, Infinity, -Infinity */
    }
    /* Without an exponent NUMBER_LENGTH_MAX digits are far from the largest double. */
    if (memchr(text, 'e', length) == NULL && memchr(text, 'E', length) == NULL) {
        return false;
    }
    const double value = strtod(text, NULL);
    return !(value >= -DBL_MAX && value <= DBL_MAX);
}

/* Accepts a number that has no finite value when lenient. */
static bool admit_nonfinite(struct scanner *scanner, size_t begin)
{
    if (scanner->lenient) {
        scanner->nonfinite++;
        return true;
    }
    struct text message;
    text_init(&message, scanner->diag->arena);
    text_push(&message, "%.*s is no finite number", (int)(scanner->at - begin),
              scanner->text + begin);
    return fault(scanner, begin, "write a number below 1.8e308, or null", message.bytes);
}

static bool scan_number(struct scanner *scanner)
{
    const char *text = scanner->text;
    const size_t begin = scanner->at;
    const size_t digits = begin + (text[begin] == '-' ? 1 : 0);
    size_t end = digits_end(text, digits);
    if (end == digits) {
        return fault(scanner, begin, NULL, "a minus sign is not followed by a digit");
    }
    if (text[digits] == '0' && end > digits + 1) {
        return fault(scanner, begin, "leave out the leading zeros", "a number starts with 0");
    }
    if (text[end] == '.') {
        const size_t fraction = end + 1;
        end = digits_end(text, fraction);
        if (end == fraction) {
            return fault(scanner, begin, NULL, "a decimal point is not followed by a digit");
        }
    }
    if (text[end] == 'e' || text[end] == 'E') {
        const size_t exponent = end + 1 + (text[end + 1] == '-' || text[end + 1] == '+' ? 1 : 0);
        end = digits_end(text, exponent);
        if (end == exponent) {
            return fault(scanner, begin, NULL, "an exponent has no digit");
        }
    }
    if (end - begin > NUMBER_LENGTH_MAX) {
        return fault(scanner, begin, "17 significant digits hold any double",
                     "a number has more than 62 characters");
    }
    scanner->at = end;
    return !json_scan_is_nonfinite(text + begin, end - begin) || admit_nonfinite(scanner, begin);
}

static bool accept_word(struct scanner *scanner, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(scanner->text + scanner->at, word, length) != 0) {
        return false;
    }
    scanner->at += length;
    return true;
}

static bool scan_word(struct scanner *scanner)
{
    const size_t begin = scanner->at;
    if (accept_word(scanner, "true") || accept_word(scanner, "false") ||
        accept_word(scanner, "null")) {
        return true;
    }
    if (accept_word(scanner, "NaN") || accept_word(scanner, "Infinity") ||
        accept_word(scanner, "-Infinity")) {
        return admit_nonfinite(scanner, begin);
    }
    if (begin >= scanner->length) {
        return fault(scanner, begin, NULL, "the text ends where a value is expected");
    }
    if (scanner->text[begin] == '}' || scanner->text[begin] == ']') {
        return fault(scanner, begin, "remove the comma before it",
                     "a bracket closes where a value is expected");
    }
    return fault(scanner, begin, "strings stand in double quotation marks; comments are not JSON",
                 "a value is expected here");
}

static bool is_object(const struct scanner *scanner)
{
    return scanner->text[scanner->marks[scanner->parent].begin] == '{';
}

/* A member's key with its colon; nothing in an array. */
static bool scan_key(struct scanner *scanner)
{
    if (!is_object(scanner)) {
        return true;
    }
    skip_blanks(scanner);
    if (scanner->text[scanner->at] != '"') {
        return scanner->text[scanner->at] == '}'
                   ? fault(scanner, scanner->at, "remove the comma before it",
                           "an object closes where a key is expected")
                   : fault(scanner, scanner->at, "keys stand in double quotation marks",
                           "a key is expected here");
    }
    if (!scan_string(scanner)) {
        return false;
    }
    skip_blanks(scanner);
    if (scanner->text[scanner->at] != ':') {
        return fault(scanner, scanner->at, NULL, "a colon is expected between key and value");
    }
    scanner->at++;
    return true;
}

static void close_container(struct scanner *scanner)
{
    scanner->at++;
    scanner->marks[scanner->parent].end = (uint32_t)scanner->at;
    scanner->parent = scanner->marks[scanner->parent].parent;
    scanner->depth--;
}

static bool open_container(struct scanner *scanner, uint32_t ordinal)
{
    const uint32_t limit =
        json_limits.max_depth < JSON_DEPTH_MAX ? json_limits.max_depth : JSON_DEPTH_MAX;
    if (scanner->depth >= limit) {
        return diag_push(scanner->diag, DIAG_B111, json_source_place(scanner->source, scanner->at),
                         NULL, "a value is nested deeper than %u levels", limit);
    }
    scanner->parent = ordinal;
    scanner->depth++;
    scanner->at++;
    skip_blanks(scanner);
    if (scanner->text[scanner->at] == (is_object(scanner) ? '}' : ']')) {
        close_container(scanner);
        return true;
    }
    scanner->open = true;
    return scan_key(scanner);
}

static bool scan_value(struct scanner *scanner)
{
    skip_blanks(scanner);
    if (scanner->count == scanner->capacity) {
        return diag_push(scanner->diag, DIAG_B102, json_source_place(scanner->source, scanner->at),
                         "raise the limit with --max-input", "the text has more than %u values",
                         scanner->capacity);
    }
    const uint32_t ordinal = scanner->count++;
    const char byte = scanner->text[scanner->at];
    struct json_mark *mark = &scanner->marks[ordinal];
    *mark = (struct json_mark){.begin = (uint32_t)scanner->at, .parent = scanner->parent};
    if (scanner->parent != JSON_NO_PARENT) {
        scanner->marks[scanner->parent].count++;
    }
    if (byte == '{' || byte == '[') {
        return open_container(scanner, ordinal);
    }
    const bool number = is_digit(byte) || (byte == '-' && scanner->text[scanner->at + 1] != 'I');
    const bool good = byte == '"' ? scan_string(scanner)
                      : number    ? scan_number(scanner)
                                  : scan_word(scanner);
    mark->end = (uint32_t)scanner->at;
    return good;
}

/* What stands between two values: commas, keys, closing brackets. */
static bool scan_between(struct scanner *scanner)
{
    for (;;) {
        skip_blanks(scanner);
        if (scanner->parent == JSON_NO_PARENT) {
            return scanner->at == scanner->length ||
                   fault(scanner, scanner->at, "a file holds one JSON value",
                         "text follows the end of the value");
        }
        const char closing = is_object(scanner) ? '}' : ']';
        const char byte = scanner->text[scanner->at];
        if (byte == ',') {
            scanner->at++;
            return scan_key(scanner);
        }
        if (byte != closing) {
            return fault(scanner, scanner->at,
                         scanner->at >= scanner->length ? "the text ends too early" : NULL,
                         closing == '}' ? "',' or '}' is expected here"
                                        : "',' or ']' is expected here");
        }
        close_container(scanner);
    }
}

/* No text has more values than one and its opening brackets, commas and colons. */
static uint32_t bound_values(const char *text, size_t length)
{
    uint64_t limit =
        json_limits.max_values < JSON_VALUES_MAX ? json_limits.max_values : JSON_VALUES_MAX;
    uint64_t bound = 1;
    for (size_t i = 0; i < length; i++) {
        bound += text[i] == '[' || text[i] == ',' || text[i] == ':';
    }
    return (uint32_t)(bound < limit ? bound : limit);
}

bool json_scan_text(struct json_source *source, bool lenient, struct arena *arena,
                    struct json_scan *out, struct diag *diag)
{
    struct scanner scanner = {
        .source = source,
        .text = source->text,
        .length = source->length,
        .capacity = bound_values(source->text, source->length),
        .parent = JSON_NO_PARENT,
        .lenient = lenient,
        .diag = diag,
    };
    scanner.marks = ARENA_PUSH(arena, struct json_mark, scanner.capacity);
    accept_word(&scanner, "\xef\xbb\xbf"); /* a byte order mark */
    do {
        scanner.open = false;
        if (!scan_value(&scanner) || (!scanner.open && !scan_between(&scanner))) {
            return false;
        }
    } while (scanner.parent != JSON_NO_PARENT);
    *out = (struct json_scan){
        .marks = scanner.marks,
        .count = scanner.count,
        .nonfinite = scanner.nonfinite,
    };
    return true;
}
