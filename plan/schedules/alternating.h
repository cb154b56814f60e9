/* Forwards and backwards in turn behind a warm-up of forwards: what several members differ from
 * only in how long the warm-up is, and when weight gradients come. */
#ifndef SHARDPLAN_PLAN_SCHEDULES_ALTERNATING_H
#define SHARDPLAN_PLAN_SCHEDULES_ALTERNATING_H

#include "plan/schedule.h"

struct alternating {
    uint32_t warm_up; /* forwards before they alternate; micro_batches if those are fewer */
    bool splits;
    /* Split backwards: behind each input gradient, once there are more than so many of them, comes
     * the oldest weight gradient; the rest at the end. */
    uint32_t weights_lag;
};

static inline uint32_t alternating_order(const struct schedule_shape *shape,
                                         struct alternating rules, struct slot *out)
{
    const uint32_t total = shape->micro_batches;
    const uint32_t warm_up = rules.warm_up < total ? rules.warm_up : total;
    const enum slot_kind backward = rules.splits ? SLOT_INPUT_GRADIENT : SLOT_BACKWARD;
    uint32_t count = 0, weights = 0;
    for (uint32_t i = 0; i < warm_up; i++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = i};
    }
    for (uint32_t i = 0; i < total; i++) {
        if (warm_up + i < total) {
            out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = warm_up + i};
        }
        out[count++] = (struct slot){.kind = backward, .micro_batch = i};
        if (rules.splits && i >= rules.weights_lag) {
            out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
        }
    }
    while (rules.splits && weights < total) {
        out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
    }
    return count;
}

#endif
