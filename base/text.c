/* Text that grows inside an arena. */
#include "base/text.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/diag.h"

#define FIRST_CAPACITY 64
#define NEAREST_LENGTH_MAX 63

static void reserve(struct text *text, size_t more)
{
    if (text->capacity - text->length > more) {
        return;
    }
    size_t need = text->length + more + 1;
    size_t capacity = text->capacity * 2 > need ? text->capacity * 2 : need;
    char *bytes = arena_push(text->arena, capacity, 1);
    memcpy(bytes, text->bytes, text->length + 1);
    text->bytes = bytes;
    text->capacity = capacity;
}

void text_init(struct text *text, struct arena *arena)
{
    *text = (struct text){
        .arena = arena,
        .bytes = arena_push(arena, FIRST_CAPACITY, 1),
        .capacity = FIRST_CAPACITY,
    };
}

void text_push_bytes(struct text *text, const char *bytes, size_t length)
{
    reserve(text, length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_push_list(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    size_t room = text->capacity - text->length;
    int written = vsnprintf(text->bytes + text->length, room, format, arguments);
    if (written < 0) {
        BUG("cannot format '%s'", format);
    }
    size_t length = (size_t)written;
    if (length >= room) {
        text->bytes[text->length] = '\0';
        reserve(text, length);
        vsnprintf(text->bytes + text->length, length + 1, format, again);
    }
    va_end(again);
    text->length += length;
}

void text_push(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_push_list(text, format, arguments);
    va_end(arguments);
}

char *text_build_copy(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_push(arena, length + 1, 1);
    memcpy(copy, bytes, length);
    return copy;
}

char *text_build(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    assert(format != NULL);
    va_start(arguments, format);
    va_copy(again, arguments);
    int written = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (written < 0) {
        BUG("cannot format '%s'", format);
    }
    char *built = arena_push(arena, (size_t)written + 1, 1);
    vsnprintf(built, (size_t)written + 1, format, again);
    va_end(again);
    return built;
}

uint32_t text_count_character(const char *bytes, size_t length)
{
    /* RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
    const unsigned char *byte = (const unsigned char *)bytes;
    if (length == 0 || byte[0] < 0x80) {
        return length == 0 ? 0 : 1;
    }
    if (byte[0] < 0xc2 || byte[0] > 0xf4) {
        return 0;
    }
    const uint32_t size = byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (length < size) {
        return 0;
    }
    for (uint32_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool bad = (byte[0] == 0xe0 && byte[1] < 0xa0) || (byte[0] == 0xed && byte[1] > 0x9f) ||
                     (byte[0] == 0xf0 && byte[1] < 0x90) || (byte[0] == 0xf4 && byte[1] > 0x8f);
    return bad ? 0 : size;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), by
 * rows; both words at most NEAREST_LENGTH_MAX long. */
static uint32_t distance(const char *a, const char *b)
{
    uint32_t rows[3][NEAREST_LENGTH_MAX + 1];
    const uint32_t height = (uint32_t)strlen(a), width = (uint32_t)strlen(b);
    for (uint32_t j = 0; j <= width; j++) {
        rows[0][j] = j;
    }
    for (uint32_t i = 1; i <= height; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *above = rows[(i - 1) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= width; j++) {
            row[j] = smaller(above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1),
                             smaller(row[j - 1], above[j]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = smaller(row[j], two_above[j - 2] + 1);
            }
        }
    }
    return rows[height % 3][width];
}

const char *text_find_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    if (length > NEAREST_LENGTH_MAX) {
        return NULL;
    }
    uint32_t best = (length < 3 ? 1 : (uint32_t)length / 3) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(candidates[i]) > NEAREST_LENGTH_MAX) {
            continue;
        }
        uint32_t found = distance(word, candidates[i]);
        if (found < best) {
            nearest = candidates[i];
            best = found;
        }
    }
    return nearest;
}

unsigned long long text_digest(unsigned long long seed, const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    unsigned long long digest = seed;
    for (size_t i = 0; i < length; i++) {
        digest = (digest ^ byte[i]) * 0x100000001b3ull;
    }
    return digest;
}
