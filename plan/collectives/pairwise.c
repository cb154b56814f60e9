/* Pairwise exchange: in every round each rank sends to one other and receives from one other. */
#include "plan/collective.h"

extern const struct collective collective_pairwise;

#define RANKS_MAX 65536u /* chunk numbers, ranks squared, are 32 bits wide */

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_TO_ALL && group->ranks >= 2 && group->ranks <= RANKS_MAX;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks - 1;
}

/* Powers of two exchange both ways with one partner, near ones in the same rounds; others shift. */
static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    (void)kind;
    const uint32_t ranks = group->ranks;
    const bool power_of_two = (ranks & (ranks - 1)) == 0;
    const uint32_t to = power_of_two ? rank ^ (round + 1) : (rank + round + 1) % ranks;
    if (index > 0) {
        return false;
    }
    *out = (struct collective_step){.to = to, .first_chunk = rank * ranks + to, .chunk_count = 1};
    return true;
}

const struct collective collective_pairwise = {
    .name = "pairwise",
    .summary = "one partner per round, each pair once",
    .kinds = {COLLECTIVE_ALL_TO_ALL},
    .kind_count = 1,
    .pipeline_max = 1,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};
