/* The smallest first: a binary heap of (key, tie, value). */
#ifndef SHARDPLAN_BASE_HEAP_H
#define SHARDPLAN_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

struct heap_entry {
    uint64_t key; /* smallest key first */
    uint64_t tie; /* then smallest tie: total order, so results never depend on insertion order */
    uint32_t value;
};

struct heap {
    struct arena *arena;
    struct heap_entry *entries;
    uint32_t count, capacity;
};

void heap_init(struct heap *heap, struct arena *arena, uint32_t capacity);
void heap_push(struct heap *heap, struct heap_entry entry);
bool heap_pop(struct heap *heap, struct heap_entry *out); /* false when empty */
/* The first gives way to another; there is one. */
void heap_replace(struct heap *heap, struct heap_entry entry);
const struct heap_entry *heap_find_first(const struct heap *heap); /* NULL when empty */

#endif
