/* List scheduling in ticks: who is free takes the best slot that can start.
 *
 * Each chunk runs the micro-batches of its chain in ascending order, forwards and backwards alike,
 * so at any tick it has at most one forward and one backward to offer. Something under way always
 * ends and what ends lets its micro-batch go on, so with room for one micro-batch on each chain the
 * weaving never stops. Only what an end can change is looked at: O(log chunks) for each slot. */
#include "plan/stream_weave.h"

#include <assert.h>

#include "base/heap.h"

/* Micro-batches that are woven together: [first, last). */
struct unit {
    uint32_t first, last;
};

/* Slots of one kind under way, by when they end: all last the same, so the first begun is the first
 * to end. A stage runs one slot at a time. */
struct line {
    uint64_t *end;         /* ring of as many as there are stages */
    uint32_t *model_chunk; /* parallel */
    uint32_t first, count;
};

enum way { WAY_FORWARD, WAY_BACKWARD, WAY_COUNT };

struct loom {
    const struct schedule_weave *weave;
    struct stream *stream;
    struct unit unit;
    uint32_t *begun[WAY_COUNT], *ended[WAY_COUNT]; /* [model chunk] next micro-batch */
    bool *is_offered[WAY_COUNT];                   /* [model chunk] stands among the offers */
    struct line lines[WAY_COUNT];
    struct heap *offers; /* [stage] slots that can start, the best first */
    bool *is_busy;       /* [stage] */
    uint32_t *woken;     /* stages that may begin something at this tick */
    uint32_t woken_count;
};

static uint32_t chain_of(const struct loom *loom, uint32_t model_chunk)
{
    return model_chunk / stream_count_chain(loom->stream);
}

/* First micro-batch of the unit that runs through the chain; of the chain behind the last, the
 * unit's end. */
static uint32_t first_of(const struct loom *loom, uint32_t chain)
{
    const uint64_t size = loom->unit.last - loom->unit.first;
    return loom->unit.first +
           (uint32_t)((size * chain + loom->stream->copies - 1) / loom->stream->copies);
}

static uint32_t stage_of(const struct loom *loom, uint32_t model_chunk)
{
    return loom->stream->chunk_place[model_chunk] / loom->stream->shape.chunks;
}

/* May one more micro-batch live on the chunk? */
static bool has_room(const struct loom *loom, uint32_t model_chunk)
{
    const uint32_t length = stream_count_chain(loom->stream), depth = model_chunk % length;
    const uint32_t live =
        loom->begun[WAY_FORWARD][model_chunk] - loom->begun[WAY_BACKWARD][model_chunk];
    const uint32_t cap = loom->weave->in_flight;
    return !(loom->weave->follows_depth && live >= length - depth) &&
           !(depth == 0 && cap != 0 && live >= cap);
}

/* Can the chunk's next slot that way start? Once it can, it can until it does. */
static bool can_start(const struct loom *loom, uint32_t model_chunk, enum way way)
{
    const uint32_t micro_batch = loom->begun[way][model_chunk];
    if (way == WAY_FORWARD) {
        return micro_batch < first_of(loom, chain_of(loom, model_chunk) + 1) &&
               has_room(loom, model_chunk) &&
               (model_chunk % stream_count_chain(loom->stream) == 0 ||
                loom->ended[WAY_FORWARD][model_chunk - 1] > micro_batch);
    }
    return loom->ended[WAY_FORWARD][model_chunk] > micro_batch &&
           ((model_chunk + 1) % stream_count_chain(loom->stream) == 0 ||
            loom->ended[WAY_BACKWARD][model_chunk + 1] > micro_batch);
}

/* Backwards first; then the earliest micro-batch and the deepest chunk, or the other way round. */
static void offer(struct loom *loom, uint32_t model_chunk, enum way way)
{
    if (loom->is_offered[way][model_chunk] || !can_start(loom, model_chunk, way)) {
        return;
    }
    const uint32_t length = stream_count_chain(loom->stream);
    const uint32_t micro_batch = loom->begun[way][model_chunk];
    const uint32_t height = length - 1 - model_chunk % length;
    const bool oldest_first = loom->weave->oldest_first;
    const struct heap_entry entry = {.key = (uint64_t)(way == WAY_FORWARD) << 32 |
                                            (oldest_first ? micro_batch : height),
                                     .tie = oldest_first ? height : micro_batch,
                                     .value = model_chunk};
    const uint32_t stage = stage_of(loom, model_chunk);
    loom->is_offered[way][model_chunk] = true;
    heap_push(&loom->offers[stage], entry);
    if (!loom->is_busy[stage] && loom->offers[stage].count == 1) {
        loom->woken[loom->woken_count++] = stage;
    }
}

