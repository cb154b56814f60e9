/* How the ranks of a group nest in the levels of a cluster: groups that nest alike send the same
 * messages over the same kinds of port. */
#ifndef SHARDPLAN_PLAN_RANK_NEST_H
#define SHARDPLAN_PLAN_RANK_NEST_H

#include <stdbool.h>

#include "plan/rank_group.h"
#include "topologies/cluster.h"

/* How many ranks a group from place 0 on crosses at each level, where nothing else of it matters:
 * behind switches, nested evenly. False elsewhere. Of groups whose steps go outward one after
 * another the counts of all steps together are the products of the counts of each. */
bool rank_nest_find(const struct cluster *cluster, const struct rank_group *group,
                    uint64_t crossed[LEVEL_MAX]);
/* Equal for two groups only if some renaming of devices, which keeps domains together, carries
 * each rank of the one to that rank of the other. Behind switches that is so when as many ranks
 * are crossed at each level; elsewhere, and where strides do not nest evenly in the domains, only
 * for the same devices. */
unsigned long long rank_nest_digest(const struct cluster *cluster, const struct rank_group *group,
                                    uint32_t base);

#endif
