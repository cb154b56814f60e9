/* The longest path through the slots of a step, in one sweep over them. */
#include "costmodel/replay.h"

#include <assert.h>
#include <string.h>

#include "costmodel/replay_inside.h"
#include "plan/boundary.h"

size_t replay_count_scratch(const struct replay_plan *plan)
{
    size_t doubles = (size_t)3 * plan->step_count + (size_t)3 * plan->shape.stages +
                     (size_t)2 * plan->chunk_count + (size_t)BOUNDARY_LINES * plan->shape.stages;
    return doubles * sizeof(double) +
           (size_t)COST_KINDS * plan->chunk_count * sizeof(struct replay_cost) +
           (1 + BOUNDARY_LINKS) * plan->shape.stages * sizeof(uint32_t);
}

static double read_time(const double *times_s, uint32_t chunk)
{
    return times_s == NULL ? 0 : times_s[chunk];
}

double replay_slot_time(const struct replay_times *times, enum slot_kind kind, uint32_t chunk)
{
    switch (kind) {
    case SLOT_FORWARD: return times->forward_s[chunk];
    case SLOT_BACKWARD: return times->backward_s[chunk];
    case SLOT_INPUT_GRADIENT:
        return times->input_s == NULL ? times->backward_s[chunk] : times->input_s[chunk];
    case SLOT_WEIGHT_GRADIENT: return read_time(times->weight_s, chunk);
    case SLOT_KIND_COUNT: break;
    }
    return 0;
}

bool replay_crosses(const struct replay_plan *plan, uint32_t chunk)
{
    return (chunk + 1) % plan->chain_length != 0 &&
           plan->chunk_stage[chunk] != plan->chunk_stage[chunk + 1];
}

/* Transfers after a forward of model chunk `chunk`, and after a backward. */
static double send_after(const struct replay_plan *plan, const struct replay_times *times,
                         enum slot_kind kind, uint32_t chunk)
{
    if (kind == SLOT_FORWARD) {
        return replay_crosses(plan, chunk) ? read_time(times->send_s, chunk) : 0;
    }
    bool sends = kind != SLOT_WEIGHT_GRADIENT && chunk > 0 && replay_crosses(plan, chunk - 1);
    return sends ? read_time(times->send_back_s, chunk - 1) : 0;
}

/* Transfers before it. */
static double send_before(const struct replay_plan *plan, const struct replay_times *times,
                          enum slot_kind kind, uint32_t chunk)
{
    if (kind == SLOT_FORWARD) {
        return chunk > 0 ? send_after(plan, times, kind, chunk - 1) : 0;
    }
    bool receives = kind != SLOT_WEIGHT_GRADIENT && chunk + 1 < plan->chunk_count;
    return receives ? send_after(plan, times, kind, chunk + 1) : 0;
}

static double pair_frac(const struct replay_times *times)
{
    return times->pair_frac == 0 ? 1 : times->pair_frac;
}

/* The arrivals of a pair's slots are waited for in steps of their own, so the slots have none. */
static void price_pairs(const struct replay_plan *plan, const struct replay_times *times,
                        struct replay_cost *costs)
{
    for (uint32_t chunk = 0; chunk < plan->chunk_count; chunk++) {
        for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
            struct replay_cost *cost = &costs[(COST_PAIRED + kind) * plan->chunk_count + chunk];
            *cost = (struct replay_cost){0};
            if (plan->pair_counts[kind][chunk] > 0) {
                cost->duration_s = pair_frac(times) * replay_slot_time(times, kind, chunk) +
                                   (times->send_blocks ? send_after(plan, times, kind, chunk) : 0);
            }
        }
        costs[COST_AWAIT_FORWARD * plan->chunk_count + chunk] = (struct replay_cost){
            .delay_s = times->send_blocks ? 0 : send_before(plan, times, SLOT_FORWARD, chunk)};
        costs[COST_AWAIT_BACKWARD * plan->chunk_count + chunk] = (struct replay_cost){
            .delay_s = times->send_blocks ? 0 : send_before(plan, times, SLOT_BACKWARD, chunk)};
        costs[COST_MADE * plan->chunk_count + chunk] = (struct replay_cost){0};
    }
}

