/* One forward, one input gradient; weight gradients come late, where the stage would wait, with
 * no more micro-batches alive than the first stage of 1F1B keeps (Qi et al. 2023, ZB-H1). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t after = shape->stages - 1 - stage, total = shape->micro_batches;
    uint32_t warm_up = after < total ? after : total;
    uint32_t count = 0, weights = 0;
    for (uint32_t i = 0; i < warm_up; i++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = i};
    }
    for (uint32_t i = 0; i < total; i++) {
        if (warm_up + i < total) {
            out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = warm_up + i};
        }
        out[count++] = (struct slot){.kind = SLOT_INPUT_GRADIENT, .micro_batch = i};
        if (i >= stage) {
            out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
        }
    }
    while (weights < total) {
        out[count++] = (struct slot){.kind = SLOT_WEIGHT_GRADIENT, .micro_batch = weights++};
    }
    return count;
}

const struct schedule schedule_zb_h1 = {
    .name = "zb-h1",
    .on_demand = true,
    .summary = "weight gradients fill the waits; on every stage the micro-batches of the first",
    .splits = true,
    .stream = stream,
};
