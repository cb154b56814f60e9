/* One forward, one backward over several model chunks per stage, micro-batches in groups of as many
 * as there are stages (Narayanan et al. 2021, section 2.2; order as in Megatron-LM). */
#include "plan/schedule.h"

static const char *refuses(const struct schedule_shape *shape)
{
    if (shape->stages < 2) {
        return "chunks interleave between stages: use at least 2 stages, or a schedule without "
               "chunks";
    }
    if (shape->micro_batches % shape->stages != 0) {
        return "it takes micro-batches in groups of one per stage: their number must be a multiple "
               "of the stages";
    }
    return NULL;
}

/* The k-th forward of any stage: chunks in turn, one group of micro-batches on each. */
static struct slot forward(const struct schedule_shape *shape, uint32_t k)
{
    uint32_t group = k / (shape->stages * shape->chunks);
    uint32_t within = k % (shape->stages * shape->chunks);
    return (struct slot){.kind = SLOT_FORWARD,
                         .micro_batch = group * shape->stages + within % shape->stages,
                         .chunk = within / shape->stages};
}

/* The k-th backward: same micro-batches, chunks from the last to the first. */
static struct slot backward(const struct schedule_shape *shape, uint32_t k)
{
    struct slot slot = forward(shape, k);
    slot.kind = SLOT_BACKWARD;
    slot.chunk = shape->chunks - 1 - slot.chunk;
    return slot;
}

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    uint32_t total = shape->micro_batches * shape->chunks;
    uint32_t wanted = 2 * (shape->stages - 1 - stage) + (shape->chunks - 1) * shape->stages;
    uint32_t warm_up = wanted < total ? wanted : total;
    uint32_t count = 0;
    for (uint32_t k = 0; k < warm_up; k++) {
        out[count++] = forward(shape, k);
    }
    for (uint32_t k = 0; k < total; k++) {
        if (warm_up + k < total) {
            out[count++] = forward(shape, warm_up + k);
        }
        out[count++] = backward(shape, k);
    }
    return count;
}

const struct schedule schedule_interleaved = {
    .name = "interleaved",
    .summary = "one forward, one backward over several model chunks per stage; smaller bubble",
    .chunked = true,
    .usual = true,
    .refuses = refuses,
    .stream = stream,
};
