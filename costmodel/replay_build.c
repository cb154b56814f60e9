/* The slots of a stream in an order fit for one sweep: each behind all it waits for. */
#include <string.h>

#include "base/diag.h"
#include "costmodel/replay_inside.h"
#include "plan/boundary.h"

/* Steps are written in rounds: each stage adds its next slot when what it needs stands in an
 * earlier round. So the steps of a round do not depend on each other, which lets the processor
 * overlap them. A round looks at the stages that added a slot in the last, or may have waited for
 * one that was added. */
struct builder {
    const struct stream *stream;
    struct replay_plan *plan;
    uint32_t *at;     /* [stage] next slot */
    uint32_t *called; /* stages to look at in the next round */
    uint32_t called_count;
    bool *is_called;
    uint32_t *forward_step,
        *backward_step; /* [model chunk * micro_batches + micro-batch], 0: not yet */
};

static uint32_t *find_step(const struct builder *builder, uint32_t model_chunk,
                           const struct slot *slot)
{
    size_t index = (size_t)model_chunk * builder->plan->shape.micro_batches + slot->micro_batch;
    return slot->kind == SLOT_FORWARD ? &builder->forward_step[index]
                                      : &builder->backward_step[index];
}

static void push_step(struct replay_plan *plan, uint32_t stage, uint32_t source, uint32_t cost)
{
    plan->steps[plan->step_count] =
        (struct replay_step){.previous = plan->stage_last[stage], .source = source, .cost = cost};
    plan->sends[plan->step_count] = REPLAY_NO_SEND;
    *(plan->stage_first[stage] == 0 ? &plan->stage_first[stage]
                                    : &plan->next[plan->stage_tail[stage]]) = plan->step_count;
    plan->stage_tail[stage] = plan->step_count;
    plan->stage_last[stage] = plan->step_count++;
}

static uint32_t chunk_of(const struct builder *builder, uint32_t stage, const struct slot *slot)
{
    return builder->stream->model_chunk[stage * builder->plan->shape.chunks + slot->chunk];
}

static void push_release(struct builder *builder, uint32_t stage, const struct slot *slot)
{
    struct replay_plan *plan = builder->plan;
    const uint32_t chunk = chunk_of(builder, stage, slot);
    if (slot->kind == SLOT_FORWARD && plan->chunk_first[chunk] == 0) {
        push_step(plan, stage, 0, COST_RELEASE * plan->chunk_count + chunk);
    }
}

/* Transfer of what a slot makes. */
static uint32_t find_send(const struct replay_plan *plan, enum slot_kind kind, uint32_t chunk)
{
    if (kind == SLOT_FORWARD) {
        return replay_crosses(plan, chunk) ? chunk : REPLAY_NO_SEND;
    }
    return kind != SLOT_WEIGHT_GRADIENT && chunk > 0 && replay_crosses(plan, chunk - 1)
               ? plan->chunk_count + chunk - 1
               : REPLAY_NO_SEND;
}

/* `kinds`: 0, or COST_PAIRED. */
static void push_slot(struct builder *builder, uint32_t stage, const struct slot *slot,
                      uint32_t source, uint32_t kinds)
{
    struct replay_plan *plan = builder->plan;
    const uint32_t chunk = chunk_of(builder, stage, slot);
    push_step(plan, stage, source, (kinds + slot->kind) * plan->chunk_count + chunk);
    uint32_t step = plan->stage_last[stage];
    if (slot->kind == SLOT_FORWARD && plan->chunk_first[chunk] == 0) {
        plan->chunk_first[chunk] = step;
    }
    if (slot->kind != SLOT_WEIGHT_GRADIENT) {
        *find_step(builder, chunk, slot) = step;
    }
    plan->sends[step] = find_send(plan, slot->kind, chunk);
    plan->chunk_last[chunk] = step;
    plan->slot_counts[slot->kind][chunk]++;
    plan->pair_counts[slot->kind][chunk] += kinds == COST_PAIRED;
}

