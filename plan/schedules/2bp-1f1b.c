/* One forward, one input gradient, and all weight gradients at the end: the bubble of the split
 * backward without any choice of where weight gradients go (Rae et al. 2024, 2BP on 1F1B). */
#include "plan/schedules/alternating.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    const struct alternating rules = {
        .warm_up = shape->stages - 1 - stage, .splits = true, .weights_lag = shape->micro_batches};
    return alternating_order(shape, rules, out);
}

const struct schedule schedule_2bp_1f1b = {
    .name = "2bp-1f1b",
    .on_demand = true,
    .summary = "one forward, one input gradient, all weight gradients at the end",
    .splits = true,
    .stream = stream,
};
