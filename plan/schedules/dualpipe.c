/* Two copies of the model run towards each other, forwards of one overlapped with backwards of the
 * other (DeepSeek-AI 2024, DualPipe). Half the micro-batches go each way. */
#include "plan/schedules/bidirectional.h"
#include "plan/schedules/folded.h"

static const char *refuses(const struct schedule_shape *shape)
{
    if (shape->chunks != 2) {
        return "each stage holds a chunk of both copies: chunks must be 2";
    }
    if (shape->stages % 2 != 0 || shape->micro_batches % 2 != 0) {
        return "the chains meet in the middle, half the micro-batches go each way: stages and "
               "micro-batches must be even";
    }
    return shape->micro_batches >= 2 * shape->stages
               ? NULL
               : "forwards and backwards overlap once both ways are full: micro-batches must be at "
                 "least twice the stages";
}

static uint32_t stream(const struct schedule_shape *shape, uint32_t stage, struct slot *out)
{
    const uint32_t mirrored = shape->stages - 1 - stage;
    const uint32_t near = stage < mirrored ? 0 : 1; /* chunk that the nearer end feeds */
    struct bidirectional order = {.rank = near == 0 ? stage : mirrored,
                                  .ranks = shape->stages / 2,
                                  .total = shape->micro_batches / 2,
                                  .chunk_of = {near, 1 - near},
                                  .first = {0, shape->micro_batches / 2},
                                  .out = out};
    return bidirectional_order(&order);
}

const struct schedule schedule_dualpipe = {
    .name = "dualpipe",
    .on_demand = true,
    .summary = "two copies run towards each other, forwards overlapped with backwards",
    .chunked = true,
    .splits = true,
    .copies = 2,
    .refuses = refuses,
    .stream = stream,
    .place = folded_place,
};
