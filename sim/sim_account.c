/* What each second of a stage went to, read off the instants at which its tasks started or
 * ended. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "sim/sim_inside.h"

/* One stage in one step, from its start to its end without a gap: every stretch is charged once. */
struct walk {
    const struct step_run *run;
    uint32_t step, stage, lane;
    double at_s; /* all before is charged */
    double *cost_s;
};

static void charge(struct walk *walk, uint32_t cost, double until_s)
{
    assert(cost < COST_COUNT);
    if (until_s > walk->at_s) {
        walk->cost_s[cost] += until_s - walk->at_s;
        walk->at_s = until_s;
    }
}

static double start_s(const struct step_run *run, uint32_t task)
{
    return world_find_s(&run->engine.world, engine_find_start(&run->engine, task));
}

static double end_s(const struct step_run *run, uint32_t task)
{
    return engine_find_end_s(&run->engine, task);
}

static const struct slot_tasks *tasks_of(const struct walk *walk, uint32_t slot)
{
    return &sim_find_tasks(walk->run, walk->step, walk->lane)[slot];
}

/* Before a slot: idle until its input is sent, then waiting for it to arrive. */
static void charge_wait(struct walk *walk, uint32_t slot)
{
    const struct step_run *run = walk->run;
    const double begins_s = start_s(run, tasks_of(walk, slot)->entry);
    const uint32_t source = run->slots.source[slot];
    if (source != SLOT_NONE && tasks_of(walk, source)->send != ENGINE_NO_TASK) {
        const uint32_t send = tasks_of(walk, source)->send;
        const double sent_s = start_s(run, send), arrived_s = end_s(run, send);
        charge(walk, COST_BUBBLE, sent_s < begins_s ? sent_s : begins_s);
        charge(walk, COST_DIM + run->load->work->send.dim,
               arrived_s < begins_s ? arrived_s : begins_s);
    }
    charge(walk, COST_BUBBLE, begins_s);
}

static void charge_segments(struct walk *walk, const struct slot_tasks *tasks)
{
    for (uint32_t i = 0; i < tasks->segment_count; i++) {
        const struct emit_segment *segment = &walk->run->emit.segments[tasks->first_segment + i];
        const double ends_s = end_s(walk->run, segment->task);
        if (segment->dim == NO_INDEX) {
            charge(walk, segment->cost, ends_s);
            continue;
        }
        const double kernel_end_s = walk->at_s + segment->kernel_s;
        charge(walk, segment->cost, kernel_end_s < ends_s ? kernel_end_s : ends_s);
        charge(walk, COST_DIM + segment->dim, ends_s);
    }
}

/* Seconds of a slot by cost as its pieces say. */
static double find_costs(const struct step_run *run, uint32_t slot, double cost_s[COST_COUNT])
{
    const enum slot_kind kind = slots_find(&run->slots, slot)->kind;
    const uint32_t *counts = sim_find_counts(run->load, run->slots.model_chunk[slot]);
    double sum = 0.0;
    const struct piece *pieces = estimator_pieces(run->load, run->slots.stage[slot]);
    memset(cost_s, 0, COST_COUNT * sizeof *cost_s);
    for (uint32_t block = 0; block < run->load->work->block_count; block++) {
        const struct piece *piece = &pieces[block];
        const double *lasted_s = kind == SLOT_FORWARD ? piece->forward_s : piece->backward_s;
        const double part_s = kind == SLOT_WEIGHT_GRADIENT ? piece->weight_s
                              : kind == SLOT_INPUT_GRADIENT
                                  ? piece->backward_total_s - piece->weight_s
                              : kind == SLOT_FORWARD ? piece->forward_total_s
                                                     : piece->backward_total_s;
        const double all_s =
            kind == SLOT_FORWARD ? piece->forward_total_s : piece->backward_total_s;
        for (uint32_t c = 0; c < COST_COUNT && counts[block] > 0 && all_s > 0.0; c++) {
            cost_s[c] += lasted_s[c] * (part_s / all_s) * (double)counts[block];
            sum += lasted_s[c] * (part_s / all_s) * (double)counts[block];
        }
    }
    return sum;
}

