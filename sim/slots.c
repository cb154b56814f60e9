/* Slots by (direction, model chunk, micro-batch), to join each to the one it waits for. */
#include "sim/slots.h"

#include <assert.h>

static bool is_forward(const struct slot *slot)
{
    return slot->kind == SLOT_FORWARD;
}

static uint64_t key_of(const struct slots *slots, bool forward, uint32_t chunk,
                       uint32_t micro_batch)
{
    const struct schedule_shape *shape = &slots->stream->shape;
    const uint64_t chunks = (uint64_t)shape->stages * shape->chunks;
    return ((forward ? 0 : chunks) + chunk) * shape->micro_batches + micro_batch;
}

const struct slot *slots_find(const struct slots *slots, uint32_t slot)
{
    assert(slot < slots->count);
    const uint32_t stage = slots->stage[slot];
    return &slots->stream->slots[stage][slot - slots->first_of_stage[stage]];
}

static void number_slots(struct slots *slots, uint32_t *by_key)
{
    const struct stream *stream = slots->stream;
    uint32_t slot = 0;
    for (uint32_t stage = 0; stage < stream->shape.stages; stage++) {
        slots->first_of_stage[stage] = slot;
        for (uint32_t i = 0; i < stream->slot_counts[stage]; i++, slot++) {
            const struct slot *which = &stream->slots[stage][i];
            const uint32_t chunk = stream->model_chunk[stage * stream->shape.chunks + which->chunk];
            slots->stage[slot] = stage;
            slots->model_chunk[slot] = chunk;
            slots->source[slot] = slots->target[slot] = SLOT_NONE;
            slots->begins[slot] = i > 0 && which[-1].paired ? slot - 1 : slot;
            slots->ends[slot] = which->paired ? slot + 1 : slot;
            if (is_forward(which) && slots->first_forward[chunk] == SLOT_NONE) {
                slots->first_forward[chunk] = slot;
            }
            slots->last_backward[chunk] = slot;
            if (which->kind != SLOT_WEIGHT_GRADIENT) {
                by_key[key_of(slots, is_forward(which), chunk, which->micro_batch)] = slot;
            }
        }
    }
    slots->count = slot;
}

static void join_slots(struct slots *slots, const uint32_t *by_key)
{
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        const struct slot *which = slots_find(slots, slot);
        const uint32_t chunk = stream_find_source(slots->stream, slots->stage[slot], which);
        if (chunk != STREAM_NO_SOURCE) {
            const uint32_t source =
                by_key[key_of(slots, is_forward(which), chunk, which->micro_batch)];
            slots->source[slot] = source;
            slots->target[source] = slot;
        }
    }
}

bool slots_sends(const struct slots *slots, uint32_t slot)
{
    const uint32_t target = slots->target[slot];
    return target != SLOT_NONE && slots->stage[target] != slots->stage[slot];
}

uint32_t slots_find_last(const struct slots *slots, uint32_t stage)
{
    assert(slots->stream->slot_counts[stage] > 0);
    return slots->first_of_stage[stage] + slots->stream->slot_counts[stage] - 1;
}

void slots_build(const struct stream *stream, struct arena *arena, struct slots *out)
{
    const struct schedule_shape *shape = &stream->shape;
    const size_t chunks = (size_t)shape->stages * shape->chunks;
    size_t count = 0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        count += stream->slot_counts[stage];
    }
    *out = (struct slots){.stream = stream,
                          .first_of_stage = ARENA_PUSH(arena, uint32_t, shape->stages),
                          .source = ARENA_PUSH(arena, uint32_t, count),
                          .target = ARENA_PUSH(arena, uint32_t, count),
                          .begins = ARENA_PUSH(arena, uint32_t, count),
                          .ends = ARENA_PUSH(arena, uint32_t, count),
                          .model_chunk = ARENA_PUSH(arena, uint32_t, count),
                          .stage = ARENA_PUSH(arena, uint32_t, count),
                          .first_forward = ARENA_PUSH(arena, uint32_t, chunks),
                          .last_backward = ARENA_PUSH(arena, uint32_t, chunks)};
    for (size_t chunk = 0; chunk < chunks; chunk++) {
        out->first_forward[chunk] = SLOT_NONE;
    }
    uint32_t *by_key = ARENA_PUSH(arena, uint32_t, 2 * chunks * shape->micro_batches);
    number_slots(out, by_key);
    join_slots(out, by_key);
}
