/* Chains of model chunks folded in the middle: down the stages, and back up. */
#ifndef SHARDPLAN_PLAN_SCHEDULES_FOLDED_H
#define SHARDPLAN_PLAN_SCHEDULES_FOLDED_H

#include "plan/schedule.h"

/* Chunk 0 of each stage is on the way down, chunk 1 on the way up. */
static inline uint32_t folded_place(const struct schedule_shape *shape, uint32_t stage,
                                    uint32_t chunk)
{
    return chunk == 0 ? stage : 2 * shape->stages - 1 - stage;
}

#endif
