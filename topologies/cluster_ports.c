/* Ports and ways of clusters of levels. */
#include "topologies/cluster_parts.h"

#include <assert.h>

/* --- numbering -------------------------------------------------------------------------------- */

/* Ports of one device: switch and ring 2 (out and in; up and down), fullmesh 2 per peer domain,
 * mesh and torus 2 per axis. */
static uint32_t ports_of(const struct level *level)
{
    switch (level->kind) {
    case LEVEL_SWITCH:
    case LEVEL_RING: return 2;
    case LEVEL_FULLMESH: return 2 * (level->degree - 1);
    case LEVEL_MESH:
    case LEVEL_TORUS: return 2 * level->axis_count;
    case LEVEL_KIND_COUNT: break;
    }
    assert(false);
    return 0;
}

/* Ports of one device at the first `level` levels. */
static uint64_t ports_below(const struct cluster *cluster, uint32_t level)
{
    uint64_t ports = 0;
    for (uint32_t i = 0; i < level; i++) {
        ports += ports_of(&cluster->levels[i]);
    }
    return ports;
}

uint64_t cluster_count_domain(const struct cluster *cluster, uint32_t level)
{
    uint64_t devices = 1;
    for (uint32_t i = 0; i <= level; i++) {
        const uint64_t degree = cluster->levels[i].degree;
        devices = devices > UINT64_MAX / degree ? UINT64_MAX : devices * degree;
    }
    return devices;
}

uint64_t cluster_levels_count_devices(const struct cluster *cluster)
{
    return cluster_count_domain(cluster, cluster->level_count - 1);
}

uint64_t cluster_levels_count_resources(const struct cluster *cluster)
{
    const uint64_t devices = cluster_levels_count_devices(cluster);
    const uint64_t ports = ports_below(cluster, cluster->level_count);
    return ports > 0 && devices > UINT64_MAX / ports ? UINT64_MAX : devices * ports;
}

uint32_t cluster_find_level(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    assert(cluster->level_count > 0 && a < cluster->device_count && b < cluster->device_count);
    uint32_t level = 0;
    uint64_t domain = cluster->levels[0].degree;
    while (a / domain != b / domain) {
        level++;
        domain *= cluster->levels[level].degree;
    }
    return level;
}

/* --- ways ------------------------------------------------------------------------------------- */

/* A crossing of one level: where the ends stand in the domain that holds both. */
struct crossing {
    const struct level *level;
    uint64_t ports, base; /* ports of a device in all, and below this level */
    uint32_t inner;       /* devices per domain of the level below */
    uint32_t from, to;
    uint32_t from_index, to_index; /* of the inner domains */
};

static void push_hop(struct path *path, const struct crossing *crossing, uint32_t device,
                     uint32_t port, double bandwidth_Bps)
{
    assert(path->hop_count < PATH_HOP_MAX);
    path->hops[path->hop_count++] = (struct hop){
        .resource = (uint32_t)(device * crossing->ports + crossing->base + port),
        .bandwidth_Bps = bandwidth_Bps,
    };
}

static void cross_switch(const struct crossing *crossing, struct path *out)
{
    push_hop(out, crossing, crossing->from, 0, crossing->level->bandwidth_Bps);
    push_hop(out, crossing, crossing->to, 1, crossing->level->bandwidth_Bps);
    out->latency_s = crossing->level->latency_s;
}

/* Number of a peer domain among the others. */
static uint32_t peer_slot(uint32_t own, uint32_t peer)
{
    return peer < own ? peer : peer - 1;
}

static void cross_fullmesh(const struct crossing *crossing, struct path *out)
{
    const double each_Bps = crossing->level->bandwidth_Bps / (crossing->level->degree - 1);
    const uint32_t there = peer_slot(crossing->from_index, crossing->to_index);
    const uint32_t back = peer_slot(crossing->to_index, crossing->from_index);
    push_hop(out, crossing, crossing->from, 2 * there, each_Bps);
    push_hop(out, crossing, crossing->to, 2 * back + 1, each_Bps);
    out->latency_s = crossing->level->latency_s;
}

static void cross_ring(const struct crossing *crossing, struct path *out)
{
    const uint32_t degree = crossing->level->degree;
    const uint32_t ahead = (crossing->to_index + degree - crossing->from_index) % degree;
    const uint32_t behind = degree - ahead;
    const bool up = ahead < behind || (ahead == behind && crossing->from_index % 2 == 0);
    const uint32_t steps = up ? ahead : behind;
    const double each_Bps = crossing->level->bandwidth_Bps / (degree > 2 ? 2 : 1);
    const uint32_t port = up ? 0 : 1;
    const uint32_t from_offset = crossing->from % crossing->inner;
    const uint32_t to_offset = crossing->to % crossing->inner;
    const uint32_t first = crossing->from - from_offset - crossing->from_index * crossing->inner;
    for (uint32_t step = 0; step < steps; step++) {
        const uint32_t index = (crossing->from_index + (up ? step : degree - step)) % degree;
        const bool last = step > 0 && step == steps - 1;
        const uint32_t device = first + index * crossing->inner + (last ? to_offset : from_offset);
        push_hop(out, crossing, device, port, each_Bps);
    }
    if (steps == 1 && from_offset != to_offset) {
        push_hop(out, crossing, crossing->from - from_offset + to_offset, port, each_Bps);
    }
    out->latency_s = steps * crossing->level->latency_s;
}

