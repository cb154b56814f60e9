/* One task per slot, one per transfer. */
#include "sim/schedule_run.h"

#include "sim/engine.h"
#include "sim/slots.h"

struct run {
    const struct schedule_run_times *times;
    struct slots slots;
    struct engine engine;
    uint32_t *tasks; /* [slot] */
    uint32_t *sends; /* [slot] its transfer, or ENGINE_NO_TASK */
};

static double read_time(const double *times_s, uint32_t chunk)
{
    return times_s == NULL ? 0.0 : times_s[chunk];
}

/* Of one slot; what a pair saves is saved on both alike. */
static double slot_s(const struct run *run, uint32_t slot)
{
    const struct schedule_run_times *times = run->times;
    const uint32_t chunk = run->slots.model_chunk[slot];
    switch (slots_find(&run->slots, slot)->kind) {
    case SLOT_FORWARD: return read_time(times->forward_s, chunk);
    case SLOT_BACKWARD: return read_time(times->backward_s, chunk);
    case SLOT_INPUT_GRADIENT:
        return read_time(times->input_s == NULL ? times->backward_s : times->input_s, chunk);
    case SLOT_WEIGHT_GRADIENT: return read_time(times->weight_s, chunk);
    case SLOT_KIND_COUNT: break;
    }
    BUG("slot %u is of no kind", slot);
}

static double pair_frac(const struct run *run, uint32_t slot)
{
    const bool is_paired = run->slots.begins[slot] != run->slots.ends[slot];
    return is_paired && run->times->pair_frac != 0.0 ? run->times->pair_frac : 1.0;
}

static double send_s(const struct run *run, uint32_t slot)
{
    const uint32_t chunk = run->slots.model_chunk[slot];
    return slots_find(&run->slots, slot)->kind == SLOT_FORWARD
               ? read_time(run->times->send_s, chunk)
               : read_time(run->times->send_back_s, chunk - 1);
}

static const char *name_of(const struct run *run, uint32_t slot, struct arena *arena)
{
    struct text name;
    text_init(&name, arena);
    schedule_dump_slot(slots_find(&run->slots, slot), run->slots.stream->shape.chunks, &name);
    text_push(&name, " of stage %u", run->slots.stage[slot]);
    return name.bytes;
}

static void push_tasks(struct run *run, struct arena *arena)
{
    const struct slots *slots = &run->slots;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        const struct engine_label label = {name_of(run, slot, arena), slot};
        run->tasks[slot] =
            engine_push_delay(&run->engine, label, pair_frac(run, slot) * slot_s(run, slot));
        run->sends[slot] = ENGINE_NO_TASK;
        if (slots_sends(slots, slot)) {
            const struct engine_label send = {"send", slot};
            run->sends[slot] = engine_push_delay(&run->engine, send, send_s(run, slot));
        }
    }
    for (uint32_t chunk = 0; chunk < slots->stream->shape.stages * slots->stream->shape.chunks;
         chunk++) {
        engine_push_release(&run->engine, run->tasks[slots->begins[slots->first_forward[chunk]]],
                            read_time(run->times->release_s, chunk));
    }
}

/* A slot's transfer, when all of its pair has ended; the stage waits for it if it blocks. */
static void push_send(struct run *run, uint32_t slot, uint32_t *last)
{
    const uint32_t send = run->sends[slot];
    if (send == ENGINE_NO_TASK) {
        return;
    }
    engine_push_edge(&run->engine, *last, send);
    *last = run->times->send_blocks ? send : *last;
}

static void push_edges(struct run *run)
{
    const struct slots *slots = &run->slots;
    uint32_t last = ENGINE_NO_TASK;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        if (slot == slots->first_of_stage[slots->stage[slot]]) {
            last = ENGINE_NO_TASK;
        }
        engine_place(&run->engine, &last, run->tasks[slot]);
        const uint32_t source = slots->source[slot];
        if (source != SLOT_NONE) {
            /* of a pair that blocks, what is sent first arrives no sooner than its stage goes on */
            const uint32_t made = run->times->send_blocks ? slots->ends[source] : source;
            const bool is_sent = run->sends[made] != ENGINE_NO_TASK;
            const uint32_t sent = is_sent ? run->sends[made] : run->sends[source];
            engine_push_edge(&run->engine,
                             sent != ENGINE_NO_TASK ? sent : run->tasks[slots->ends[source]],
                             run->tasks[slots->begins[slot]]);
        }
        if (slots->ends[slot] == slot) {
            for (uint32_t made = slots->begins[slot]; made <= slot; made++) {
                push_send(run, made, &last);
            }
        }
    }
}

static void collect(struct run *run, struct arena *arena, struct schedule_run_result *out)
{
    const struct slots *slots = &run->slots;
    const struct schedule_shape *shape = &slots->stream->shape;
    const uint32_t chunks = shape->stages * shape->chunks;
    double *busy_s = ARENA_PUSH(arena, double, shape->stages),
           *start_s = ARENA_PUSH(arena, double, shape->stages);
    double *end_s = ARENA_PUSH(arena, double, shape->stages);
    double *chunk_start_s = ARENA_PUSH(arena, double, chunks),
           *chunk_end_s = ARENA_PUSH(arena, double, chunks);
    double *slot_start_s = ARENA_PUSH(arena, double, slots->count);
    double *slot_end_s = ARENA_PUSH(arena, double, slots->count);
    out->makespan_s = 0.0;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        slot_start_s[slot] =
            world_find_s(&run->engine.world, engine_find_start(&run->engine, run->tasks[slot]));
        slot_end_s[slot] = engine_find_end_s(&run->engine, run->tasks[slot]);
        busy_s[slots->stage[slot]] += slot_end_s[slot] - slot_start_s[slot];
        out->makespan_s = slot_end_s[slot] > out->makespan_s ? slot_end_s[slot] : out->makespan_s;
    }
    for (uint32_t stage = 0; stage < shape->stages; stage++) {
        start_s[stage] = slot_start_s[slots->first_of_stage[stage]];
        end_s[stage] = slot_end_s[slots_find_last(slots, stage)];
    }
    for (uint32_t chunk = 0; chunk < chunks; chunk++) {
        chunk_start_s[chunk] = slot_start_s[slots->first_forward[chunk]];
        chunk_end_s[chunk] = slot_end_s[slots->last_backward[chunk]];
    }
    out->stage_busy_s = busy_s;
    out->stage_start_s = start_s;
    out->stage_end_s = end_s;
    out->chunk_start_s = chunk_start_s;
    out->chunk_end_s = chunk_end_s;
    out->slot_start_s = slot_start_s;
    out->slot_end_s = slot_end_s;
    out->events = run->engine.world.events;
}

bool schedule_run(const struct stream *stream, const struct schedule_run_times *times,
                  struct arena *arena, struct schedule_run_result *out, struct diag *diag)
{
    struct run run = {.times = times};
    slots_build(stream, arena, &run.slots);
    engine_init(&run.engine, WORLD_PS_PER_S, arena);
    run.tasks = ARENA_PUSH(arena, uint32_t, run.slots.count);
    run.sends = ARENA_PUSH(arena, uint32_t, run.slots.count);
    push_tasks(&run, arena);
    push_edges(&run);
    if (!engine_run(&run.engine, diag)) {
        return false;
    }
    collect(&run, arena, out);
    return true;
}
