/* List scheduling in ticks: who is free takes the best slot that can start.
 *
 * Each chunk runs the micro-batches of its chain in ascending order, forwards and backwards alike,
 * so at any tick it has at most one forward and one backward to offer. Something under way always
 * ends and what ends lets its micro-batch go on, so with room for one micro-batch on each chain the
 * weaving never stops. */
#include "plan/stream_weave.h"

#include <assert.h>

#include "base/arena.h"

#define NOT_YET UINT64_MAX

/* Micro-batches that are woven together: [first, last). */
struct unit {
    uint32_t first, last;
};

struct loom {
    const struct schedule_weave *weave;
    struct stream *stream;
    struct unit unit;
    uint64_t *forward_end, *backward_end; /* [model chunk * micro_batches + micro-batch] */
    uint32_t *forwards, *backwards;       /* [model chunk] next micro-batch */
    uint64_t *free_at;                    /* [stage] */
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

static uint64_t *find_end(uint64_t *ends, const struct loom *loom, uint32_t model_chunk,
                          uint32_t micro_batch)
{
    return &ends[(size_t)model_chunk * loom->stream->shape.micro_batches + micro_batch];
}

static bool has_ended(uint64_t *ends, const struct loom *loom, uint32_t model_chunk,
                      uint32_t micro_batch, uint64_t now)
{
    return *find_end(ends, loom, model_chunk, micro_batch) <= now;
}

/* May one more micro-batch live on the chunk? */
static bool has_room(const struct loom *loom, uint32_t model_chunk)
{
    const uint32_t length = stream_count_chain(loom->stream), depth = model_chunk % length;
    const uint32_t live = loom->forwards[model_chunk] - loom->backwards[model_chunk];
    const uint32_t cap = loom->weave->in_flight;
    return !(loom->weave->follows_depth && live >= length - depth) &&
           !(depth == 0 && cap != 0 && live >= cap);
}

static bool offers_forward(const struct loom *loom, uint32_t model_chunk, uint64_t now)
{
    const uint32_t micro_batch = loom->forwards[model_chunk];
    return micro_batch < first_of(loom, chain_of(loom, model_chunk) + 1) &&
           has_room(loom, model_chunk) &&
           (model_chunk % stream_count_chain(loom->stream) == 0 ||
            has_ended(loom->forward_end, loom, model_chunk - 1, micro_batch, now));
}

static bool offers_backward(const struct loom *loom, uint32_t model_chunk, uint64_t now)
{
    const uint32_t micro_batch = loom->backwards[model_chunk];
    return micro_batch < loom->forwards[model_chunk] &&
           has_ended(loom->forward_end, loom, model_chunk, micro_batch, now) &&
           ((model_chunk + 1) % stream_count_chain(loom->stream) == 0 ||
            has_ended(loom->backward_end, loom, model_chunk + 1, micro_batch, now));
}

static bool is_better(const struct loom *loom, uint32_t stage, const struct slot *a,
                      const struct slot *b)
{
    if (a->kind != b->kind) {
        return a->kind == SLOT_BACKWARD;
    }
    const uint32_t *chunks = &loom->stream->model_chunk[stage * loom->stream->shape.chunks];
    const uint32_t length = stream_count_chain(loom->stream);
    const uint32_t depth_a = chunks[a->chunk] % length, depth_b = chunks[b->chunk] % length;
    if (loom->weave->oldest_first && a->micro_batch != b->micro_batch) {
        return a->micro_batch < b->micro_batch;
    }
    return depth_a != depth_b ? depth_a > depth_b : a->micro_batch < b->micro_batch;
}

static bool find_best(const struct loom *loom, uint32_t stage, uint64_t now, struct slot *out)
{
    const uint32_t chunks = loom->stream->shape.chunks;
    bool found = false;
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        const uint32_t model_chunk = loom->stream->model_chunk[stage * chunks + chunk];
        const struct slot offers[2] = {
            {.kind = SLOT_FORWARD, .micro_batch = loom->forwards[model_chunk], .chunk = chunk},
            {.kind = SLOT_BACKWARD, .micro_batch = loom->backwards[model_chunk], .chunk = chunk}};
        const bool offered[2] = {offers_forward(loom, model_chunk, now),
                                 offers_backward(loom, model_chunk, now)};
        for (uint32_t i = 0; i < 2; i++) {
            if (offered[i] && (!found || is_better(loom, stage, &offers[i], out))) {
                *out = offers[i];
                found = true;
            }
        }
    }
    return found;
}

static void begin(struct loom *loom, uint32_t stage, uint64_t now, const struct slot *slot)
{
    struct stream *stream = loom->stream;
    const uint32_t model_chunk = stream->model_chunk[stage * stream->shape.chunks + slot->chunk];
    const bool forward = slot->kind == SLOT_FORWARD;
    const uint64_t end = now + (forward ? loom->weave->forward_ticks : loom->weave->backward_ticks);
    *find_end(forward ? loom->forward_end : loom->backward_end, loom, model_chunk,
              slot->micro_batch) = end;
    (forward ? loom->forwards : loom->backwards)[model_chunk]++;
    loom->free_at[stage] = end;
    stream->slots[stage][stream->slot_counts[stage]++] = *slot;
}

static void weave_unit(struct loom *loom, struct unit unit)
{
    const struct schedule_shape *shape = &loom->stream->shape;
    const uint32_t places = shape->stages * shape->chunks;
    loom->unit = unit;
    for (uint32_t chunk = 0; chunk < places; chunk++) {
        loom->forwards[chunk] = loom->backwards[chunk] = first_of(loom, chain_of(loom, chunk));
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        loom->free_at[stage] = 0;
    }
    uint64_t left = (uint64_t)2 * (unit.last - unit.first) * stream_count_chain(loom->stream);
    for (uint64_t now = 0; left > 0; now++) {
        assert(now <= (uint64_t)2 * (loom->weave->forward_ticks + loom->weave->backward_ticks) *
                          places * shape->micro_batches);
        for (uint32_t stage = 0; stage < shape->stages; stage++) {
            struct slot slot;
            if (loom->free_at[stage] <= now && find_best(loom, stage, now, &slot)) {
                begin(loom, stage, now, &slot);
                left--;
            }
        }
    }
}

void stream_weave_build(const struct schedule_weave *weave, struct stream *stream)
{
    assert(weave->forward_ticks > 0 && weave->backward_ticks > 0);
    struct arena scratch;
    arena_init(&scratch);
    const struct schedule_shape *shape = &stream->shape;
    const size_t places = (size_t)shape->stages * shape->chunks;
    const size_t pairs = places * shape->micro_batches;
    struct loom loom = {.weave = weave,
                        .stream = stream,
                        .forward_end = ARENA_PUSH(&scratch, uint64_t, pairs),
                        .backward_end = ARENA_PUSH(&scratch, uint64_t, pairs),
                        .forwards = ARENA_PUSH(&scratch, uint32_t, places),
                        .backwards = ARENA_PUSH(&scratch, uint32_t, places),
                        .free_at = ARENA_PUSH(&scratch, uint64_t, shape->stages)};
    for (size_t i = 0; i < pairs; i++) {
        loom.forward_end[i] = loom.backward_end[i] = NOT_YET;
    }
    const uint32_t size = weave->unit == 0 ? shape->micro_batches : weave->unit;
    for (uint32_t first = 0; first < shape->micro_batches; first += size) {
        const uint32_t left = shape->micro_batches - first;
        weave_unit(&loom, (struct unit){first, first + (left < size ? left : size)});
    }
    arena_release(&scratch);
}
