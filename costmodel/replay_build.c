/* The slots of a stream in an order fit for one sweep: each behind all it waits for. */
#include "base/diag.h"
#include "costmodel/replay_inside.h"

/* Steps are written in rounds: each stage adds its next slot when what it needs stands in an
 * earlier round. So the steps of a round do not depend on each other, which lets the processor
 * overlap them. */
struct builder {
    const struct stream *stream;
    struct replay_plan *plan;
    uint32_t *at; /* [stage] next slot */
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
    plan->stage_last[stage] = plan->step_count++;
}

static void push_slot(struct builder *builder, uint32_t stage, const struct slot *slot,
                      uint32_t source)
{
    struct replay_plan *plan = builder->plan;
    uint32_t chunk = builder->stream->model_chunk[stage * plan->shape.chunks + slot->chunk];
    if (slot->kind == SLOT_FORWARD && plan->chunk_first[chunk] == 0) {
        push_step(plan, stage, 0, COST_RELEASE * plan->chunk_count + chunk);
        plan->chunk_first[chunk] = plan->step_count;
    }
    push_step(plan, stage, source, slot->kind * plan->chunk_count + chunk);
    uint32_t step = plan->stage_last[stage];
    if (slot->kind != SLOT_WEIGHT_GRADIENT) {
        *find_step(builder, chunk, slot) = step;
    }
    plan->chunk_last[chunk] = step;
    plan->slot_counts[slot->kind][chunk]++;
}

/* Adds the stage's next slot; false when the stage is done or must wait for a step of this
 * round. */
static bool push_next(struct builder *builder, uint32_t stage, uint32_t round_begin)
{
    const struct stream *stream = builder->stream;
    if (builder->at[stage] == stream->slot_counts[stage]) {
        return false;
    }
    const struct slot *slot = &stream->slots[stage][builder->at[stage]];
    uint32_t chunk = stream_find_source(stream, stage, slot);
    uint32_t source = 0;
    if (chunk != STREAM_NO_SOURCE && builder->plan->chunk_stage[chunk] != stage) {
        source = *find_step(builder, chunk, slot);
        if (source == 0 || source >= round_begin) {
            return false;
        }
    }
    push_slot(builder, stage, slot, source);
    builder->at[stage]++;
    return true;
}

static void build_steps(struct builder *builder, uint32_t slot_count)
{
    uint32_t pushed = 0;
    while (pushed < slot_count) {
        uint32_t round_begin = builder->plan->step_count, before = pushed;
        for (uint32_t stage = 0; stage < builder->plan->shape.stages; stage++) {
            pushed += push_next(builder, stage, round_begin);
        }
        if (pushed == before) {
            BUG("a stream that never ends passed its check");
        }
    }
}

void replay_build(const struct stream *stream, struct arena *arena, struct replay_plan *out)
{
    const struct schedule_shape *shape = &stream->shape;
    uint32_t chunk_count = shape->stages * shape->chunks, slot_count = 0;
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        slot_count += stream->slot_counts[stage];
    }
    *out = (struct replay_plan){
        .shape = *shape,
        .chunk_count = chunk_count,
        .step_count = 1,
        .steps = ARENA_PUSH(arena, struct replay_step, (size_t)slot_count + chunk_count + 1),
        .stage_last = ARENA_PUSH(arena, uint32_t, shape->stages),
        .chunk_first = ARENA_PUSH(arena, uint32_t, chunk_count),
        .chunk_last = ARENA_PUSH(arena, uint32_t, chunk_count),
        .chunk_stage = ARENA_PUSH(arena, uint32_t, chunk_count),
    };
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        out->slot_counts[kind] = ARENA_PUSH(arena, uint32_t, chunk_count);
    }
    for (uint32_t chunk = 0; chunk < chunk_count; chunk++) {
        out->chunk_stage[chunk] = stream->chunk_place[chunk] / shape->chunks;
    }
    struct arena_mark mark = arena_find_mark(arena);
    size_t pairs = (size_t)chunk_count * shape->micro_batches;
    build_steps(&(struct builder){.stream = stream,
                                  .plan = out,
                                  .at = ARENA_PUSH(arena, uint32_t, shape->stages),
                                  .forward_step = ARENA_PUSH(arena, uint32_t, pairs),
                                  .backward_step = ARENA_PUSH(arena, uint32_t, pairs)},
                slot_count);
    arena_pop(arena, mark);
}
