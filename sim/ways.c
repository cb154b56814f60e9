/* Only hops that are used become resources, so large clusters cost nothing. */
#include "sim/ways.h"

#include <assert.h>
#include <string.h>

#include "base/diag.h"

void ways_init(struct ways *ways, const struct cluster *cluster, struct arena *arena)
{
    const uint32_t count = cluster_count_resources(cluster);
    *ways = (struct ways){cluster, arena, ARENA_PUSH(arena, uint32_t, count)};
    memset(ways->resources, 0xff, count * sizeof *ways->resources);
}

void ways_find_path(const struct ways *ways, uint32_t from, uint32_t to, struct path *out)
{
    assert(from != to);
    if (!cluster_find_path(ways->cluster, from, to, out)) {
        BUG("no way from device %u to device %u: the cluster was not checked", from, to);
    }
}

uint32_t ways_find_hop(struct ways *ways, const struct hop *hop, struct share *share)
{
    assert(hop->resource < cluster_count_resources(ways->cluster));
    uint32_t *resource = &ways->resources[hop->resource];
    if (*resource == UINT32_MAX) {
        *resource = share_push_resource(share, hop->bandwidth_Bps);
    }
    return *resource;
}

const uint32_t *ways_push_hops(struct ways *ways, const struct path *path, struct share *share)
{
    uint32_t *hops = ARENA_PUSH(ways->arena, uint32_t, path->hop_count);
    for (uint32_t i = 0; i < path->hop_count; i++) {
        hops[i] = ways_find_hop(ways, &path->hops[i], share);
    }
    return hops;
}
