/* Steps one after another: all stages, then everybody's gradients, the update, the overhead. */
#include <assert.h>
#include <string.h>

#include "sim/sim_inside.h"

static const struct runtime *runtime_of(const struct step_run *run)
{
    return run->load->work->problem->setup->runtime;
}

void sim_turn_to(struct step_run *run, uint32_t stage, uint32_t lane)
{
    run->lane = lane;
    run->emit.device = sim_find_device(run, stage, lane);
    if (run->meet != NULL) {
        meet_enter(run->meet, work_find_place(run->load->work, stage, lane));
    }
}

static void open_meet(struct step_run *run)
{
    if (run->meet != NULL) {
        meet_open(run->meet);
    }
}

static void join_slots(struct step_run *run, uint32_t step, uint32_t lane)
{
    struct slot_tasks *tasks = sim_find_tasks(run, step, lane);
    const bool blocks = runtime_send_blocks(runtime_of(run), run->load->work->shape.chunks);
    for (uint32_t slot = 0; slot < run->slots.count; slot++) {
        const uint32_t source = run->slots.source[slot];
        if (source != SLOT_NONE) {
            const struct slot_tasks *made = &tasks[run->slots.ends[source]];
            uint32_t sent = tasks[source].send;
            if (blocks && made->send != ENGINE_NO_TASK) {
                sent = made->send; /* the stage goes on, and others with it, when all is sent */
            }
            engine_push_edge(&run->engine, sent != ENGINE_NO_TASK ? sent : made->exit,
                             tasks[run->slots.begins[slot]].entry);
        }
    }
}

/* Of one lane: its first and its last stage. */
static void push_tied_lane(struct step_run *run, uint32_t lane, const struct move *move,
                           struct step_tail *tail)
{
    const uint32_t stages = run->load->work->shape.stages;
    const uint32_t first = sim_find_device(run, 0, lane), last = first + stages - 1;
    const uint32_t both = emit_join(&run->emit, tail->summed[first], tail->summed[last]);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t device = i == 0 ? first : last;
        sim_turn_to(run, i == 0 ? 0 : stages - 1, lane);
        sim_draw_messages(run);
        tail->tied_start[device] = run->sim->options.arrival ? both : tail->summed[device];
        tail->tied_end[device] =
            emit_move(&run->emit, EMIT_DATA, move, 1.0, tail->tied_start[device]);
    }
}

static void push_tied(struct step_run *run, struct step_tail *tail)
{
    const struct work *work = run->load->work;
    const uint32_t devices = sim_count_devices(run);
    memcpy(tail->tied_start, tail->summed, devices * sizeof *tail->summed);
    memcpy(tail->tied_end, tail->summed, devices * sizeof *tail->summed);
    if (work->tied.bytes == 0.0 || work->shape.stages == 1) {
        return;
    }
    const struct script_place place = {run->sim->book, run->sim->prices, work, 0};
    const struct move move = script_find_move(&place, &work->tied);
    open_meet(run);
    for (uint32_t lane = 0; lane < run->lanes; lane++) {
        push_tied_lane(run, lane, &move, tail);
    }
}

static double update_s(const struct step_run *run, uint32_t stage)
{
    const struct piece *pieces = estimator_pieces(run->load, stage);
    double seconds = 0.0;
    for (uint32_t local = 0; local < run->load->work->shape.chunks; local++) {
        const uint32_t *counts = sim_find_counts(run->load, sim_find_chunk(run, stage, local));
        for (uint32_t block = 0; block < run->load->work->block_count; block++) {
            seconds += pieces[block].update_s * (double)counts[block];
        }
    }
    return seconds * sim_find_slowness(run, stage);
}

/* Of all devices, whatever they are. */
static struct move find_norm(const struct step_run *run)
{
    const struct work *work = run->load->work;
    const struct lump_request request = {work->norm.kind, &work->groups[work->norm.group], 0,
                                         work->norm.bytes, work_find_crowd(work, &work->norm)};
    const struct lump_list *lumps = lump_find(run->sim->book, &request);
    return (struct move){lumps, 1.0, lumps->seconds, &work->norm};
}

/* Over all ranks at once, each on its own ports. */
static void push_norm(struct step_run *run, struct step_tail *tail)
{
    tail->normed = tail->barrier;
    if (run->load->work->norm.bytes == 0.0) {
        return;
    }
    const struct move move = find_norm(run);
    open_meet(run);
    sim_draw_messages(run);
    for (uint32_t i = 0; i < sim_count_devices(run); i++) {
        sim_turn_to(run, i % run->load->work->shape.stages, i / run->load->work->shape.stages);
        const uint32_t own = emit_move(&run->emit, EMIT_DATA, &move, 1.0, tail->barrier);
        sim_turn_to(run, 0, 0);
        tail->normed = i == 0 ? own : emit_join(&run->emit, tail->normed, own);
    }
}

