/* Two copies of the model run towards each other, each with one forward, one backward: a stage is
 * early in one chain and late in the other (Li and Hoefler 2021, Chimera). As many micro-batches
 * as there are stages make a unit, half of them in each direction; units follow each other. */
#include "plan/schedules/folded.h"

static const char *refuses(const struct schedule_shape *shape)
{
    if (shape->chunks != 2) {
        return "each stage holds a chunk of both copies: chunks must be 2";
    }
    if (shape->stages % 2 != 0) {
        return "the two chains meet in the middle: stages must be even";
    }
    return shape->micro_batches % 2 == 0
               ? NULL
               : "half the micro-batches go each way: their number must be even";
}

static struct schedule_weave weave(const struct schedule_shape *shape)
{
    return (struct schedule_weave){
        .forward_ticks = 1, .backward_ticks = 1, .unit = shape->stages, .follows_depth = true};
}

const struct schedule schedule_chimera = {
    .name = "chimera",
    .on_demand = true,
    .summary = "two copies of the model run towards each other; half the bubble, twice the weights",
    .chunked = true,
    .copies = 2,
    .refuses = refuses,
    .weave = weave,
    .place = folded_place,
};
