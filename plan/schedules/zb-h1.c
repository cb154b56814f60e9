/* One forward, one input gradient; weight gradients come late, where the stage would wait, with
 * no more micro-batches alive than the first stage of 1F1B keeps (Qi et al. 2023, ZB-H1). */
#include "plan/schedules/alternating.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    const struct alternating rules = {
        .warm_up = shape->stages - 1 - stage, .splits = true, .weights_lag = stage};
    return alternating_order(shape, rules, out);
}

const struct schedule schedule_zb_h1 = {
    .name = "zb-h1",
    .on_demand = true,
    .summary = "weight gradients fill the waits; on every stage the micro-batches of the first",
    .splits = true,
    .stream = stream,
};
