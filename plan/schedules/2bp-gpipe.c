/* All forwards, all input gradients, then all weight gradients: the next stage waits for the input
 * gradient only (Rae et al. 2024, 2BP on GPipe). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    (void)stage;
    static const enum slot_kind phases[3] = {SLOT_FORWARD, SLOT_INPUT_GRADIENT,
                                             SLOT_WEIGHT_GRADIENT};
    uint32_t count = 0;
    for (uint32_t phase = 0; phase < 3; phase++) {
        for (uint32_t i = 0; i < shape->micro_batches; i++) {
            out[count++] = (struct slot){.kind = phases[phase], .micro_batch = i};
        }
    }
    return count;
}

const struct schedule schedule_2bp_gpipe = {
    .name = "2bp-gpipe",
    .on_demand = true,
    .summary = "all forwards, all input gradients, all weight gradients; everything stays alive",
    .splits = true,
    .stream = stream,
};
