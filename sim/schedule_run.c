/* One task per slot, one per transfer. */
#include "sim/schedule_run.h"

#include "sim/engine.h"
#include "sim/schedule_run_inside.h"

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

double schedule_run_slot_s(const struct schedule_run_times *times, const struct slots *slots,
                           uint32_t slot)
{
    const uint32_t chunk = slots->model_chunk[slot];
    const double extra_s = read_time(times->extra_s, slot);
    switch (slots_find(slots, slot)->kind) {
    case SLOT_FORWARD: return read_time(times->forward_s, chunk) + extra_s;
    case SLOT_BACKWARD: return read_time(times->backward_s, chunk) + extra_s;
    case SLOT_INPUT_GRADIENT:
        return read_time(times->input_s == NULL ? times->backward_s : times->input_s, chunk) +
               extra_s;
    case SLOT_WEIGHT_GRADIENT: return read_time(times->weight_s, chunk) + extra_s;
    case SLOT_KIND_COUNT: break;
    }
    BUG("slot %u is of no kind", slot);
}

/* What a pair saves is saved on both of its slots alike. */
static double pair_frac(const struct run *run, uint32_t slot)
{
    const bool is_paired = run->slots.begins[slot] != run->slots.ends[slot];
    return is_paired && run->times->pair_frac != 0.0 ? run->times->pair_frac : 1.0;
}

double schedule_run_send_s(const struct schedule_run_times *times, const struct slots *slots,
                           uint32_t slot)
{
    const uint32_t chunk = slots->model_chunk[slot];
    return slots_find(slots, slot)->kind == SLOT_FORWARD ? read_time(times->send_s, chunk)
                                                         : read_time(times->send_back_s, chunk - 1);
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
            engine_push_delay(&run->engine, label,
                              pair_frac(run, slot) * schedule_run_slot_s(run->times, slots, slot));
        run->sends[slot] = ENGINE_NO_TASK;
        if (slots_sends(slots, slot)) {
            const struct engine_label send = {"send", slot};
            run->sends[slot] =
                engine_push_delay(&run->engine, send, schedule_run_send_s(run->times, slots, slot));
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

struct spans {
    double *start_s, *end_s;
};

static struct spans open_spans(uint32_t count, struct arena *arena)
{
    struct spans spans = {ARENA_PUSH(arena, double, count), ARENA_PUSH(arena, double, count)};
    for (uint32_t i = 0; i < count; i++) {
        spans.start_s[i] = -1.0;
    }
    return spans;
}

static void widen(struct spans *spans, uint32_t i, double from_s, double until_s)
{
    if (spans->start_s[i] < 0.0 || from_s < spans->start_s[i]) {
        spans->start_s[i] = from_s;
    }
    spans->end_s[i] = until_s > spans->end_s[i] ? until_s : spans->end_s[i];
}

void schedule_run_collect(const struct slots *slots, const uint64_t *start_ps,
                          const uint64_t *end_ps, struct arena *arena,
                          struct schedule_run_result *out)
{
    const struct schedule_shape *shape = &slots->stream->shape;
    struct spans stages = open_spans(shape->stages, arena);
    struct spans chunks = open_spans(shape->stages * shape->chunks, arena);
    struct spans each = open_spans(slots->count, arena);
    double *busy_s = ARENA_PUSH(arena, double, shape->stages);
    out->makespan_s = 0.0;
    for (uint32_t slot = 0; slot < slots->count; slot++) {
        const double from_s = (double)start_ps[slot] / WORLD_PS_PER_S;
        const double until_s = (double)end_ps[slot] / WORLD_PS_PER_S;
        widen(&each, slot, from_s, until_s);
        widen(&stages, slots->stage[slot], from_s, until_s);
        widen(&chunks, slots->model_chunk[slot], from_s, until_s);
        busy_s[slots->stage[slot]] += until_s - from_s;
        out->makespan_s = until_s > out->makespan_s ? until_s : out->makespan_s;
    }
    out->stage_busy_s = busy_s;
    out->stage_start_s = stages.start_s;
    out->stage_end_s = stages.end_s;
    out->chunk_start_s = chunks.start_s;
    out->chunk_end_s = chunks.end_s;
    out->slot_start_s = each.start_s;
    out->slot_end_s = each.end_s;
}

/* Instants of the slots' tasks. */
static void collect(struct run *run, struct arena *arena, struct schedule_run_result *out)
{
    uint64_t *start_ps = ARENA_PUSH(arena, uint64_t, run->slots.count);
    uint64_t *end_ps = ARENA_PUSH(arena, uint64_t, run->slots.count);
    for (uint32_t slot = 0; slot < run->slots.count; slot++) {
        start_ps[slot] = engine_find_start(&run->engine, run->tasks[slot]);
        end_ps[slot] = engine_find_end(&run->engine, run->tasks[slot]);
    }
    schedule_run_collect(&run->slots, start_ps, end_ps, arena, out);
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