/* What the slot waits for, 0 if nothing; false when it is not there before this round. */
static bool find_source(const struct builder *builder, uint32_t stage, const struct slot *slot,
                        uint32_t round_begin, uint32_t *out)
{
    const uint32_t chunk = stream_find_source(builder->stream, stage, slot);
    uint32_t source = 0;
    if (chunk != STREAM_NO_SOURCE && builder->plan->chunk_stage[chunk] != stage) {
        source = *find_step(builder, chunk, slot);
        if (source == 0 || source >= round_begin) {
            return false;
        }
    }
    *out = source;
    return true;
}

/* What others wait for of a pair is its end, then its two transfers one after the other. */
static void push_pair(struct builder *builder, uint32_t stage, const struct slot *slot,
                      const uint32_t sources[2])
{
    struct replay_plan *plan = builder->plan;
    const uint32_t chunks[2] = {chunk_of(builder, stage, slot), chunk_of(builder, stage, slot + 1)};
    plan->has_pairs = true;
    push_release(builder, stage, slot);
    push_step(plan, stage, sources[0], COST_AWAIT_FORWARD * plan->chunk_count + chunks[0]);
    push_step(plan, stage, sources[1], COST_AWAIT_BACKWARD * plan->chunk_count + chunks[1]);
    push_slot(builder, stage, slot, 0, COST_PAIRED);
    push_slot(builder, stage, slot + 1, 0, COST_PAIRED);
    const uint32_t end = plan->stage_last[stage], second = plan->sends[end];
    *find_step(builder, chunks[0], slot) = end;
    plan->sends[end] = plan->sends[end - 1];
    plan->sends[end - 1] = REPLAY_NO_SEND;
    push_step(plan, stage, 0, COST_MADE * plan->chunk_count + chunks[1]);
    *find_step(builder, chunks[1], slot + 1) = plan->stage_last[stage];
    plan->sends[plan->stage_last[stage]] = second;
    plan->stage_last[stage] = end;
    plan->pairs_share =
        plan->pairs_share || (second != REPLAY_NO_SEND && plan->sends[end] != REPLAY_NO_SEND &&
                              plan->links[second] == plan->links[plan->sends[end]]);
}

/* Adds the stage's next slot, or pair; how many slots: 0 when the stage is done or must wait for a
 * step of this round. */
static uint32_t push_next(struct builder *builder, uint32_t stage, uint32_t round_begin)
{
    const struct stream *stream = builder->stream;
    if (builder->at[stage] == stream->slot_counts[stage]) {
        return 0;
    }
    const struct slot *slot = &stream->slots[stage][builder->at[stage]];
    uint32_t sources[2];
    if (!find_source(builder, stage, slot, round_begin, &sources[0]) ||
        (slot->paired && !find_source(builder, stage, slot + 1, round_begin, &sources[1]))) {
        return 0;
    }
    if (slot->paired) {
        push_pair(builder, stage, slot, sources);
    } else {
        push_release(builder, stage, slot);
        push_slot(builder, stage, slot, sources[0], 0);
    }
    const uint32_t pushed = slot->paired ? 2 : 1;
    builder->at[stage] += pushed;
    return pushed;
}

static void call(struct builder *builder, uint32_t stage)
{
    if (!builder->is_called[stage]) {
        builder->is_called[stage] = true;
        builder->called[builder->called_count++] = stage;
    }
}

/* The stage has added its slots up to `end`: it may go on, as may those that have the next slots
 * of the micro-batches. */
static void call_next(struct builder *builder, uint32_t stage, uint32_t begin, uint32_t end)
{
    call(builder, stage);
    for (uint32_t i = begin; i < end; i++) {
        const struct slot *slot = &builder->stream->slots[stage][i];
        const uint32_t chunk = chunk_of(builder, stage, slot);
        const uint32_t depth = chunk % builder->plan->chain_length;
        if (slot->kind == SLOT_FORWARD && depth + 1 < builder->plan->chain_length) {
            call(builder, builder->plan->chunk_stage[chunk + 1]);
        } else if (slot->kind != SLOT_FORWARD && slot->kind != SLOT_WEIGHT_GRADIENT && depth > 0) {
            call(builder, builder->plan->chunk_stage[chunk - 1]);
        }
    }
}

