/* Steps one after another: all stages, then everybody's gradients, the update, the overhead. */
#include <assert.h>
#include <string.h>

#include "sim/sim_inside.h"

static const struct runtime *runtime_of(const struct step_run *run)
{
    return run->load->work->problem->setup->runtime;
}

static void join_slots(struct step_run *run, uint32_t step)
{
    struct slot_tasks *tasks = &run->tasks[(size_t)step * run->slots.count];
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

static void push_tied(struct step_run *run, struct step_tail *tail)
{
    const struct work *work = run->load->work;
    const uint32_t stages = work->shape.stages;
    memcpy(tail->tied_start, tail->summed, stages * sizeof *tail->summed);
    memcpy(tail->tied_end, tail->summed, stages * sizeof *tail->summed);
    if (work->tied.bytes == 0.0 || stages == 1) {
        return;
    }
    const struct script_place place = {run->sim->book, run->sim->prices, work, 0};
    const struct move move = script_find_move(&place, &work->tied);
    const uint32_t both = emit_join(&run->emit, tail->summed[0], tail->summed[stages - 1]);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t stage = i == 0 ? 0 : stages - 1;
        run->emit.device = stage;
        sim_draw_messages(run);
        tail->tied_start[stage] = run->sim->options.arrival ? both : tail->summed[stage];
        tail->tied_end[stage] =
            emit_move(&run->emit, EMIT_DATA, &move, 1.0, tail->tied_start[stage]);
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
                                         work->norm.bytes};
    const struct lump_list *lumps = lump_find(run->sim->book, &request);
    return (struct move){lumps, 1.0, lumps->seconds, &work->norm};
}

/* Everybody's gradients, the norm, updates, then the overhead of a step. */
static void push_end(struct step_run *run, const uint32_t *stale_before, struct step_tail *tail)
{
    const struct work *work = run->load->work;
    push_tied(run, tail);
    tail->barrier = ENGINE_NO_TASK;
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        tail->barrier = emit_join(&run->emit, tail->barrier, tail->tied_end[stage]);
    }
    run->emit.device = 0;
    tail->normed = tail->barrier;
    if (work->norm.bytes > 0.0) {
        const struct move move = find_norm(run);
        sim_draw_messages(run);
        tail->normed = emit_move(&run->emit, EMIT_DATA, &move, 1.0, tail->barrier);
    }
    tail->all_updated = tail->normed;
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        run->emit.device = stage;
        run->emit.cursor = tail->normed;
        emit_delay(&run->emit, SIM_UPDATE, update_s(run, stage));
        tail->updated[stage] = run->emit.cursor;
        tail->all_updated = emit_join(&run->emit, tail->all_updated, run->emit.cursor);
        if (stale_before != NULL) {
            tail->all_updated = emit_join(&run->emit, tail->all_updated, stale_before[stage]);
        }
    }
    run->emit.device = 0;
    run->emit.cursor = tail->all_updated;
    emit_delay(&run->emit, SIM_OVERHEAD, runtime_of(run)->step_overhead_s);
    tail->end = run->emit.cursor;
}

static void make_tail(struct step_run *run, struct step_tail *tail)
{
    const uint32_t stages = run->load->work->shape.stages;
    uint32_t *const rows = ARENA_PUSH(run->arena, uint32_t, (size_t)6 * stages);
    tail->pipeline = rows;
    tail->summed = rows + stages;
    tail->tied_start = rows + (size_t)2 * stages;
    tail->tied_end = rows + (size_t)3 * stages;
    tail->updated = rows + (size_t)4 * stages;
    tail->stale = rows + (size_t)5 * stages;
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
    for (uint32_t stage = 0; stage < run->load->work->shape.stages; stage++) {
        out->stages[stage] = (struct stage_end){
            .pipeline_s = engine_find_end_s(engine, tail->pipeline[stage]),
            .summed_s = engine_find_end_s(engine, tail->summed[stage]),
            .tied_start_s = engine_find_end_s(engine, tail->tied_start[stage]),
            .tied_end_s = engine_find_end_s(engine, tail->tied_end[stage]),
            .update_s = engine_find_end_s(engine, tail->updated[stage]) - out->normed_s};
    }
}

bool sim_run_steps(struct step_run *run, struct diag *diag)
{
    struct step_tail *tails = ARENA_PUSH(run->arena, struct step_tail, run->step_count);
    assert(run->step_count > run->warm_steps);
    run->emit.device = 0;
    uint32_t *begins = ARENA_PUSH(run->arena, uint32_t, run->step_count);
    uint32_t begin =
        engine_push_delay(&run->engine, emit_label(&run->emit, EMIT_COMPUTE, NULL), 0.0);
    for (uint32_t step = 0; step < run->step_count; step++) {
        make_tail(run, &tails[step]);
        begins[step] = begin;
        for (uint32_t stage = 0; stage < run->load->work->shape.stages; stage++) {
            sim_push_stage(run, step, stage, begin, &tails[step]);
        }
        join_slots(run, step);
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
