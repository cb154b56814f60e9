/* Waves: the chain goes down the stages and back up, w times, with 2w model chunks on each stage
 * (Liu et al. 2023, Hanayo). The order within a stage is found by what is ready, backwards first,
 * the earliest micro-batch first, with as many micro-batches under way as there are stages. */
#include "plan/schedule.h"

static const char *refuses(const struct schedule_shape *shape)
{
    return shape->chunks % 2 == 0
               ? NULL
               : "each wave goes down the stages and back up: chunks must be even";
}

static uint32_t place(const struct schedule_shape *shape, uint32_t stage, uint32_t chunk)
{
    uint32_t along = chunk % 2 == 0 ? stage : shape->stages - 1 - stage;
    return chunk * shape->stages + along;
}

static struct schedule_weave weave(const struct schedule_shape *shape)
{
    return (struct schedule_weave){
        .forward_ticks = 1, .backward_ticks = 2, .in_flight = shape->stages, .oldest_first = true};
}

const struct schedule schedule_hanayo = {
    .name = "hanayo",
    .on_demand = true,
    .summary = "waves down the stages and back up, two model chunks per wave; half the bubble",
    .chunked = true,
    .refuses = refuses,
    .weave = weave,
    .place = place,
};
