/* Parameter server: one rank gathers what all others have, sums it, sends the sum back. */
#include "plan/collective.h"

extern const struct collective collective_parameter_server;

/* Messages at once at the server. */
#define RANKS_MAX 65536u

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE && group->ranks >= 2 && group->ranks <= RANKS_MAX;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    (void)group;
    return 1;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    (void)group;
    return 2;
}

/* Rank 0 serves. */
static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    (void)kind;
    const bool sums = round == 0;
    if (sums ? rank == 0 || index > 0 : rank > 0 || index + 1 >= group->ranks) {
        return false;
    }
    *out = (struct collective_step){.to = sums ? 0 : index + 1, .chunk_count = 1, .reduce = sums};
    return true;
}

const struct collective collective_parameter_server = {
    .name = "parameter-server",
    .summary = "one rank sums for all; few messages, all over one port",
    .kinds = {COLLECTIVE_ALL_REDUCE},
    .kind_count = 1,
    .pipeline_max = 1,
    .minimal = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
};
