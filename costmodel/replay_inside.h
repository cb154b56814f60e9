/* What building, evaluating and path finding share. */
#ifndef SHARDPLAN_COSTMODEL_REPLAY_INSIDE_H
#define SHARDPLAN_COSTMODEL_REPLAY_INSIDE_H

#include "costmodel/replay.h"

/* Costs come by kind of slot, and more for the steps that wait only: for a release, for what the
 * forward or the backward of a pair needs, for the end of a pair; and for slots in pairs, by kind
 * again. */
enum {
    COST_RELEASE = SLOT_KIND_COUNT,
    COST_AWAIT_FORWARD,
    COST_AWAIT_BACKWARD,
    COST_MADE,
    COST_PAIRED,
    COST_KINDS = COST_PAIRED + SLOT_KIND_COUNT
};

struct replay_cost {
    double delay_s;    /* from the end of the source to its arrival */
    double duration_s; /* until the next step of the stage may start */
};

/* The parts of the scratch: ends of all steps, costs, the arrays of the result. */
struct replay_scratch {
    struct replay_cost *costs;
    double *end_s;
    double *busy_s, *start_s, *stage_end_s, *chunk_start_s, *chunk_end_s;
    double *sent_s; /* [step] what it sends begins; end_s where no transfer can queue */
    double *free_s; /* [line], or [link] where links share none */
    /* Where links share lines. */
    double *begun_s;   /* [step] the first line of what it sends is kept from then on */
    uint32_t *waiting; /* [link] step whose transfer is the first to wait for the second, or 0 */
    uint32_t *at;      /* [stage] its next step */
};

struct replay_scratch replay_find_scratch(const struct replay_plan *plan,
                                          const struct replay_times *times, void *memory);
/* Kind of slot that the step runs, COST_RELEASE or an await as they are. */
static inline uint32_t replay_step_kind(const struct replay_plan *plan, uint32_t cost)
{
    const uint32_t kind = cost / plan->chunk_count;
    return kind >= COST_PAIRED ? kind - COST_PAIRED : kind;
}

/* Seconds of one slot's own work. */
double replay_slot_time(const struct replay_times *times, enum slot_kind kind, uint32_t chunk);
/* Whether data between this model chunk and the one behind it in its chain cross from stage to
 * stage. */
bool replay_crosses(const struct replay_plan *plan, uint32_t chunk);
/* Fills costs and ends; when transfers begin, where they may queue. */
void replay_sweep(const struct replay_plan *plan, const struct replay_times *times,
                  const struct replay_scratch *scratch);

/* Does the step send anything that takes time? */
static inline bool replay_sends(const struct replay_plan *plan, const struct replay_times *times,
                                uint32_t step)
{
    const uint32_t send = plan->sends[step];
    return send < plan->chunk_count || (send != REPLAY_NO_SEND && times->send_back_s != NULL);
}

static inline double replay_find_arrival(const struct replay_scratch *scratch,
                                         const struct replay_plan *plan, uint32_t index)
{
    const struct replay_step *step = &plan->steps[index];
    return scratch->sent_s[step->source] + scratch->costs[step->cost].delay_s;
}

static inline double replay_find_start(const struct replay_scratch *scratch,
                                       const struct replay_plan *plan, uint32_t index)
{
    double ready_s = scratch->end_s[plan->steps[index].previous];
    double arrival_s = replay_find_arrival(scratch, plan, index);
    return ready_s > arrival_s ? ready_s : arrival_s;
}

#endif