/* A slot as one task: by its pieces; what it lasted longer than they say it waited for gathers. */
static void charge_pieces(struct walk *walk, uint32_t slot, const struct slot_tasks *tasks)
{
    double cost_s[COST_COUNT];
    const double sum_s = find_costs(walk->run, slot, cost_s) * tasks->kernel_factor;
    const double ends_s = end_s(walk->run, tasks->exit), from_s = walk->at_s;
    const double lasted_s = ends_s - from_s;
    const double scale = sum_s > lasted_s ? lasted_s / sum_s : 1.0;
    for (uint32_t c = 0; c < COST_COUNT; c++) {
        const double until_s = walk->at_s + cost_s[c] * tasks->kernel_factor * scale;
        charge(walk, c, until_s < ends_s ? until_s : ends_s);
    }
    /* what rounding left is the kernels' */
    const bool waited = lasted_s - sum_s > 1e-9 * lasted_s + 1e-12;
    charge(walk, waited ? COST_DIM + walk->run->exchange_dim : COST_COMPUTE, ends_s);
}

static void charge_slots(struct walk *walk)
{
    const struct step_run *run = walk->run;
    const struct work *work = run->load->work;
    const bool blocks = runtime_send_blocks(work->problem->setup->runtime, work->shape.chunks);
    for (uint32_t slot = run->slots.first_of_stage[walk->stage];
         slot <= slots_find_last(&run->slots, walk->stage); slot++) {
        const struct slot_tasks *tasks = tasks_of(walk, slot);
        charge_wait(walk, slot);
        if (run->sim->options.granularity == SIM_SLOTS) {
            charge_pieces(walk, slot, tasks);
        } else {
            charge_segments(walk, tasks);
        }
        const bool is_last = slot == slots_find_last(&run->slots, walk->stage);
        const bool ends = run->slots.ends[slot] == slot; /* a pair sends as it ends */
        for (uint32_t made = run->slots.begins[slot]; blocks && ends && !is_last && made <= slot;
             made++) {
            const uint32_t send = tasks_of(walk, made)->send;
            if (send != ENGINE_NO_TASK) {
                charge(walk, COST_DIM + run->load->work->send.dim, end_s(run, send));
            }
        }
    }
}

/* Of the update's time. */
static double find_copies_frac(const struct walk *walk)
{
    const struct stage_sums sums = estimator_sum_stage(walk->run->load, walk->stage);
    return sums.update_copy_s > 0.0 ? sums.update_copy_s / sums.update_s : 0.0;
}

static void charge_end(struct walk *walk)
{
    const struct work *work = walk->run->load->work;
    const struct step_end *end = &walk->run->ends[walk->step];
    const struct stage_end *own = &end->stages[sim_find_device(walk->run, walk->stage, walk->lane)];
    charge(walk, COST_DIM + walk->run->exchange_dim, own->summed_s);
    charge(walk, COST_BUBBLE, own->tied_start_s);
    charge(walk, COST_DIM + work->tied.dim, own->tied_end_s);
    charge(walk, COST_BUBBLE, end->barrier_s);
    charge(walk, COST_DIM + work->norm.dim, end->normed_s);
    const double updated_s = end->normed_s + own->update_s;
    charge(walk, COST_OPTIMIZER, updated_s - own->update_s * find_copies_frac(walk));
    charge(walk, COST_HOST, updated_s);
    charge(walk, COST_BUBBLE, end->updated_s);
    charge(walk, COST_OVERHEAD, end->end_s);
}

