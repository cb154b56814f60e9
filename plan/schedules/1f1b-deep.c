/* One forward, one backward behind nearly twice the usual warm-up, 2(p-i)-1 forwards on stage i,
 * so that transfers hide behind the micro-batches in between (Fan et al. 2021, DAPPLE's policy
 * PB; its PA is the plain warm-up). */
#include "plan/schedules/alternating.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t after = shape->stages - 1 - stage;
    return alternating_order(shape, (struct alternating){.warm_up = 2 * after}, out);
}

const struct schedule schedule_1f1b_deep = {
    .name = "1f1b-deep",
    .on_demand = true,
    .summary = "one forward, one backward behind twice the warm-up; slow transfers are hidden",
    .stream = stream,
};