bool cluster_is_stepped(const struct level *level)
{
    return level->kind == LEVEL_RING || level->axis_count > 0;
}

bool cluster_wraps(const struct level *level, uint32_t axis)
{
    return level->kind == LEVEL_TORUS && level->shape[axis] > 2 &&
           level->shape[axis] % level->wraps_at == 0;
}

/* Steps along one axis: how many, which way. */
struct stroll {
    uint32_t steps;
    bool up;
};

static struct stroll find_stroll(const struct level *level, uint32_t axis, uint32_t from,
                                 uint32_t to)
{
    const uint32_t size = level->shape[axis];
    const uint32_t ahead = (to + size - from) % size;
    const uint32_t behind = size - ahead;
    if (!cluster_wraps(level, axis)) {
        return (struct stroll){to > from ? to - from : from - to, to > from};
    }
    const bool up = ahead < behind || (ahead == behind && from % 2 == 0);
    return (struct stroll){ahead == 0 ? 0 : up ? ahead : behind, up};
}

static uint32_t count_grid_steps(const struct crossing *crossing)
{
    const struct level *level = crossing->level;
    uint32_t steps = 0;
    uint32_t stride = 1;
    for (uint32_t axis = 0; axis < level->axis_count; axis++) {
        steps += find_stroll(level, axis, crossing->from_index / stride % level->shape[axis],
                             crossing->to_index / stride % level->shape[axis])
                     .steps;
        stride *= level->shape[axis];
    }
    return steps;
}

/* The neighbour of domain `index` along an axis. */
static uint32_t find_neighbour(uint32_t index, uint32_t stride, uint32_t size, bool up)
{
    const uint32_t at = index / stride % size;
    return index - at * stride + (at + (up ? 1 : size - 1)) % size * stride;
}

/* Over the links of the sender's offset, the last step on those of the receiver's, as in a ring. */
static void cross_grid(const struct crossing *crossing, struct path *out)
{
    const struct level *level = crossing->level;
    const double each_Bps = level->bandwidth_Bps / (2 * level->axis_count);
    const uint32_t offsets[2] = {crossing->from % crossing->inner, crossing->to % crossing->inner};
    const uint32_t first = crossing->from - offsets[0] - crossing->from_index * crossing->inner;
    const uint32_t total = count_grid_steps(crossing);
    uint32_t index = crossing->from_index;
    uint32_t stride = 1;
    uint32_t port = 0;
    for (uint32_t axis = 0; axis < level->axis_count; axis++) {
        const uint32_t size = level->shape[axis];
        const struct stroll stroll =
            find_stroll(level, axis, index / stride % size, crossing->to_index / stride % size);
        for (uint32_t step = 0; step < stroll.steps; step++) {
            const bool last = out->hop_count > 0 && out->hop_count == total - 1;
            port = 2 * axis + (stroll.up ? 0 : 1);
            push_hop(out, crossing, first + index * crossing->inner + offsets[last], port,
                     each_Bps);
            index = find_neighbour(index, stride, size, stroll.up);
        }
        stride *= size;
    }
    if (total == 1 && offsets[0] != offsets[1]) {
        push_hop(out, crossing, crossing->from - offsets[0] + offsets[1], port, each_Bps);
    }
    out->latency_s = total * level->latency_s;
}

void cluster_levels_find_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                              struct path *out)
{
    const uint32_t index = cluster_find_level(cluster, from, to);
    const struct level *level = &cluster->levels[index];
    const uint32_t inner = index == 0 ? 1 : (uint32_t)cluster_count_domain(cluster, index - 1);
    const struct crossing crossing = {
        .level = level,
        .ports = ports_below(cluster, cluster->level_count),
        .base = ports_below(cluster, index),
        .inner = inner,
        .from = from,
        .to = to,
        .from_index = from / inner % level->degree,
        .to_index = to / inner % level->degree,
    };
    out->hop_count = 0;
    switch (level->kind) {
    case LEVEL_SWITCH: cross_switch(&crossing, out); break;
    case LEVEL_FULLMESH: cross_fullmesh(&crossing, out); break;
    case LEVEL_RING: cross_ring(&crossing, out); break;
    case LEVEL_MESH:
    case LEVEL_TORUS: cross_grid(&crossing, out); break;
    case LEVEL_KIND_COUNT: assert(false); break;
    }
    out->bandwidth_Bps = out->hops[0].bandwidth_Bps;
    out->link = level->link;
    out->level = index;
}

bool cluster_has_own_ports(const struct cluster *cluster)
{
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        if (cluster->levels[level].kind != LEVEL_SWITCH) {
            return false;
        }
    }
    return cluster->level_count > 0;
}
