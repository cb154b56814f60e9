/* Twice the warm-up, so that no stage waits between its first and last slot when forwards, input
 * and weight gradients last the same (Qi et al. 2023, ZB-H2). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t wanted = 2 * (shape->stages - 1 - stage), total = shape->micro_batches;
    uint32_t warm_up = wanted < total ? wanted : total;
    uint32_t count = 0, weights = 0;
    for (uint32_t i = 0; i < warm_up; i++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = i};
    }
    for (uint32_t i = 0; i < total; i++) {
        if (warm_up + i < total) {
            out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = warm_up + i};
        }
        out[count++] = (struct slot){.kind = SLOT_INPUT_GRADIENT, .micro_batch = i};
        if (i >= 2 * stage) {
            out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
        }
    }
    while (weights < total) {
        out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
    }
    return count;
}

const struct schedule schedule_zb_h2 = {
    .name = "zb-h2",
    .on_demand = true,
    .summary = "weight gradients fill the waits; twice the warm-up, no waits inside the step",
    .splits = true,
    .stream = stream,
};
