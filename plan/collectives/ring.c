/* Ring: every rank passes a chunk to the next one in every round. */
#include "plan/collective.h"

extern const struct collective collective_ring;

static bool accepts(enum collective_kind kind, const struct collective_group *group)
{
    const bool reduces_or_gathers = kind == COLLECTIVE_ALL_REDUCE ||
                                    kind == COLLECTIVE_ALL_GATHER ||
                                    kind == COLLECTIVE_REDUCE_SCATTER;
    return reduces_or_gathers && group->ranks >= 2;
}

static uint32_t chunk_count(enum collective_kind kind, const struct collective_group *group)
{
    (void)kind;
    return group->ranks;
}

/* Rounds of one way round the ring. */
static uint32_t turn(const struct collective_group *group)
{
    return group->ranks - 1;
}

static uint32_t round_count(enum collective_kind kind, const struct collective_group *group)
{
    return kind == COLLECTIVE_ALL_REDUCE ? 2 * turn(group) : turn(group);
}

/* Reducing, chunk c sets out from rank c+1 and arrives summed at rank c; gathering, it sets out
 * from rank c. */
static bool step(enum collective_kind kind, const struct collective_group *group, uint32_t round,
                 uint32_t rank, uint32_t index, struct collective_step *out)
{
    const uint32_t ranks = group->ranks;
    const bool reduce = kind != COLLECTIVE_ALL_GATHER && round < turn(group);
    const uint32_t behind = reduce ? round + 1 : round % turn(group);
    if (index > 0) {
        return false;
    }
    *out = (struct collective_step){
        .to = (rank + 1) % ranks,
        .first_chunk = (rank + ranks - behind) % ranks,
        .chunk_count = 1,
        .reduce = reduce,
    };
    return true;
}

static uint32_t alike(enum collective_kind kind, const struct collective_group *group,
                      uint32_t round)
{
    (void)kind;
    return turn(group) - round % turn(group);
}

const struct collective collective_ring = {
    .name = "ring",
    .summary = "chunks travel round the ranks; least bytes, most rounds",
    .kinds = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER},
    .kind_count = 3,
    .pipeline_max = 1,
    .minimal = true,
    .one_port = true,
    .accepts = accepts,
    .chunk_count = chunk_count,
    .round_count = round_count,
    .step = step,
    .alike = alike,
};