static void begin(struct loom *loom, uint32_t stage, uint64_t now)
{
    struct stream *stream = loom->stream;
    struct heap_entry best;
    if (loom->is_busy[stage] || !heap_pop(&loom->offers[stage], &best)) {
        return;
    }
    const enum way way = best.key >> 32 == 0 ? WAY_BACKWARD : WAY_FORWARD;
    const uint32_t chunk = best.value;
    struct line *line = &loom->lines[way];
    const uint32_t at = (line->first + line->count++) % stream->shape.stages;
    line->end[at] =
        now + (way == WAY_FORWARD ? loom->weave->forward_ticks : loom->weave->backward_ticks);
    line->model_chunk[at] = chunk;
    stream->slots[stage][stream->slot_counts[stage]++] =
        (struct slot){.kind = way == WAY_FORWARD ? SLOT_FORWARD : SLOT_BACKWARD,
                      .micro_batch = loom->begun[way][chunk]++,
                      .chunk = stream->chunk_place[chunk] % stream->shape.chunks};
    loom->is_busy[stage] = true;
    loom->is_offered[way][chunk] = false;
    offer(loom, chunk, WAY_FORWARD);
    offer(loom, chunk, WAY_BACKWARD);
}

/* The first slot of the line has ended: its stage is free, its micro-batch may go on. */
static void end(struct loom *loom, enum way way)
{
    struct line *line = &loom->lines[way];
    const uint32_t chunk = line->model_chunk[line->first], stage = stage_of(loom, chunk);
    const uint32_t length = stream_count_chain(loom->stream), depth = chunk % length;
    line->first = (line->first + 1) % loom->stream->shape.stages;
    line->count--;
    loom->is_busy[stage] = false;
    loom->ended[way][chunk]++;
    loom->woken[loom->woken_count++] = stage;
    if (way == WAY_FORWARD) {
        offer(loom, chunk, WAY_BACKWARD);
        if (depth + 1 < length) {
            offer(loom, chunk + 1, WAY_FORWARD);
        }
    } else if (depth > 0) {
        offer(loom, chunk - 1, WAY_BACKWARD);
    }
}

static void begin_woken(struct loom *loom, uint64_t now)
{
    const uint32_t count = loom->woken_count;
    for (uint32_t i = 0; i < count; i++) {
        begin(loom, loom->woken[i], now);
    }
    assert(loom->woken_count == count);
    loom->woken_count = 0;
}

/* Nothing of the unit has begun. */
static void open_unit(struct loom *loom, struct unit unit)
{
    const uint32_t places = loom->stream->shape.stages * loom->stream->shape.chunks;
    loom->unit = unit;
    for (uint32_t chunk = 0; chunk < places; chunk++) {
        const uint32_t first = first_of(loom, chain_of(loom, chunk));
        for (enum way way = 0; way < WAY_COUNT; way++) {
            loom->begun[way][chunk] = loom->ended[way][chunk] = first;
        }
    }
    for (uint32_t chunk = 0; chunk < places; chunk++) {
        offer(loom, chunk, WAY_FORWARD);
    }
}

static void weave_unit(struct loom *loom, struct unit unit)
{
    uint64_t left = (uint64_t)2 * (unit.last - unit.first) * stream_count_chain(loom->stream);
    open_unit(loom, unit);
    begin_woken(loom, 0);
    while (left > 0) {
        const struct line *forward = &loom->lines[WAY_FORWARD];
        const struct line *backward = &loom->lines[WAY_BACKWARD];
        const uint64_t forward_end =
            forward->count == 0 ? UINT64_MAX : forward->end[forward->first];
        const uint64_t backward_end =
            backward->count == 0 ? UINT64_MAX : backward->end[backward->first];
        const uint64_t now = forward_end < backward_end ? forward_end : backward_end;
        assert(now != UINT64_MAX);
        for (enum way way = 0; way < WAY_COUNT; way++) {
            const struct line *line = &loom->lines[way];
            for (; line->count > 0 && line->end[line->first] == now; left--) {
                end(loom, way);
            }
        }
        begin_woken(loom, now);
    }
}

void stream_weave_build(const struct schedule_weave *weave, struct stream *stream)
{
    assert(weave->forward_ticks > 0 && weave->backward_ticks > 0);
    struct arena scratch;
    arena_init(&scratch);
    const struct schedule_shape *shape = &stream->shape;
    const size_t places = (size_t)shape->stages * shape->chunks;
    struct loom loom = {.weave = weave,
                        .stream = stream,
                        .offers = ARENA_PUSH(&scratch, struct heap, shape->stages),
                        .is_busy = ARENA_PUSH(&scratch, bool, shape->stages),
                        .woken = ARENA_PUSH(&scratch, uint32_t, (size_t)2 * shape->stages)};
    for (enum way way = 0; way < WAY_COUNT; way++) {
        loom.begun[way] = ARENA_PUSH(&scratch, uint32_t, places);
        loom.ended[way] = ARENA_PUSH(&scratch, uint32_t, places);
        loom.is_offered[way] = ARENA_PUSH(&scratch, bool, places);
        loom.lines[way].end = ARENA_PUSH(&scratch, uint64_t, shape->stages);
        loom.lines[way].model_chunk = ARENA_PUSH(&scratch, uint32_t, shape->stages);
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        heap_init(&loom.offers[stage], &scratch, 2);
    }
    const uint32_t size = weave->unit == 0 ? shape->micro_batches : weave->unit;
    for (uint32_t first = 0; first < shape->micro_batches; first += size) {
        const uint32_t left = shape->micro_batches - first;
        weave_unit(&loom, (struct unit){first, first + (left < size ? left : size)});
    }
    arena_release(&scratch);
}
