/* One forward, one backward: a stage keeps no more micro-batches alive than stages follow it
 * (Narayanan et al. 2019, PipeDream; with a flush per step as in Megatron-LM). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t after = shape->stages - 1 - stage;
    uint32_t warm_up = after < shape->micro_batches ? after : shape->micro_batches;
    uint32_t count = 0;
    for (uint32_t i = 0; i < warm_up; i++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = i};
    }
    for (uint32_t i = 0; i < shape->micro_batches; i++) {
        if (warm_up + i < shape->micro_batches) {
            out[count++] = (struct slot){.kind = SLOT_FORWARD, .micro_batch = warm_up + i};
        }
        out[count++] = (struct slot){.kind = SLOT_BACKWARD, .micro_batch = i};
    }
    return count;
}

const struct schedule schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward; at most as many micro-batches alive as stages follow",
    .stream = stream,
};
