/* Chunk by chunk, all forwards of one before the next, then all backwards the same way back:
 * each chunk's parameters are needed once forward and once backward (Lamy-Poirier 2023,
 * breadth-first pipeline). */
#include "plan/schedule.h"

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    (void)stage;
    uint32_t total = shape->micro_batches * shape->chunks, count = 0;
    for (uint32_t k = 0; k < total; k++) {
        out[count++] = (struct slot){.kind = SLOT_FORWARD,
                                     .micro_batch = k % shape->micro_batches,
                                     .chunk = k / shape->micro_batches};
    }
    for (uint32_t k = total; k-- > 0;) {
        out[count++] = (struct slot){.kind = SLOT_BACKWARD,
                                     .micro_batch = k % shape->micro_batches,
                                     .chunk = k / shape->micro_batches};
    }
    return count;
}

const struct schedule schedule_looped_bfs = {
    .name = "looped-bfs",
    .on_demand = true,
    .summary = "all forwards of a model chunk, then the next chunk; few parameter gathers",
    .chunked = true,
    .stream = stream,
};
