/* A fresh arena and no faults at the beginning of each test of a file. */
#ifndef SHARDPLAN_TESTS_FRESH_H
#define SHARDPLAN_TESTS_FRESH_H

#include "base/diag.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

static inline void begin(void)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
}

/* What a person would see. */
static inline const char *messages(void)
{
    struct text text;
    text_init(&text, &arena);
    diag_dump(&diag, &text);
    return text.bytes;
}

#endif
