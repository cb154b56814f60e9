/* Which slots and transfers one longest path is made of: a lower bound for all other times. */
#include <assert.h>

#include "costmodel/replay_inside.h"

void replay_cut_init(uint32_t chunk_count, struct arena *arena, struct replay_cut *out)
{
    *out = (struct replay_cut){
        .chunk_count = chunk_count,
        .sends = ARENA_PUSH(arena, uint32_t, chunk_count),
        .sends_back = ARENA_PUSH(arena, uint32_t, chunk_count),
        .queued = ARENA_PUSH(arena, uint32_t, chunk_count),
        .release = chunk_count,
    };
    for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
        out->slots[kind] = ARENA_PUSH(arena, uint32_t, chunk_count);
    }
}

static void clear(struct replay_cut *cut)
{
    for (uint32_t chunk = 0; chunk < cut->chunk_count; chunk++) {
        for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
            cut->slots[kind][chunk] = 0;
        }
        cut->sends[chunk] = cut->sends_back[chunk] = cut->queued[chunk] = 0;
    }
    cut->release = cut->chunk_count;
    cut->lined_s = 0;
}

/* The transfer that follows a step, if one does. */
static void count_send(const struct replay_plan *plan, uint32_t step, struct replay_cut *cut)
{
    uint32_t kind = replay_step_kind(plan, plan->steps[step].cost);
    uint32_t chunk = plan->steps[step].cost % plan->chunk_count;
    if (kind == SLOT_FORWARD && replay_crosses(plan, chunk)) {
        cut->sends[chunk]++;
    }
    bool back = kind == SLOT_BACKWARD || kind == SLOT_INPUT_GRADIENT;
    if (back && chunk > 0 && replay_crosses(plan, chunk - 1)) {
        cut->sends_back[chunk - 1]++;
    }
}

/* The transfer that the step waited for. */
static void count_arrival(const struct replay_plan *plan, uint32_t step, struct replay_cut *cut)
{
    uint32_t kind = replay_step_kind(plan, plan->steps[step].cost);
    uint32_t chunk = plan->steps[step].cost % plan->chunk_count;
    bool forward = kind == SLOT_FORWARD || kind == COST_AWAIT_FORWARD;
    bool back = kind == SLOT_BACKWARD || kind == SLOT_INPUT_GRADIENT || kind == COST_AWAIT_BACKWARD;
    if (forward && chunk > 0 && replay_crosses(plan, chunk - 1)) {
        cut->sends[chunk - 1]++;
    }
    if (back && replay_crosses(plan, chunk)) {
        cut->sends_back[chunk]++;
    }
}

/* The step that sent over the link before, or 0. */
static uint32_t find_before(const struct replay_plan *plan, const struct replay_times *times,
                            uint32_t step)
{
    const uint32_t link = plan->links[plan->sends[step]];
    do {
        step--;
    } while (step > 0 &&
             !(replay_sends(plan, times, step) && plan->links[plan->sends[step]] == link));
    return step;
}

/* While the transfer that a step sends had waited for its link, counts so and goes on to the step
 * that had sent before. */
static uint32_t count_queue(const struct replay_plan *plan, const struct replay_times *times,
                            const struct replay_scratch *scratch, uint32_t step,
                            struct replay_cut *cut)
{
    while (scratch->sent_s[step] > scratch->end_s[step]) {
        const uint32_t before = find_before(plan, times, step);
        const uint32_t chunk = plan->sends[before] % plan->chunk_count;
        const double free_s = before == 0 ? -1 : scratch->sent_s[before] + times->queue_s[chunk];
        if (free_s <= scratch->end_s[step]) {
            cut->lined_s += scratch->sent_s[step] - scratch->end_s[step];
            break;
        }
        cut->lined_s += scratch->sent_s[step] - free_s;
        cut->queued[chunk]++;
        step = before;
    }
    return step;
}

/* Counts a step, gives the one that it started behind; 0 is the start. */
static uint32_t count_step(const struct replay_plan *plan, const struct replay_times *times,
                           const struct replay_scratch *scratch, uint32_t index,
                           struct replay_cut *cut)
{
    const struct replay_step *step = &plan->steps[index];
    uint32_t kind = replay_step_kind(plan, step->cost), chunk = step->cost % plan->chunk_count;
    bool waited = replay_find_arrival(scratch, plan, index) > scratch->end_s[step->previous];
    uint32_t before =
        waited ? count_queue(plan, times, scratch, step->source, cut) : step->previous;
    if (kind == COST_RELEASE) {
        cut->release = waited ? chunk : cut->release;
    } else if (kind < SLOT_KIND_COUNT) {
        cut->slots[kind][chunk]++;
    }
    if (before != 0 && cut->send_blocks) {
        count_send(plan, before, cut);
    } else if (before != 0 && waited) {
        count_arrival(plan, index, cut);
    }
    return before;
}

static uint32_t find_last(const struct replay_plan *plan, const struct replay_result *result)
{
    for (uint32_t stage = 0; stage < plan->shape.stages; stage++) {
        if (result->stage_end_s[stage] == result->makespan_s) {
            return plan->stage_last[stage];
        }
    }
    assert(false);
    return 0;
}

void replay_find_cut(const struct replay_plan *plan, const struct replay_times *times,
                     void *scratch, struct replay_cut *out)
{
    assert(out->chunk_count == plan->chunk_count);
    struct replay_result result;
    replay_find_times(plan, times, scratch, &result);
    struct replay_scratch parts = replay_find_scratch(plan, times, scratch);
    clear(out);
    out->send_blocks = times->send_blocks;
    uint32_t step = find_last(plan, &result);
    while (step != 0) {
        step = count_step(plan, times, &parts, step, out);
    }
}

double replay_find_bound(const struct replay_cut *cut, const struct replay_times *times)
{
    assert(!cut->send_blocks || times->send_blocks);
    double sum_s = 0;
    if (cut->release < cut->chunk_count && times->release_s != NULL) {
        sum_s = times->release_s[cut->release];
    }
    for (uint32_t chunk = 0; chunk < cut->chunk_count; chunk++) {
        for (uint32_t kind = 0; kind < SLOT_KIND_COUNT; kind++) {
            uint32_t count = cut->slots[kind][chunk];
            sum_s += count == 0 ? 0 : count * replay_slot_time(times, kind, chunk);
        }
        if (cut->sends[chunk] > 0 && times->send_s != NULL) {
            sum_s += cut->sends[chunk] * times->send_s[chunk];
        }
        if (cut->sends_back[chunk] > 0 && times->send_back_s != NULL) {
            sum_s += cut->sends_back[chunk] * times->send_back_s[chunk];
        }
        if (times->queue_s != NULL && !times->send_blocks) {
            sum_s += cut->queued[chunk] * times->queue_s[chunk];
        }
    }
    return sum_s;
}
