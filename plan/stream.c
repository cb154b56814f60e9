/* All stages' slots of one schedule, ready for whoever replays them. */
#include <assert.h>

#include "plan/stream_inside.h"
#include "plan/stream_weave.h"

#define HINT_TRIES 1024u /* micro-batches searched for a legal number, each way */

uint32_t stream_count_chain(const struct stream *stream)
{
    return stream->shape.stages * stream->shape.chunks / stream->copies;
}

uint32_t stream_find_source(const struct stream *stream, uint32_t stage, const struct slot *slot)
{
    const struct schedule_shape *shape = &stream->shape;
    uint32_t model_chunk = stream->model_chunk[stage * shape->chunks + slot->chunk];
    uint32_t depth = model_chunk % stream_count_chain(stream);
    switch (slot->kind) {
    case SLOT_FORWARD: return depth == 0 ? STREAM_NO_SOURCE : model_chunk - 1;
    case SLOT_BACKWARD:
    case SLOT_INPUT_GRADIENT:
        return depth + 1 == stream_count_chain(stream) ? STREAM_NO_SOURCE : model_chunk + 1;
    case SLOT_WEIGHT_GRADIENT:
    case SLOT_KIND_COUNT: break;
    }
    return STREAM_NO_SOURCE;
}

void stream_init(const struct schedule_shape *shape, struct arena *arena, struct stream *out)
{
    uint32_t places = shape->stages * shape->chunks;
    *out = (struct stream){
        .shape = *shape,
        .copies = 1,
        .slot_counts = ARENA_PUSH(arena, uint32_t, shape->stages),
        .slots = ARENA_PUSH(arena, struct slot *, shape->stages),
        .model_chunk = ARENA_PUSH(arena, uint32_t, places),
        .chunk_place = ARENA_PUSH(arena, uint32_t, places),
        .peak_live_chunks = ARENA_PUSH(arena, uint32_t, shape->stages),
    };
    for (uint32_t place = 0; place < places; place++) {
        uint32_t stage = place / shape->chunks, chunk = place % shape->chunks;
        out->model_chunk[place] = chunk * shape->stages + stage;
    }
}

static uint32_t count_peak(const struct slot *slots, uint32_t count)
{
    uint32_t live = 0, peak = 0;
    for (uint32_t i = 0; i < count; i++) {
        switch (slots[i].kind) {
        case SLOT_FORWARD:
            live++;
            peak = live > peak ? live : peak;
            break;
        case SLOT_BACKWARD:
        case SLOT_WEIGHT_GRADIENT: live--; break;
        case SLOT_INPUT_GRADIENT:
        case SLOT_KIND_COUNT: break;
        }
    }
    return peak;
}

/* Where each model chunk is, from what is where. */
static void arrange_chains(struct stream *stream)
{
    for (uint32_t place = 0; place < stream->shape.stages * stream->shape.chunks; place++) {
        stream->chunk_place[stream->model_chunk[place]] = place;
    }
}

bool stream_build_rest(struct stream *stream, struct diag *diag)
{
    const struct schedule_shape *shape = &stream->shape;
    arrange_chains(stream);
    if (!stream_check(stream, diag)) {
        return false;
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        stream->peak_live_chunks[stage] =
            count_peak(stream->slots[stage], stream->slot_counts[stage]);
    }
    return true;
}

static void place_chunks(const struct schedule *schedule, struct stream *stream)
{
    const struct schedule_shape *shape = &stream->shape;
    for (uint32_t place = 0; place < shape->stages * shape->chunks; place++) {
        uint32_t stage = place / shape->chunks, chunk = place % shape->chunks;
        stream->model_chunk[place] = schedule->place(shape, stage, chunk);
        assert(stream->model_chunk[place] < shape->stages * shape->chunks);
    }
}

/* The nearest number of micro-batches that the schedule takes, going down (step -1) or up; 0 if
 * none is near. */
static uint32_t find_legal(const struct schedule *schedule, struct schedule_shape shape, int step)
{
    for (uint32_t i = 0; i < HINT_TRIES && shape.micro_batches > 0; i++) {
        shape.micro_batches += (uint32_t)step;
        if (schedule_refuses(schedule, &shape) == NULL) {
            return shape.micro_batches;
        }
    }
    return 0;
}

static bool refuse(const struct schedule *schedule, const struct schedule_shape *shape,
                   const char *reason, struct diag *diag)
{
    uint32_t below = find_legal(schedule, *shape, -1), above = find_legal(schedule, *shape, 1);
    const char *hint = NULL;
    if (below != 0 && above != 0) {
        hint = text_build(diag->arena, "%u or %u micro-batches would do", below, above);
    } else if (below != 0 || above != 0) {
        hint = text_build(diag->arena, "%u micro-batches would do", below + above);
    }
    return diag_push(diag, DIAG_P440, (struct diag_place){0}, hint,
                     "schedule '%s' refuses %u stages with %u chunks each and %u micro-batches: %s",
                     schedule->name, shape->stages, shape->chunks, shape->micro_batches, reason);
}

bool stream_build(const struct schedule *schedule, const struct schedule_shape *shape,
                  struct arena *arena, struct stream *out, struct diag *diag)
{
    const char *reason = schedule_refuses(schedule, shape);
    if (reason != NULL) {
        return refuse(schedule, shape, reason, diag);
    }
    struct stream stream;
    stream_init(shape, arena, &stream);
    stream.copies = schedule->copies > 1 ? schedule->copies : 1;
    if (schedule->place != NULL) {
        place_chunks(schedule, &stream);
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        stream.slots[stage] = ARENA_PUSH(arena, struct slot, schedule_count_slots(shape));
        if (schedule->weave == NULL) {
            stream.slot_counts[stage] = schedule->stream(shape, stage, stream.slots[stage]);
        }
    }
    if (schedule->weave != NULL) {
        const struct schedule_weave weave = schedule->weave(shape);
        arrange_chains(&stream);
        stream_weave_build(&weave, &stream);
    }
    if (!stream_build_rest(&stream, diag)) {
        return false;
    }
    *out = stream;
    return true;
}
