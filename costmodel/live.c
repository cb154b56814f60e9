/* Undominated sets of live micro-batches, from one walk over each stage's slots. */
#include "costmodel/live.h"

#include <string.h>

static bool contains(const uint32_t *a, const uint32_t *b, uint32_t chunks)
{
    for (uint32_t i = 0; i < chunks; i++) {
        if (a[i] < b[i]) {
            return false;
        }
    }
    return true;
}

struct walk {
    struct arena *arena;
    uint32_t chunks, count, capacity;
    uint32_t next; /* the set that is likely to hold the next moment */
    uint32_t *sets;
};

static void push_set(struct walk *walk, const uint32_t *live)
{
    const size_t size = walk->chunks * sizeof *live;
    /* Schedules go in circles: the set that held the moment before, or one behind it, likely holds
     * this one too. */
    for (uint32_t i = 0; i < walk->count; i++) {
        const uint32_t at = (walk->next + i) % walk->count;
        if (contains(&walk->sets[(size_t)at * walk->chunks], live, walk->chunks)) {
            walk->next = at;
            return;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->count; i++) {
        const uint32_t *set = &walk->sets[(size_t)i * walk->chunks];
        if (contains(live, set, walk->chunks)) {
            continue;
        }
        if (kept < i) {
            memcpy(&walk->sets[(size_t)kept * walk->chunks], set, size);
        }
        kept++;
    }
    walk->count = kept;
    if (walk->count == walk->capacity) {
        walk->capacity = walk->capacity == 0 ? 4 : 2 * walk->capacity;
        uint32_t *grown = ARENA_PUSH(walk->arena, uint32_t, (size_t)walk->capacity * walk->chunks);
        if (walk->count > 0) {
            memcpy(grown, walk->sets, walk->count * size);
        }
        walk->sets = grown;
    }
    memcpy(&walk->sets[(size_t)walk->count++ * walk->chunks], live, size);
}

static bool has_weight_slots(const struct stream *stream, uint32_t stage)
{
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        if (stream->slots[stage][i].kind == SLOT_WEIGHT_GRADIENT) {
            return true;
        }
    }
    return false;
}

static void walk_stage(const struct stream *stream, uint32_t stage, struct walk *walk,
                       uint32_t *live)
{
    const enum slot_kind last =
        has_weight_slots(stream, stage) ? SLOT_WEIGHT_GRADIENT : SLOT_BACKWARD;
    const uint32_t count = stream->slot_counts[stage];
    memset(live, 0, walk->chunks * sizeof *live);
    bool grew = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct slot *slot = &stream->slots[stage][i];
        if (slot->kind == SLOT_FORWARD) {
            live[slot->chunk]++;
            grew = true;
        } else if (slot->kind == last || slot->kind == SLOT_BACKWARD) {
            if (grew) {
                push_set(walk, live);
            }
            grew = false;
            live[slot->chunk]--;
        }
    }
    if (grew) {
        push_set(walk, live);
    }
}

void live_build(const struct stream *stream, struct arena *arena, struct live_sets *out)
{
    const uint32_t stages = stream->shape.stages, chunks = stream->shape.chunks;
    uint32_t *live = ARENA_PUSH(arena, uint32_t, chunks);
    out->chunks = chunks;
    out->counts = ARENA_PUSH(arena, uint32_t, stages);
    out->sets = ARENA_PUSH(arena, uint32_t *, stages);
    for (uint32_t stage = 0; stage < stages; stage++) {
        struct walk walk = {.arena = arena, .chunks = chunks};
        walk_stage(stream, stage, &walk, live);
        out->counts[stage] = walk.count;
        out->sets[stage] = walk.sets;
    }
}