/* A blocking sender holds its stage for the transfer: it ends later, and arrives as it ends. */
static void price_steps(const struct replay_plan *plan, const struct replay_times *times,
                        struct replay_cost *costs)
{
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        for (uint32_t chunk = 0; chunk < plan->chunk_count; chunk++) {
            double own_s =
                plan->slot_counts[kind][chunk] == 0 ? 0 : replay_slot_time(times, kind, chunk);
            assert(own_s >= 0);
            costs[kind * plan->chunk_count + chunk] = (struct replay_cost){
                .delay_s = times->send_blocks ? 0 : send_before(plan, times, kind, chunk),
                .duration_s =
                    own_s + (times->send_blocks ? send_after(plan, times, kind, chunk) : 0),
            };
        }
    }
    if (plan->has_pairs) {
        price_pairs(plan, times, costs);
    }
    for (uint32_t chunk = 0; chunk < plan->chunk_count; chunk++) {
        costs[COST_RELEASE * plan->chunk_count + chunk] =
            (struct replay_cost){.delay_s = read_time(times->release_s, chunk)};
    }
}

/* Seconds between two transfers of a stage at least: it makes them. */
static double find_gap(const struct replay_plan *plan, const struct replay_times *times)
{
    double least_s = -1;
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        for (uint32_t chunk = 0; chunk < plan->chunk_count && kind != SLOT_WEIGHT_GRADIENT;
             chunk++) {
            if (plan->slot_counts[kind][chunk] > 0) {
                const double own_s = replay_slot_time(times, (enum slot_kind)kind, chunk);
                least_s = least_s < 0 || own_s < least_s ? own_s : least_s;
            }
        }
    }
    return plan->has_pairs && pair_frac(times) < 1 ? pair_frac(times) * least_s : least_s;
}

/* Links that are faster than what they carry is made never make anybody wait. */
static bool may_queue(const struct replay_plan *plan, const struct replay_times *times)
{
    double most_s = 0;
    if (times->queue_s == NULL || times->send_blocks) {
        return false;
    }
    for (uint32_t i = 0; i + 1 < plan->chunk_count; i++) {
        most_s = replay_crosses(plan, i) && times->queue_s[i] > most_s ? times->queue_s[i] : most_s;
    }
    return most_s > 0 &&
           (most_s > find_gap(plan, times) || plan->pairs_share || times->lines != NULL);
}

struct replay_scratch replay_find_scratch(const struct replay_plan *plan,
                                          const struct replay_times *times, void *memory)
{
    struct replay_scratch scratch = {.costs = memory};
    scratch.end_s = (double *)(scratch.costs + (size_t)COST_KINDS * plan->chunk_count);
    scratch.busy_s = scratch.end_s + plan->step_count;
    scratch.start_s = scratch.busy_s + plan->shape.stages;
    scratch.stage_end_s = scratch.start_s + plan->shape.stages;
    scratch.chunk_start_s = scratch.stage_end_s + plan->shape.stages;
    scratch.chunk_end_s = scratch.chunk_start_s + plan->chunk_count;
    scratch.free_s = scratch.chunk_end_s + plan->chunk_count;
    double *const sent_s = scratch.free_s + (size_t)BOUNDARY_LINES * plan->shape.stages;
    scratch.begun_s = sent_s + plan->step_count;
    scratch.at = (uint32_t *)(scratch.begun_s + plan->step_count);
    scratch.waiting = scratch.at + plan->shape.stages;
    scratch.sent_s = may_queue(plan, times) ? sent_s : scratch.end_s;
    return scratch;
}

static double find_end(const struct replay_plan *plan, const struct replay_scratch *scratch,
                       uint32_t step)
{
    return replay_find_start(scratch, plan, step) +
           scratch->costs[plan->steps[step].cost].duration_s;
}

/* The line kept for the step's transfer from from_s on, or as soon as it is free: when that is. */
static double take_line(const struct replay_plan *plan, const struct replay_times *times,
                        const struct replay_scratch *scratch, uint32_t step, double from_s,
                        uint32_t line)
{
    double *const free_s = &scratch->free_s[line];
    const double begin_s = *free_s > from_s ? *free_s : from_s;
    *free_s = begin_s + times->queue_s[plan->sends[step] % plan->chunk_count];
    return begin_s;
}

