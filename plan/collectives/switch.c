/* In the network: the switch above all ranks sums or multicasts what they send it. */
#include "plan/collective.h"

extern const struct collective collective_switch;

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    const bool reduces_or_gathers = kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_ALL_GATHER;
    return reduces_or_gathers && group->ranks >= 2 && group->reduces;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE ? 1 : group->ranks;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    (void)group;
    return 1;
}

static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    (void)group;
    (void)round;
    const bool reduce = kind == COLLECTIVE_ALL_REDUCE;
    if (index > 0) {
        return false;
    }
    *out = (struct collective_step){.to = COLLECTIVE_SWITCH,
                                    .first_chunk = reduce ? 0 : rank,
                                    .chunk_count = 1,
                                    .reduce = reduce};
    return true;
}

const struct collective collective_switch = {
    .name = "switch",
    .summary = "summed or multicast by the switch above all ranks",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER},
    .kind_count = 2,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};
