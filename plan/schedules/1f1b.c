/* One forward, one backward: a stage keeps no more micro-batches alive than stages follow it
 * (Narayanan et al. 2019, PipeDream; with a flush per step as in Megatron-LM). */
#include "plan/schedules/alternating.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t after = shape->stages - 1 - stage;
    return alternating_order(shape, (struct alternating){.warm_up = after}, out);
}

const struct schedule schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; at most as many micro-batches alive as stages follow",
    .usual = true,
    .stream = stream,
};
