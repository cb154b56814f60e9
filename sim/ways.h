/* Ways through a cluster as resources that flows share: the ports and links it really has. */
#ifndef SHARDPLAN_SIM_WAYS_H
#define SHARDPLAN_SIM_WAYS_H

#include "sim/share.h"
#include "topologies/cluster.h"

struct ways {
    const struct cluster *cluster;
    struct arena *arena;
    uint32_t *resources; /* [hop of the cluster] resource of the simulation, or UINT32_MAX: not in
                          * use yet */
};

void ways_init(struct ways *ways, const struct cluster *cluster, struct arena *arena);
/* from != to. */
void ways_find_path(const struct ways *ways, uint32_t from, uint32_t to, struct path *out);
/* The resource of a hop, pushed when first met. */
uint32_t ways_find_hop(struct ways *ways, const struct hop *hop, struct share *share);
/* Resources of all hops of a path, in the arena. */
const uint32_t *ways_push_hops(struct ways *ways, const struct path *path, struct share *share);

#endif
