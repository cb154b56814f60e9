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

struct rings {
    uint32_t count;
    rings_move *move;
};

/* What a rank sends in a round: one chunk in each ring. */
struct rings_send {
    uint32_t round, rank, ring;
};

/* Reducing, the chunks of a rank set out behind it in each ring and arrive summed at it; gathering,
 * they set out from it. Rank r owns chunks r * rings up to (r + 1) * rings. */
static inline bool rings_find_step(const struct rings *rings, enum collective_kind kind,
                                   const struct collective_group *group,
                                   const struct rings_send *send, struct collective_step *out)
{
    const uint32_t turn = group->ranks - 1;
    const bool reduce = kind != COLLECTIVE_ALL_GATHER && send->round < turn;
    if (send->ring >= rings->count) {
        return false;
    }
    const uint32_t behind = reduce ? send->round + 1 : send->round % turn;
    const uint32_t owner = rings->move(group, send->ring, send->rank, behind, true);
    *out = (struct collective_step){.to = rings->move(group, send->ring, send->rank, 1, false),
                                    .first_chunk = owner * rings->count + send->ring,
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