/* --- links that share lines ------------------------------------------------------------------- */

/* The step is made: its transfer takes the first line, then waits for the second, if there is one
 * more. */
static void begin_send(const struct replay_plan *plan, const struct replay_times *times,
                       const struct replay_scratch *scratch, uint32_t step)
{
    const uint32_t link = plan->links[plan->sends[step]];
    const uint32_t *lines = &times->lines[2 * link];
    const double begin_s = take_line(plan, times, scratch, step, scratch->end_s[step], lines[0]);
    if (lines[0] == lines[1]) {
        scratch->sent_s[step] = begin_s;
        return;
    }
    scratch->begun_s[step] = begin_s;
    scratch->waiting[link] = scratch->waiting[link] == 0 ? step : scratch->waiting[link];
}

/* The first that waits on the link takes its second line; the next that has begun waits then. */
static void end_wait(const struct replay_plan *plan, const struct replay_times *times,
                     const struct replay_scratch *scratch, uint32_t link)
{
    uint32_t step = scratch->waiting[link];
    scratch->sent_s[step] =
        take_line(plan, times, scratch, step, scratch->begun_s[step], times->lines[2 * link + 1]);
    do {
        step = plan->next[step];
    } while (step != 0 && scratch->end_s[step] >= 0 &&
             !(replay_sends(plan, times, step) && plan->links[plan->sends[step]] == link));
    scratch->waiting[link] = step != 0 && scratch->end_s[step] >= 0 ? step : 0;
}

/* What comes next: the end of a step (its stage), or a wait for a line (stages + its link). */
static uint32_t find_soonest(const struct replay_plan *plan, const struct replay_scratch *scratch)
{
    const uint32_t stages = plan->shape.stages;
    uint32_t soonest = stages;
    double soonest_s = -1;
    for (uint32_t stage = 0; stage < stages; stage++) {
        const uint32_t step = scratch->at[stage];
        if (step == 0 || scratch->sent_s[plan->steps[step].source] < 0) {
            continue;
        }
        const double end_s = find_end(plan, scratch, step);
        soonest = soonest_s < 0 || end_s < soonest_s ? stage : soonest;
        soonest_s = soonest == stage ? end_s : soonest_s;
    }
    for (uint32_t link = 0; link < BOUNDARY_LINKS * stages; link++) {
        const uint32_t step = scratch->waiting[link];
        if (step != 0 && (soonest_s < 0 || scratch->begun_s[step] <= soonest_s)) {
            soonest = stages + link;
            soonest_s = scratch->begun_s[step];
        }
    }
    assert(soonest_s >= 0);
    return soonest;
}

/* Step by step in the order in which they end, so that lines carry what comes first. */
static void sweep_lines(const struct replay_plan *plan, const struct replay_times *times,
                        const struct replay_scratch *scratch)
{
    const uint32_t stages = plan->shape.stages;
    uint32_t left = plan->step_count - 1;
    memcpy(scratch->at, plan->stage_first, stages * sizeof *scratch->at);
    memset(scratch->waiting, 0, BOUNDARY_LINKS * stages * sizeof *scratch->waiting);
    for (uint32_t i = 1; i < plan->step_count; i++) {
        scratch->sent_s[i] = scratch->end_s[i] = -1;
    }
    while (left > 0) {
        const uint32_t soonest = find_soonest(plan, scratch);
        if (soonest >= stages) {
            end_wait(plan, times, scratch, soonest - stages);
            continue;
        }
        const uint32_t step = scratch->at[soonest];
        scratch->at[soonest] = plan->next[step];
        scratch->end_s[step] = find_end(plan, scratch, step);
        if (replay_sends(plan, times, step)) {
            begin_send(plan, times, scratch, step);
        } else {
            scratch->sent_s[step] = scratch->end_s[step];
        }
        left--;
    }
}

/* --- all -------------------------------------------------------------------------------------- */

