/* Point to point: one message from rank 0 to rank 1. */
#include "plan/collective.h"

extern const struct collective collective_point_to_point;

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_SEND && group->ranks == 2;
}

static uint32_t one(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    (void)group;
    return 1;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    (void)kind;
    (void)group;
    (void)round;
    if (rank != 0 || index > 0) {
        return false;
    }
    *out = (struct collective_step){.to = 1, .chunk_count = 1};
    return true;
}

const struct collective collective_point_to_point = {
    .name = "point-to-point",
    .summary = "one message to one receiver",
    .kinds = {COLLECTIVE_SEND},
    .kind_count = 1,
    .pipeline_max = 1,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = one,
    .round_count = one,
    .step = step,
};