/* Everybody's gradients, the norm, updates, then the overhead of a step. */
static void push_end(struct step_run *run, const uint32_t *stale_before, struct step_tail *tail)
{
    const uint32_t stages = run->load->work->shape.stages, devices = sim_count_devices(run);
    push_tied(run, tail);
    tail->barrier = ENGINE_NO_TASK;
    for (uint32_t device = 0; device < devices; device++) {
        tail->barrier = emit_join(&run->emit, tail->barrier, tail->tied_end[device]);
    }
    push_norm(run, tail);
    tail->all_updated = tail->normed;
    for (uint32_t device = 0; device < devices; device++) {
        sim_turn_to(run, device % stages, device / stages);
        run->emit.cursor = tail->normed;
        emit_delay(&run->emit, SIM_UPDATE, update_s(run, device % stages));
        tail->updated[device] = run->emit.cursor;
        tail->all_updated = emit_join(&run->emit, tail->all_updated, run->emit.cursor);
        if (stale_before != NULL) {
            tail->all_updated = emit_join(&run->emit, tail->all_updated, stale_before[device]);
        }
    }
    sim_turn_to(run, 0, 0);
    run->emit.cursor = tail->all_updated;
    emit_delay(&run->emit, SIM_OVERHEAD, runtime_of(run)->step_overhead_s);
    tail->end = run->emit.cursor;
}

static void make_tail(struct step_run *run, struct step_tail *tail)
{
    const uint32_t devices = sim_count_devices(run);
    uint32_t *const rows = ARENA_PUSH(run->arena, uint32_t, (size_t)6 * devices);
    tail->pipeline = rows;
    tail->summed = rows + devices;
    tail->tied_start = rows + (size_t)2 * devices;
    tail->tied_end = rows + (size_t)3 * devices;
    tail->updated = rows + (size_t)4 * devices;
    tail->stale = rows + (size_t)5 * devices;
}

static void read_end(const struct step_run *run, const struct step_tail *tail, uint32_t begin,
                     struct step_end *out)
{
    const struct engine *engine = &run->engine;
    out->start_s = engine_find_end_s(engine, begin);
    out->barrier_s = engine_find_end_s(engine, tail->barrier);
    out->normed_s = engine_find_end_s(engine, tail->normed);
    out->updated_s = engine_find_end_s(engine, tail->all_updated);
    out->end_s = engine_find_end_s(engine, tail->end);
    for (uint32_t device = 0; device < sim_count_devices(run); device++) {
        out->stages[device] = (struct stage_end){
            .pipeline_s = engine_find_end_s(engine, tail->pipeline[device]),
            .summed_s = engine_find_end_s(engine, tail->summed[device]),
            .tied_start_s = engine_find_end_s(engine, tail->tied_start[device]),
            .tied_end_s = engine_find_end_s(engine, tail->tied_end[device]),
            .update_s = engine_find_end_s(engine, tail->updated[device]) - out->normed_s};
    }
}

bool sim_run_steps(struct step_run *run, struct diag *diag)
{
    struct step_tail *tails = ARENA_PUSH(run->arena, struct step_tail, run->step_count);
    assert(run->step_count > run->warm_steps);
    sim_turn_to(run, 0, 0);
    uint32_t *begins = ARENA_PUSH(run->arena, uint32_t, run->step_count);
    uint32_t begin =
        engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_COMPUTE, NULL), 0.0);
    for (uint32_t step = 0; step < run->step_count; step++) {
        make_tail(run, &tails[step]);
        begins[step] = begin;
        for (uint32_t stage = 0; stage < run->load->work->shape.stages; stage++) {
            open_meet(run);
            for (uint32_t lane = 0; lane < run->lanes; lane++) {
                sim_turn_to(run, stage, lane);
                sim_push_stage(run, step, stage, begin, &tails[step]);
            }
        }
        for (uint32_t lane = 0; lane < run->lanes; lane++) {
            join_slots(run, step, lane);
        }
        push_end(run, step == 0 ? NULL : tails[step - 1].stale, &tails[step]);
        begin = tails[step].end;
    }
    run->last_task = begin;
    if (!engine_run(&run->engine, diag)) {
        return false;
    }
    for (uint32_t step = 0; step < run->step_count; step++) {
        read_end(run, &tails[step], begins[step], &run->ends[step]);
    }
    return true;
}