static void sweep_links(const struct replay_plan *plan, const struct replay_times *times,
                        const struct replay_scratch *scratch)
{
    for (uint32_t i = 1; i < plan->step_count; i++) {
        scratch->sent_s[i] = scratch->end_s[i] = find_end(plan, scratch, i);
        if (replay_sends(plan, times, i)) {
            scratch->sent_s[i] =
                take_line(plan, times, scratch, i, scratch->end_s[i], plan->links[plan->sends[i]]);
        }
    }
}

static void sweep_queues(const struct replay_plan *plan, const struct replay_times *times,
                         const struct replay_scratch *scratch)
{
    for (uint32_t i = 0; i < BOUNDARY_LINES * plan->shape.stages; i++) {
        scratch->free_s[i] = 0;
    }
    scratch->sent_s[0] = 0;
    if (times->lines == NULL) {
        sweep_links(plan, times, scratch);
    } else {
        sweep_lines(plan, times, scratch);
    }
}

void replay_sweep(const struct replay_plan *plan, const struct replay_times *times,
                  const struct replay_scratch *scratch)
{
    price_steps(plan, times, scratch->costs);
    scratch->end_s[0] = 0;
    if (scratch->sent_s != scratch->end_s) {
        sweep_queues(plan, times, scratch);
        return;
    }
    for (uint32_t i = 1; i < plan->step_count; i++) {
        scratch->end_s[i] = find_end(plan, scratch, i);
    }
}

/* End of the step's own work, without a transfer that blocks its stage behind it. */
static double find_own_end(const struct replay_plan *plan, const struct replay_times *times,
                           const struct replay_scratch *scratch, uint32_t step)
{
    uint32_t cost = plan->steps[step].cost;
    double share = cost / plan->chunk_count >= COST_PAIRED ? pair_frac(times) : 1;
    return replay_find_start(scratch, plan, step) +
           share * replay_slot_time(times, replay_step_kind(plan, cost), cost % plan->chunk_count);
}

static void collect_chunks(const struct replay_plan *plan, const struct replay_times *times,
                           const struct replay_scratch *scratch)
{
    for (uint32_t stage = 0; stage < plan->shape.stages; stage++) {
        scratch->busy_s[stage] = 0;
        scratch->start_s[stage] = -1;
    }
    for (uint32_t chunk = 0; chunk < plan->chunk_count; chunk++) {
        uint32_t stage = plan->chunk_stage[chunk];
        double start_s = replay_find_start(scratch, plan, plan->chunk_first[chunk]);
        scratch->chunk_start_s[chunk] = start_s;
        scratch->chunk_end_s[chunk] = find_own_end(plan, times, scratch, plan->chunk_last[chunk]);
        if (scratch->start_s[stage] < 0 || start_s < scratch->start_s[stage]) {
            scratch->start_s[stage] = start_s;
        }
        for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
            uint32_t count = plan->slot_counts[kind][chunk];
            uint32_t pairs = plan->pair_counts[kind][chunk];
            double slot_s = count == 0 ? 0 : replay_slot_time(times, kind, chunk);
            scratch->busy_s[stage] += count * slot_s;
            scratch->busy_s[stage] -= pairs == 0 ? 0 : pairs * (1 - pair_frac(times)) * slot_s;
        }
    }
}

void replay_find_times(const struct replay_plan *plan, const struct replay_times *times,
                       void *scratch, struct replay_result *out)
{
    struct replay_scratch parts = replay_find_scratch(plan, times, scratch);
    replay_sweep(plan, times, &parts);
    collect_chunks(plan, times, &parts);
    double makespan_s = 0;
    for (uint32_t stage = 0; stage < plan->shape.stages; stage++) {
        double end_s = find_own_end(plan, times, &parts, plan->stage_last[stage]);
        parts.stage_end_s[stage] = end_s;
        makespan_s = end_s > makespan_s ? end_s : makespan_s;
    }
    *out = (struct replay_result){.makespan_s = makespan_s,
                                  .stage_busy_s = parts.busy_s,
                                  .stage_start_s = parts.start_s,
                                  .stage_end_s = parts.stage_end_s,
                                  .chunk_start_s = parts.chunk_start_s,
                                  .chunk_end_s = parts.chunk_end_s};
}
