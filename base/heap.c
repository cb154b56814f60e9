/* The smallest first: a binary heap in an array, children of i at 2i + 1 and 2i + 2. */
#include "base/heap.h"

#include <assert.h>
#include <string.h>

static bool precedes(const struct heap_entry *a, const struct heap_entry *b)
{
    if (a->key != b->key) {
        return a->key < b->key;
    }
    return a->tie != b->tie ? a->tie < b->tie : a->value < b->value;
}

void heap_init(struct heap *heap, struct arena *arena, uint32_t capacity)
{
    uint32_t room = capacity == 0 ? 1 : capacity;
    *heap = (struct heap){
        .arena = arena,
        .entries = ARENA_PUSH(arena, struct heap_entry, room),
        .capacity = room,
    };
}

static void grow(struct heap *heap)
{
    struct heap_entry *entries =
        ARENA_PUSH(heap->arena, struct heap_entry, (size_t)heap->capacity * 2);
    memcpy(entries, heap->entries, heap->count * sizeof *entries);
    heap->entries = entries;
    heap->capacity *= 2;
}

void heap_push(struct heap *heap, struct heap_entry entry)
{
    if (heap->count == heap->capacity) {
        grow(heap);
    }
    uint32_t at = heap->count++;
    while (at > 0 && precedes(&entry, &heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = entry;
}

/* Into its place among those below the first, which is free. */
static void sift_down(struct heap *heap, struct heap_entry entry)
{
    uint32_t at = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * at + 1) {
        if (child + 1 < heap->count && precedes(&heap->entries[child + 1], &heap->entries[child])) {
            child++;
        }
        if (!precedes(&heap->entries[child], &entry)) {
            break;
        }
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    heap->entries[at] = entry;
}

bool heap_pop(struct heap *heap, struct heap_entry *out)
{
    if (heap->count == 0) {
        return false;
    }
    *out = heap->entries[0];
    const struct heap_entry moved = heap->entries[--heap->count];
    sift_down(heap, moved);
    return true;
}

void heap_replace(struct heap *heap, struct heap_entry entry)
{
    assert(heap->count > 0);
    sift_down(heap, entry);
}

const struct heap_entry *heap_find_first(const struct heap *heap)
{
    return heap->count == 0 ? NULL : &heap->entries[0];
}
