/* The longest path through the slots of a step, in one sweep over them. */
#include "costmodel/replay.h"

#include <assert.h>

#include "costmodel/replay_inside.h"

size_t replay_count_scratch(const struct replay_plan *plan)
{
    size_t doubles = (size_t)2 * plan->step_count + (size_t)3 * plan->shape.stages +
                     (size_t)4 * plan->chunk_count;
    return doubles * sizeof(double) +
           (size_t)COST_KINDS * plan->chunk_count * sizeof(struct replay_cost);
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

struct replay_transfer replay_find_transfer(const struct replay_plan *plan, uint32_t index)
{
    const uint32_t cost = plan->steps[index].cost, chunk = cost % plan->chunk_count;
    const uint32_t kind = cost / plan->chunk_count;
    const bool forward = kind == SLOT_FORWARD || kind == COST_AWAIT_FORWARD;
    const uint32_t way = forward ? 0 : 1;
    assert(plan->steps[index].source != 0);
    return (struct replay_transfer){way, forward ? chunk - 1 : chunk,
                                    plan->queues[way * plan->chunk_count + chunk]};
}

uint32_t replay_find_before(const struct replay_plan *plan, uint32_t index)
{
    const struct replay_transfer own = replay_find_transfer(plan, index);
    uint32_t at = 2 * plan->steps[index].source + own.way;
    while (at-- > 0) {
        const uint32_t receiver = plan->receivers[at];
        if (receiver != 0 && replay_find_transfer(plan, receiver).queue == own.queue) {
            return receiver;
        }
    }
    return 0;
}

/* Seconds between two transfers that model chunk `chunk` sends at least: it makes them. */
static double make_s(const struct replay_plan *plan, const struct replay_times *times, bool back,
                     uint32_t chunk)
{
    double least_s = -1;
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        const bool sends =
            back ? kind == SLOT_BACKWARD || kind == SLOT_INPUT_GRADIENT : kind == SLOT_FORWARD;
        if (sends && plan->slot_counts[kind][chunk] > 0) {
            const double own_s = replay_slot_time(times, kind, chunk);
            least_s = least_s < 0 || own_s < least_s ? own_s : least_s;
        }
    }
    return plan->has_pairs && pair_frac(times) < 1 ? pair_frac(times) * least_s : least_s;
}

/* Queue of what crosses behind model chunk `boundary`, forward or back. */
static uint32_t queue_of(const struct replay_plan *plan, uint32_t boundary, bool back)
{
    return plan->queues[back ? plan->chunk_count + boundary : boundary + 1];
}

/* Longest transfer of each queue. */
static void find_longest(const struct replay_plan *plan, const struct replay_times *times,
                         double *longest_s)
{
    for (uint32_t i = 0; i < 2 * plan->chunk_count; i++) {
        longest_s[i] = 0;
    }
    for (uint32_t i = 0; i < 2 * plan->chunk_count; i++) {
        const uint32_t boundary = i / 2;
        const bool back = i % 2 == 1;
        if (boundary + 1 < plan->chunk_count && replay_crosses(plan, boundary)) {
            double *longest = &longest_s[queue_of(plan, boundary, back)];
            const double own_s = read_time(back ? times->send_back_s : times->send_s, boundary);
            *longest = own_s > *longest ? own_s : *longest;
        }
    }
}

/* Links that are faster than what they carry is made never make anybody wait. */
static bool may_queue(const struct replay_plan *plan, const struct replay_times *times,
                      double *longest_s)
{
    bool may = false;
    if (times->queue_s == NULL || times->send_blocks) {
        return false;
    }
    find_longest(plan, times, longest_s);
    for (uint32_t i = 0; i < 2 * plan->chunk_count; i++) {
        const uint32_t boundary = i / 2;
        const bool back = i % 2 == 1;
        if (boundary + 1 < plan->chunk_count && replay_crosses(plan, boundary)) {
            const double gap_s =
                plan->pairs_meet ? 0 : make_s(plan, times, back, back ? boundary + 1 : boundary);
            const double own_s = read_time(back ? times->send_back_s : times->send_s, boundary);
            may = may || longest_s[queue_of(plan, boundary, back)] + times->queue_s[boundary] >
                             own_s + gap_s;
        }
    }
    return may;
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
    scratch.last_s = scratch.chunk_end_s + plan->chunk_count;
    if (may_queue(plan, times, scratch.last_s)) {
        scratch.arrival_s = scratch.last_s + (size_t)2 * plan->chunk_count;
    }
    return scratch;
}

/* The transfer to the step sets out as its source ends. */
static void send(const struct replay_plan *plan, const struct replay_times *times,
                 const struct replay_scratch *scratch, uint32_t receiver)
{
    const struct replay_step *step = &plan->steps[receiver];
    const struct replay_transfer transfer = replay_find_transfer(plan, receiver);
    const double before_s = scratch->last_s[transfer.queue];
    const double free_s = before_s + times->queue_s[transfer.boundary];
    double arrival_s = scratch->end_s[step->source] + scratch->costs[step->cost].delay_s;
    arrival_s = before_s >= 0 && free_s > arrival_s ? free_s : arrival_s;
    scratch->last_s[transfer.queue] = scratch->arrival_s[receiver] = arrival_s;
}

static void sweep_queues(const struct replay_plan *plan, const struct replay_times *times,
                         const struct replay_scratch *scratch)
{
    for (uint32_t i = 0; i < 2 * plan->chunk_count; i++) {
        scratch->last_s[i] = -1;
    }
    for (uint32_t i = 1; i < plan->step_count; i++) {
        const struct replay_step *step = &plan->steps[i];
        if (step->source == 0) {
            scratch->arrival_s[i] = scratch->costs[step->cost].delay_s;
        }
        scratch->end_s[i] =
            replay_find_start(scratch, plan, i) + scratch->costs[step->cost].duration_s;
        for (uint32_t way = 0; way < 2; way++) {
            if (plan->receivers[2 * i + way] != 0) {
                send(plan, times, scratch, plan->receivers[2 * i + way]);
            }
        }
    }
}

void replay_sweep(const struct replay_plan *plan, const struct replay_times *times,
                  const struct replay_scratch *scratch)
{
    price_steps(plan, times, scratch->costs);
    scratch->end_s[0] = 0;
    if (scratch->arrival_s != NULL) {
        sweep_queues(plan, times, scratch);
        return;
    }
    for (uint32_t i = 1; i < plan->step_count; i++) {
        scratch->end_s[i] =
            replay_find_start(scratch, plan, i) + scratch->costs[plan->steps[i].cost].duration_s;
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
