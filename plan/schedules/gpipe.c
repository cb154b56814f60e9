/* All forwards, then all backwards, newest first (Huang et al. 2019, GPipe, figure 2c). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    (void)stage;
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->micro_batches; i++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = i};
    }
    for (uint32_t i = shape->micro_batches; i > 0; i--) {
        out[count++] = (struct slot){.kind = SLOT_BACKWARD, .micro_batch = i - 1};
    }
    return count;
}

const struct schedule schedule_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards; every micro-batch is alive at once",
    .stream = stream,
};
