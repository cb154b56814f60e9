/* Memory with a stated lifetime: everything pushed lives until the arena is popped or released. */
#ifndef SHARDPLAN_BASE_ARENA_H
#define SHARDPLAN_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

/* Caller's memory; zero-initialised is not enough, call arena_init. */
struct arena {
    struct arena_block *last; /* newest block, or NULL */
    size_t used_bytes;        /* bytes handed out since init, for reports */
};

/* A point to return to; valid until the arena is popped below it or released. */
struct arena_mark {
    struct arena_block *block;
    size_t offset_bytes;
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena);

/* Zeroed memory of `count * size_bytes` bytes aligned for any type. Out of memory and overflow
 * abort with a message: no caller can go on without it. count 0 gives a valid pointer to
 * nothing. */
void *arena_push(struct arena *arena, size_t count, size_t size_bytes);

/* A copy of the first `count` of the items with room for `capacity`; the old ones stay where they
 * were. */
void *arena_grow(struct arena *arena, const void *items, size_t count, size_t capacity,
                 size_t size_bytes);

struct arena_mark arena_find_mark(const struct arena *arena);
/* Gives back all that was pushed after the mark; poisoned under AddressSanitizer. */
void arena_pop(struct arena *arena, struct arena_mark mark);

#define ARENA_PUSH(arena, type, count) ((type *)arena_push((arena), (count), sizeof(type)))

/* Room for one more of an array of which `count` of `capacity` items are in use. */
#define ARENA_MAKE_ROOM(arena, items, count, capacity) \
    do { \
        if ((count) == (capacity)) { \
            (capacity) = (count) == 0 ? 4 : 2 * (count); \
            (items) = arena_grow((arena), (items), (count), (capacity), sizeof *(items)); \
        } \
    } while (0)

#endif
