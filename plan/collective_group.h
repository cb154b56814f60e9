/* What a collective may know of where its group sits in the cluster. */
#ifndef SHARDPLAN_PLAN_COLLECTIVE_GROUP_H
#define SHARDPLAN_PLAN_COLLECTIVE_GROUP_H

#include "plan/collective.h"
#include "plan/rank_group.h"
#include "topologies/cluster.h"

/* Fills ranks, inner, reduces, axes; pipeline 1. The group's devices lie in the cluster (asserted).
 * One pass over the ranks.
 *
 * inner, levels: the largest divisor g of ranks such that ranks 0..g-1, g..2g-1, ... each share
 * a domain of the innermost level; if that is 1, of the next level at which it is neither 1 nor
 * ranks (racks of nodes); 1 if there is none.
 * inner, graph: the same with stretches of consecutive ranks whose ways to each other are as
 * wide as the widest.
 * axes, levels: the ranks stand on the places of a mesh or torus of one level, rank by rank along
 * its axes at equal distances, in a box; axes of one place are left out. An axis closes if that of
 * the level does and the ranks go all around it.
 * reduces, levels: the lowest level whose domain holds all ranks reduces; graph: one reducing
 * switch has a link to every rank. */
void collective_group_find(const struct cluster *cluster, const struct rank_group *group,
                           uint32_t base, struct collective_group *out);

/* Aligned blocks of so many consecutive ranks (a divisor of their number): are the ways between
 * two ranks of one like those between the ranks in their places of any other, at the same level,
 * as long, over as many links? False also where that cannot be told from the strides, and for
 * graphs. */
bool collective_group_repeats(const struct cluster *cluster, const struct rank_group *group,
                              uint32_t base, uint32_t block);

/* Does a way between rank 0 and another, or to the next rank, of one group of the crowd cross a
 * link that those of another group cross? Scratch: the arena is as before. */
bool collective_group_meets(const struct cluster *cluster, const struct rank_group *group,
                            const struct rank_crowd *crowd, struct arena *arena);

#endif
