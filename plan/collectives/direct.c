/* Direct: each rank sends to all others at once, for ranks that have a link to every other. */
#include "plan/collective.h"

extern const struct collective collective_direct;

#define RANKS_MAX 65536u /* chunk numbers, ranks squared in an all-to-all, are 32 bits wide */

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind != COLLECTIVE_SEND && group->ranks >= 2 && group->ranks <= RANKS_MAX;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)group;
    return kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
}

/* An all-reduce scatters sums, then gathers them. */
static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const uint32_t ranks = group->ranks;
    if (index >= ranks - 1) {
        return false;
    }
    const uint32_t to = (rank + 1 + index) % ranks;
    const bool reduce =
        kind == COLLECTIVE_REDUCE_SCATTER || (kind == COLLECTIVE_ALL_REDUCE && round == 0);
    *out = (struct collective_step){
        .to = to, .first_chunk = reduce ? to : rank, .chunk_count = 1, .reduce = reduce};
    if (kind == COLLECTIVE_ALL_TO_ALL) {
        out->first_chunk = rank * ranks + to;
    }
    return true;
}

const struct collective collective_direct = {
    .name = "direct",
    .summary = "to all others at once; least bytes, fewest rounds where every pair has a link",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER,
              COLLECTIVE_ALL_TO_ALL},
    .kind_count = 4,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};