static void build_steps(struct builder *builder, uint32_t slot_count, uint32_t *round)
{
    uint32_t pushed = 0;
    for (uint32_t stage = 0; stage < builder->plan->shape.stages; stage++) {
        call(builder, stage);
    }
    while (pushed < slot_count) {
        const uint32_t round_begin = builder->plan->step_count, count = builder->called_count;
        if (count == 0) {
            BUG("a stream that never ends passed its check");
        }
        memcpy(round, builder->called, count * sizeof *round);
        builder->called_count = 0;
        for (uint32_t i = 0; i < count; i++) {
            builder->is_called[round[i]] = false;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t begin = builder->at[round[i]];
            const uint32_t added = push_next(builder, round[i], round_begin);
            if (added > 0) {
                call_next(builder, round[i], begin, begin + added);
            }
            pushed += added;
        }
    }
}

/* One for each slot, three more for each pair. */
static size_t count_steps(const struct stream *stream, uint32_t stage)
{
    size_t count = stream->slot_counts[stage];
    for (uint32_t i = 0; i < stream->slot_counts[stage]; i++) {
        count += stream->slots[stage][i].paired ? 3 : 0;
    }
    return count;
}

static void find_links(struct replay_plan *plan)
{
    for (uint32_t chunk = 0; chunk + 1 < plan->chunk_count; chunk++) {
        const uint32_t from = plan->chunk_stage[chunk], to = plan->chunk_stage[chunk + 1];
        plan->links[chunk] = boundary_find_link(from, to);
        plan->links[plan->chunk_count + chunk] = boundary_find_link(to, from);
    }
}

void replay_build(const struct stream *stream, struct arena *arena, struct replay_plan *out)
{
    const struct schedule_shape *shape = &stream->shape;
    uint32_t chunk_count = shape->stages * shape->chunks, slot_count = 0;
    size_t step_count = 1 + (size_t)chunk_count;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        slot_count += stream->slot_counts[stage];
        step_count += count_steps(stream, stage);
    }
    *out = (struct replay_plan){
        .shape = *shape,
        .chunk_count = chunk_count,
        .chain_length = stream_count_chain(stream),
        .step_count = 1,
        .steps = ARENA_PUSH(arena, struct replay_step, step_count),
        .stage_last = ARENA_PUSH(arena, uint32_t, shape->stages),
        .chunk_first = ARENA_PUSH(arena, uint32_t, chunk_count),
        .chunk_last = ARENA_PUSH(arena, uint32_t, chunk_count),
        .chunk_stage = ARENA_PUSH(arena, uint32_t, chunk_count),
        .stage_first = ARENA_PUSH(arena, uint32_t, shape->stages),
        .stage_tail = ARENA_PUSH(arena, uint32_t, shape->stages),
        .next = ARENA_PUSH(arena, uint32_t, step_count),
        .sends = ARENA_PUSH(arena, uint32_t, step_count),
        .links = ARENA_PUSH(arena, uint32_t, (size_t)2 * chunk_count),
    };
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        out->slot_counts[kind] = ARENA_PUSH(arena, uint32_t, chunk_count);
        out->pair_counts[kind] = ARENA_PUSH(arena, uint32_t, chunk_count);
    }
    for (uint32_t chunk = 0; chunk < chunk_count; chunk++) {
        out->chunk_stage[chunk] = stream->chunk_place[chunk] / shape->chunks;
    }
    out->sends[0] = REPLAY_NO_SEND;
    find_links(out);
    struct arena_mark mark = arena_find_mark(arena);
    size_t pairs = (size_t)chunk_count * shape->micro_batches;
    build_steps(&(struct builder){.stream = stream,
                                  .plan = out,
                                  .at = ARENA_PUSH(arena, uint32_t, shape->stages),
                                  .called = ARENA_PUSH(arena, uint32_t, shape->stages),
                                  .is_called = ARENA_PUSH(arena, bool, shape->stages),
                                  .forward_step = ARENA_PUSH(arena, uint32_t, pairs),
                                  .backward_step = ARENA_PUSH(arena, uint32_t, pairs)},
                slot_count, ARENA_PUSH(arena, uint32_t, shape->stages));
    arena_pop(arena, mark);
}
