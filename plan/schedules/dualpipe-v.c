/* One copy folded in the middle, so that each stage holds a chunk of the way down and one of the
 * way up, forwards of one overlapped with backwards of the other (DualPipeV; order as in
 * torch.distributed.pipelining, ScheduleDualPipeV). */
#include "plan/schedules/bidirectional.h"
#include "plan/schedules/folded.h"

static const char *refuses(const struct schedule_shape *shape)
{
    if (shape->chunks != 2) {
        return "the chain goes down the stages and back up once: chunks must be 2";
    }
    return shape->micro_batches >= 2 * shape->stages
               ? NULL
               : "forwards and backwards overlap once both ways are full: micro-batches must be at "
                 "least twice the stages";
}

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    struct bidirectional order = {.rank = stage,
                                  .ranks = shape->stages,
                                  .total = shape->micro_batches,
                                  .chunk_of = {0, 1},
                                  .out = out};
    return bidirectional_order(&order);
}

const struct schedule schedule_dualpipe_v = {
    .name = "dualpipe-v",
    .on_demand = true,
    .summary = "a chain down the stages and back up, forwards overlapped with backwards",
    .chunked = true,
    .splits = true,
    .refuses = refuses,
    .stream = stream,
    .place = folded_place,
};
