/* Rings at once: the buffer falls into as many parts, each goes round the ranks in an order of its
 * own. */
#ifndef SHARDPLAN_PLAN_COLLECTIVES_RINGS_H
#define SHARDPLAN_PLAN_COLLECTIVES_RINGS_H

#include "plan/collective.h"

/* The rank so many places further along the ring, or behind it, steps < ranks. */
typedef uint32_t rings_move(const struct collective_group *group, uint32_t ring, uint32_t rank,
                            uint32_t steps, bool behind);

static inline uint32_t rings_count_rounds(enum collective_kind kind,
                                          const struct collective_group *group)
{
    return (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (group->ranks - 1);
}

/* Reducing, the chunks of a rank set out behind it in each ring and arrive summed at it; gathering,
 * they set out from it. Rank r owns chunks r * rings up to (r + 1) * rings. */
static inline bool rings_find_step(enum collective_kind kind, const struct collective_group *group,
                                   uint32_t round, uint32_t rank, uint32_t ring, uint32_t rings,
                                   rings_move *move, struct collective_step *out)
{
    const uint32_t turn = group->ranks - 1;
    const bool reduce = kind != COLLECTIVE_ALL_GATHER && round < turn;
    if (ring >= rings) {
        return false;
    }
    const uint32_t owner = move(group, ring, rank, reduce ? round + 1 : round % turn, true);
    *out = (struct collective_step){.to = move(group, ring, rank, 1, false),
                                    .first_chunk = owner * rings + ring,
                                    .chunk_count = 1,
                                    .reduce = reduce};
    return true;
}

static inline uint32_t rings_count_alike(enum collective_kind kind,
                                         const struct collective_group *group, uint32_t round)
{
    (void)kind;
    return group->ranks - 1 - round % (group->ranks - 1);
}

#endif