static double find_busy(const struct walk *walk)
{
    const struct step_run *run = walk->run;
    double busy_s = 0.0;
    for (uint32_t slot = run->slots.first_of_stage[walk->stage];
         slot <= slots_find_last(&run->slots, walk->stage); slot++) {
        const struct slot_tasks *tasks = tasks_of(walk, slot);
        busy_s += end_s(run, tasks->exit) - start_s(run, tasks->entry);
    }
    return busy_s;
}

/* When the last device has run its slots. */
static double find_pipeline_end(const struct step_run *run, uint32_t step)
{
    double last_s = 0.0;
    for (uint32_t device = 0; device < sim_count_devices(run); device++) {
        last_s = number_larger(last_s, run->ends[step].stages[device].pipeline_s);
    }
    return last_s;
}

/* One rank of the stage. */
static void account_lane(const struct step_run *run, uint32_t stage, uint32_t lane,
                         struct stage_estimate *row, struct sim_stage *own)
{
    const double steps = run->step_count - run->warm_steps;
    double run_s = 0.0, pipeline_s = 0.0;
    for (uint32_t step = run->warm_steps; step < run->step_count; step++) {
        struct walk walk = {.run = run,
                            .step = step,
                            .stage = stage,
                            .lane = lane,
                            .at_s = run->ends[step].start_s,
                            .cost_s = row->cost_s};
        charge_slots(&walk);
        charge_end(&walk);
        assert(walk.at_s == run->ends[step].end_s);
        run_s += find_busy(&walk);
        pipeline_s += find_pipeline_end(run, step) - run->ends[step].start_s;
    }
    for (uint32_t c = 0; c < COST_COUNT; c++) {
        row->cost_s[c] /= steps;
    }
    row->busy_s = run_s / steps;
    own->busy_s = row->cost_s[COST_COMPUTE] + row->cost_s[COST_RECOMPUTE];
    own->idle_frac = pipeline_s > 0.0 ? 1.0 - run_s / pipeline_s : 0.0;
    const struct slot_tasks *tasks = sim_find_tasks(run, run->warm_steps, lane);
    own->start_s = start_s(run, tasks[run->slots.first_of_stage[stage]].entry);
    own->end_s = end_s(run, tasks[slots_find_last(&run->slots, stage)].exit);
}

/* Of its ranks the one that idles least stands for the stage: the others wait for it. */
static void account_stage(const struct step_run *run, uint32_t stage, struct sim_result *out)
{
    struct stage_estimate *row = &out->estimate.stages[stage];
    const struct stage_sums sums = estimator_sum_stage(run->load, stage);
    account_lane(run, stage, 0, row, &out->stages[stage]);
    row->host_copy_s = sums.copy_s * run->load->work->shape.micro_batches + sums.update_copy_s;
    for (uint32_t lane = 1; lane < run->lanes; lane++) {
        struct stage_estimate other;
        struct sim_stage moment = out->stages[stage];
        memset(&other, 0, sizeof other);
        account_lane(run, stage, lane, &other, &moment);
        if (other.cost_s[COST_BUBBLE] < row->cost_s[COST_BUBBLE]) {
            memcpy(row->cost_s, other.cost_s, sizeof row->cost_s);
            row->busy_s = other.busy_s;
            out->stages[stage] = moment;
        }
    }
}

void sim_account(const struct step_run *run, struct sim_result *out)
{
    struct estimate *estimate = &out->estimate;
    const uint32_t stages = run->load->work->shape.stages;
    double least_idle_s = 0.0;
    estimate->step_s = (run->ends[run->step_count - 1].end_s - run->ends[run->warm_steps].start_s) /
                       (double)(run->step_count - run->warm_steps);
    out->bubble_frac = 0.0;
    for (uint32_t stage = 0; stage < stages; stage++) {
        account_stage(run, stage, out);
        const double idle_s = estimate->stages[stage].cost_s[COST_BUBBLE];
        if (stage == 0 || idle_s < least_idle_s) {
            least_idle_s = idle_s;
            estimate->slowest_stage = stage;
        }
        out->bubble_frac += out->stages[stage].idle_frac / (double)stages;
    }
}
