/* Blocks of memory that are filled front to back. */
#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#endif
#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#endif

#define ALIGNMENT_BYTES alignof(max_align_t)
#define FIRST_BLOCK_BYTES ((size_t)32 << 10)
#define LARGEST_GROWTH_BYTES ((size_t)16 << 20)

struct arena_block {
    struct arena_block *previous;
    struct arena_block *spare; /* kept by a pop, so that a loop of mark and pop allocates once */
    size_t capacity_bytes;
    size_t offset_bytes; /* first free byte */
    size_t dirty_bytes;  /* bytes from here on were never handed out: still zero */
    alignas(max_align_t) unsigned char bytes[];
};

static void poison(void *bytes, size_t length)
{
#ifdef ARENA_POISONS
    __asan_poison_memory_region(bytes, length);
#else
    (void)bytes;
    (void)length;
#endif
}

static void unpoison(void *bytes, size_t length)
{
#ifdef ARENA_POISONS
    __asan_unpoison_memory_region(bytes, length);
#else
    (void)bytes;
    (void)length;
#endif
}

static _Noreturn void give_up(size_t count, size_t size_bytes)
{
    fprintf(stderr, "shardplan: out of memory: %zu elements of %zu bytes asked for\n", count,
            size_bytes);
    abort();
}

static void free_block(struct arena_block *block)
{
    if (block == NULL) {
        return;
    }
    unpoison(block->bytes, block->capacity_bytes);
    free(block);
}

/* The next block: the spare one if it is large enough, else a new one of twice the size. */
static void grow(struct arena *arena, size_t need_bytes)
{
    struct arena_block *last = arena->last;
    struct arena_block *block = last == NULL ? NULL : last->spare;
    if (last != NULL) {
        last->spare = NULL;
    }
    if (block == NULL || block->capacity_bytes < need_bytes) {
        free_block(block);
        size_t capacity = last == NULL ? FIRST_BLOCK_BYTES : last->capacity_bytes;
        capacity = capacity < LARGEST_GROWTH_BYTES / 2 ? capacity * 2 : LARGEST_GROWTH_BYTES;
        capacity = capacity < need_bytes ? need_bytes : capacity;
        block = capacity > SIZE_MAX - sizeof *block ? NULL : calloc(1, sizeof *block + capacity);
        if (block == NULL) {
            give_up(1, need_bytes);
        }
        block->capacity_bytes = capacity;
        poison(block->bytes, capacity);
    }
    block->previous = last;
    arena->last = block;
}

void arena_init(struct arena *arena)
{
    *arena = (struct arena){.last = NULL, .used_bytes = 0};
}

void arena_release(struct arena *arena)
{
    while (arena->last != NULL) {
        struct arena_block *block = arena->last;
        arena->last = block->previous;
        free_block(block->spare);
        free_block(block);
    }
    arena_init(arena);
}

struct arena_mark arena_find_mark(const struct arena *arena)
{
    return (struct arena_mark){
        .block = arena->last,
        .offset_bytes = arena->last == NULL ? 0 : arena->last->offset_bytes,
    };
}

void arena_pop(struct arena *arena, struct arena_mark mark)
{
    /* A mark of the empty arena stands for the start of its first block. */
    while (arena->last != NULL && arena->last != mark.block &&
           (mark.block != NULL || arena->last->previous != NULL)) {
        struct arena_block *block = arena->last;
        arena->last = block->previous;
        assert(arena->last != NULL && "mark of another arena");
        free_block(block->spare);
        free_block(arena->last->spare);
        block->spare = NULL;
        block->previous = NULL;
        block->offset_bytes = 0;
        poison(block->bytes, block->capacity_bytes);
        arena->last->spare = block;
    }
    if (arena->last != NULL) {
        struct arena_block *block = arena->last;
        assert(mark.offset_bytes <= block->offset_bytes && "popped above the top");
        poison(block->bytes + mark.offset_bytes, block->capacity_bytes - mark.offset_bytes);
        block->offset_bytes = mark.offset_bytes;
    }
}

void *arena_push(struct arena *arena, size_t count, size_t size_bytes)
{
    if (size_bytes != 0 && count > (SIZE_MAX - ALIGNMENT_BYTES) / size_bytes) {
        give_up(count, size_bytes);
    }
    size_t asked = count * size_bytes;
    size_t taken = (asked + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    if (arena->last == NULL || arena->last->capacity_bytes - arena->last->offset_bytes < taken) {
        grow(arena, taken);
    }
    struct arena_block *block = arena->last;
    unsigned char *bytes = block->bytes + block->offset_bytes;
    unpoison(bytes, asked);
    if (block->offset_bytes < block->dirty_bytes) {
        size_t dirty = block->dirty_bytes - block->offset_bytes;
        memset(bytes, 0, dirty < asked ? dirty : asked);
    }
    block->offset_bytes += taken;
    block->dirty_bytes =
        block->offset_bytes > block->dirty_bytes ? block->offset_bytes : block->dirty_bytes;
    arena->used_bytes += taken;
    return bytes;
}

void *arena_grow(struct arena *arena, const void *items, size_t count, size_t capacity,
                 size_t size_bytes)
{
    void *grown = arena_push(arena, capacity, size_bytes);
    assert(count <= capacity);
    if (count > 0) {
        memcpy(grown, items, count * size_bytes);
    }
    return grown;
}
