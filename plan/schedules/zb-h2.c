/* Twice the warm-up, so that no stage waits between its first and last slot when forwards, input
 * and weight gradients last the same (Qi et al. 2023, ZB-H2). */
#include "plan/schedules/alternating.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    const struct alternating rules = {
        .warm_up = 2 * (shape->stages - 1 - stage), .splits = true, .weights_lag = 2 * stage};
    return alternating_order(shape, rules, out);
}

const struct schedule schedule_zb_h2 = {
    .name = "zb-h2",
    .on_demand = true,
    .summary = "weight gradients fill the waits; twice the warm-up, no waits inside the step",
    .splits = true,
    .stream = stream,
};
