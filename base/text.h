/* Text that grows inside an arena. */
#ifndef SHARDPLAN_BASE_TEXT_H
#define SHARDPLAN_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* `bytes` is always NUL-terminated; never NULL after text_init. */
struct text {
    struct arena *arena;
    char *bytes;
    size_t length;
    size_t capacity;
};

void text_init(struct text *text, struct arena *arena);
void text_push(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_push_list(struct text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
void text_push_bytes(struct text *text, const char *bytes, size_t length);

/* A formatted, NUL-terminated string in the arena. */
char *text_build(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *text_build_copy(struct arena *arena, const char *bytes, size_t length);

/* Bytes of the valid UTF-8 sequence at the start of `bytes`, 0 if there is none. */
uint32_t text_count_character(const char *bytes, size_t length);

/* The candidate nearest to `word` by edit distance (at most a third of its length, at least 1),
 * or NULL: what "did you mean" prints. Ties go to the earlier candidate. */
const char *text_find_nearest(const char *word, const char *const *candidates, size_t count);

/* 64-bit FNV-1a of bytes, chained through `seed` (start with TEXT_DIGEST_SEED). */
#define TEXT_DIGEST_SEED 0xcbf29ce484222325ull
unsigned long long text_digest(unsigned long long seed, const void *bytes, size_t length);

/* The same of one word, much faster: a product by 2^64 over the golden ratio. */
static inline unsigned long long text_digest_word(unsigned long long seed, unsigned long long word)
{
    const unsigned long long mixed = seed ^ word;
    const unsigned long long digest = (mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15ull;
    return digest ^ digest >> 29;
}

#endif
