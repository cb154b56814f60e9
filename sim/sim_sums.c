/* How a step ends when gradients are summed as if a whole backward ended each chunk: a second,
 * smaller run. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "sim/sim_inside.h"

static double slot_end_s(const struct step_run *run, uint32_t slot)
{
    return engine_find_end_s(&run->engine, run->tasks[slot].exit);
}

/* Sums of one chunk, last layer first, each not before its layer's share of the backward is
 * over. */
static void push_chunk(const struct step_run *run, struct engine *engine, uint32_t chunk,
                       uint32_t *last)
{
    const uint32_t stage = run->slots.stage[run->slots.last_backward[chunk]];
    const struct piece *pieces = estimator_pieces(run->load, stage);
    const uint32_t *counts = sim_find_counts(run->load, chunk);
    double ready_s = slot_end_s(run, run->slots.last_backward[chunk]);
    for (uint32_t block = 0; block < run->load->work->block_count; block++) {
        ready_s -= pieces[block].backward_total_s * (double)counts[block];
    }
    for (uint32_t i = run->order_count; i-- > 0;) {
        const struct piece *piece = &pieces[run->order[i]];
        for (uint32_t k = 0; k < counts[run->order[i]]; k++) {
            ready_s += piece->backward_total_s;
            const uint32_t task =
                engine_push_delay(engine, (struct engine_label){.name = "sum"}, piece->sync_s);
            engine_push_release(engine, task, number_larger(ready_s, 0.0));
            engine_place(engine, last, task);
        }
    }
}

/* Chunks of a stage in the order in which their gradients are whole. */
static uint32_t push_stage(const struct step_run *run, struct engine *engine, uint32_t stage)
{
    uint32_t last = ENGINE_NO_TASK;
    const uint32_t first = run->slots.first_of_stage[stage];
    for (uint32_t slot = first; slot <= slots_find_last(&run->slots, stage); slot++) {
        const uint32_t chunk = run->slots.model_chunk[slot];
        if (run->slots.last_backward[chunk] == slot) {
            push_chunk(run, engine, chunk, &last);
        }
    }
    return last;
}

static bool find_summed(const struct step_run *run, struct step_end *end, struct diag *diag)
{
    const struct work *work = run->load->work;
    uint32_t *last = ARENA_PUSH(run->arena, uint32_t, work->shape.stages);
    struct engine engine;
    engine_init(&engine, run->engine.world.ticks_per_s, run->arena);
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        end->stages[stage].pipeline_s = slot_end_s(run, slots_find_last(&run->slots, stage));
        last[stage] = push_stage(run, &engine, stage);
    }
    if (!engine_run(&engine, diag)) {
        return false;
    }
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        struct stage_end *own = &end->stages[stage];
        own->summed_s = own->pipeline_s + estimator_sum_stage(run->load, stage).sync_s;
        if (work->problem->setup->runtime->overlaps_gradient_reduce) {
            const double sums_s =
                last[stage] == ENGINE_NO_TASK ? 0.0 : engine_find_end_s(&engine, last[stage]);
            own->summed_s = number_larger(own->pipeline_s, sums_s);
        }
    }
    return true;
}

static void add_tied(const struct step_run *run, struct step_end *end)
{
    const uint32_t stages = run->load->work->shape.stages;
    const double both_s = number_larger(end->stages[0].summed_s, end->stages[stages - 1].summed_s);
    for (uint32_t stage = 0; stage < stages; stage++) {
        struct stage_end *own = &end->stages[stage];
        const bool is_end = (stage == 0 || stage + 1 == stages) && run->load->tied_s > 0.0;
        own->tied_start_s = is_end && run->sim->options.arrival ? both_s : own->summed_s;
        own->tied_end_s = own->tied_start_s + (is_end ? run->load->tied_s : 0.0);
    }
}

bool sim_run_sums(struct step_run *run, struct diag *diag)
{
    assert(run->step_count == 1);
    struct step_end *end = &run->ends[0];
    const struct work *work = run->load->work;
    double update_s = 0.0, stale_s = 0.0;
    end->start_s = end->barrier_s = 0.0;
    if (!find_summed(run, end, diag)) {
        return false;
    }
    add_tied(run, end);
    for (uint32_t stage = 0; stage < work->shape.stages; stage++) {
        const struct stage_sums sums = estimator_sum_stage(run->load, stage);
        end->stages[stage].update_s = sums.update_s;
        end->barrier_s = number_larger(end->barrier_s, end->stages[stage].tied_end_s);
        update_s = number_larger(update_s, end->stages[stage].update_s);
        stale_s = number_larger(stale_s, sums.stale_s);
    }
    end->normed_s = end->barrier_s + run->load->norm_s;
    end->updated_s = number_larger(end->normed_s + update_s, stale_s);
    end->end_s = end->updated_s + work->problem->setup->runtime->step_overhead_s;
    return true;
}
