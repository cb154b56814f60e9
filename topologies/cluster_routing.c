/* Ways through a graph: the fewest hops, then the widest. */
#include "topologies/cluster_parts.h"

#include <assert.h>
#include <float.h>

#define NONE UINT32_MAX

static uint32_t other_end(const struct link *link, uint32_t node)
{
    return link->from == node ? link->to : link->from;
}

/* --- reach ------------------------------------------------------------------------------------ */

static uint32_t find_root(uint32_t *parent, uint32_t node)
{
    while (parent[node] != node) {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    return node;
}

uint32_t cluster_routing_find_unreachable(const struct cluster *cluster)
{
    struct arena scratch;
    arena_init(&scratch);
    uint32_t *parent = ARENA_PUSH(&scratch, uint32_t, cluster->node_count);
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        parent[i] = i;
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const uint32_t a = find_root(parent, cluster->links[i].from);
        const uint32_t b = find_root(parent, cluster->links[i].to);
        parent[a > b ? a : b] = a > b ? b : a;
    }
    uint32_t device = 0;
    while (device < cluster->device_count && find_root(parent, device) == find_root(parent, 0)) {
        device++;
    }
    arena_release(&scratch);
    return device;
}

/* --- core and leaves -------------------------------------------------------------------------- */

/* The core as a graph of its own: neighbours of core node a are at first[a] up to first[a + 1]. */
struct core {
    uint32_t count;
    uint32_t *first;
    struct neighbour {
        uint32_t node, link; /* a core node, the link that leads there */
    } * neighbours;
};

/* Of two nodes that have only each other the first is core. */
static void find_leaves(const struct cluster *cluster, uint32_t *leaf_link, struct arena *scratch)
{
    uint32_t *degree = ARENA_PUSH(scratch, uint32_t, cluster->node_count);
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        leaf_link[i] = NONE;
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        degree[cluster->links[i].from]++;
        degree[cluster->links[i].to]++;
    }
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct link *link = &cluster->links[i];
        const uint32_t low = link->from < link->to ? link->from : link->to;
        const uint32_t high = other_end(link, low);
        if (degree[high] == 1) {
            leaf_link[high] = i;
        } else if (degree[low] == 1) {
            leaf_link[low] = i;
        }
    }
}

static uint32_t number_core(const struct cluster *cluster, const uint32_t *leaf_link,
                            uint32_t *core)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        core[i] = leaf_link[i] == NONE ? count++ : NONE;
    }
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        if (leaf_link[i] != NONE) {
            core[i] = core[other_end(&cluster->links[leaf_link[i]], i)];
        }
    }
    return count;
}

static bool is_core_link(const struct cluster *cluster, const struct link *link)
{
    return cluster->leaf_link[link->from] == NONE && cluster->leaf_link[link->to] == NONE;
}

/* Counts at first[a + 2], sums up so that a starts at first[a + 1], then fills, which moves it
 * on. */
static struct core build_core(const struct cluster *cluster, struct arena *scratch)
{
    struct core core = {.count = cluster->core_count};
    core.first = ARENA_PUSH(scratch, uint32_t, (size_t)core.count + 2);
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct link *link = &cluster->links[i];
        if (is_core_link(cluster, link)) {
            core.first[cluster->core[link->from] + 2]++;
            core.first[cluster->core[link->to] + 2]++;
        }
    }
    for (uint32_t i = 2; i < core.count + 2; i++) {
        core.first[i] += core.first[i - 1];
    }
    core.neighbours = ARENA_PUSH(scratch, struct neighbour, core.first[core.count + 1]);
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        const struct link *link = &cluster->links[i];
        if (is_core_link(cluster, link)) {
            const uint32_t a = cluster->core[link->from];
            const uint32_t b = cluster->core[link->to];
            core.neighbours[core.first[a + 1]++] = (struct neighbour){.node = b, .link = i};
            core.neighbours[core.first[b + 1]++] = (struct neighbour){.node = a, .link = i};
        }
    }
    return core;
}

/* --- routes ----------------------------------------------------------------------------------- */

/* What is known on the way back from one destination. */
struct wave {
    uint32_t *distance; /* per core node, NONE not reached */
    double *width_Bps;  /* of the best way from there */
    uint32_t *queue;    /* core nodes by distance */
    uint32_t reached;
};

static void spread(const struct core *core, uint32_t target, struct wave *wave)
{
    for (uint32_t i = 0; i < core->count; i++) {
        wave->distance[i] = NONE;
    }
    wave->distance[target] = 0;
    wave->queue[0] = target;
    wave->reached = 1;
    for (uint32_t head = 0; head < wave->reached; head++) {
        const uint32_t node = wave->queue[head];
        for (uint32_t k = core->first[node]; k < core->first[node + 1]; k++) {
            const uint32_t next = core->neighbours[k].node;
            if (wave->distance[next] == NONE) {
                wave->distance[next] = wave->distance[node] + 1;
                wave->queue[wave->reached++] = next;
            }
        }
    }
}

/* Of the neighbours one hop nearer: the widest way, then the lowest node, then the widest link. */
static uint32_t choose_link(const struct cluster *cluster, const struct core *core,
                            struct wave *wave, uint32_t node)
{
    const struct neighbour *best = NULL;
    double best_Bps = 0;
    for (uint32_t k = core->first[node]; k < core->first[node + 1]; k++) {
        const struct neighbour *next = &core->neighbours[k];
        if (wave->distance[next->node] + 1 != wave->distance[node]) {
            continue;
        }
        const double link_Bps = cluster->links[next->link].bandwidth_Bps;
        const double rest_Bps = wave->width_Bps[next->node];
        const double Bps = link_Bps < rest_Bps ? link_Bps : rest_Bps;
        const bool same = best != NULL && !(Bps > best_Bps) && !(Bps < best_Bps);
        if (best == NULL || Bps > best_Bps || (same && next->node < best->node) ||
            (same && next->node == best->node &&
             link_Bps > cluster->links[best->link].bandwidth_Bps)) {
            best = next;
            best_Bps = Bps;
        }
    }
    assert(best != NULL);
    wave->width_Bps[node] = best_Bps;
    return best->link;
}

/* Links between a core node and the farthest device that ways reach through it: 0 for a device
 * itself, 1 where leaf devices hang, NONE where no way ends. */
static uint32_t *find_tails(const struct cluster *cluster, struct arena *scratch)
{
    uint32_t *tails = ARENA_PUSH(scratch, uint32_t, cluster->core_count);
    for (uint32_t i = 0; i < cluster->core_count; i++) {
        tails[i] = NONE;
    }
    for (uint32_t device = 0; device < cluster->device_count; device++) {
        uint32_t *tail = &tails[cluster->core[device]];
        const uint32_t links = cluster->leaf_link[device] == NONE ? 0 : 1;
        *tail = *tail == NONE || *tail < links ? links : *tail;
    }
    return tails;
}

/* The longest way in links that ends at `target`. */
static uint32_t find_longest(const struct wave *wave, const uint32_t *tails, uint32_t target)
{
    uint32_t longest = 0;
    for (uint32_t i = wave->reached; i-- > 0 && tails[target] != NONE;) {
        const uint32_t node = wave->queue[i];
        const uint32_t links =
            tails[node] == NONE ? 0 : tails[node] + wave->distance[node] + tails[target];
        longest = links > longest ? links : longest;
    }
    return longest;
}

/* Fills the table by destination; gives the longest way between devices in links. */
static uint32_t fill_table(const struct cluster *cluster, uint32_t *next_hop, struct arena *scratch)
{
    const struct core core = build_core(cluster, scratch);
    struct wave wave = {
        .distance = ARENA_PUSH(scratch, uint32_t, core.count),
        .width_Bps = ARENA_PUSH(scratch, double, core.count),
        .queue = ARENA_PUSH(scratch, uint32_t, core.count),
    };
    const uint32_t *tails = find_tails(cluster, scratch);
    uint32_t longest = 0;
    for (size_t i = 0; i < (size_t)core.count * core.count; i++) {
        next_hop[i] = NONE;
    }
    for (uint32_t target = 0; target < core.count; target++) {
        spread(&core, target, &wave);
        wave.width_Bps[target] = DBL_MAX;
        for (uint32_t i = 1; i < wave.reached; i++) {
            const uint32_t node = wave.queue[i];
            next_hop[(size_t)node * core.count + target] = choose_link(cluster, &core, &wave, node);
        }
        const uint32_t links = find_longest(&wave, tails, target);
        longest = links > longest ? links : longest;
    }
    return longest;
}

bool cluster_routing_build(struct cluster *cluster, struct diag_place place, struct arena *arena,
                           struct diag *diag)
{
    struct arena scratch;
    uint32_t *leaf_link = ARENA_PUSH(arena, uint32_t, cluster->node_count);
    uint32_t *core = ARENA_PUSH(arena, uint32_t, cluster->node_count);
    arena_init(&scratch);
    find_leaves(cluster, leaf_link, &scratch);
    const uint32_t count = number_core(cluster, leaf_link, core);
    if (count > CLUSTER_CORE_MAX) {
        arena_release(&scratch);
        return diag_push(diag, DIAG_T314, place, NULL,
                         "%u devices and switches have more than one link; a graph may have %u "
                         "such nodes: describe a cluster of this size by levels",
                         count, CLUSTER_CORE_MAX);
    }
    uint32_t *next_hop = ARENA_PUSH(arena, uint32_t, (size_t)count * count);
    cluster->core_count = count;
    cluster->core = core;
    cluster->leaf_link = leaf_link;
    cluster->next_hop = next_hop;
    const uint32_t longest = fill_table(cluster, next_hop, &scratch);
    arena_release(&scratch);
    return longest <= PATH_HOP_MAX ||
           diag_push(diag, DIAG_T315, place, NULL,
                     "the way between two of the devices takes %u links; at most %d are supported",
                     longest, PATH_HOP_MAX);
}

/* --- one way ---------------------------------------------------------------------------------- */

/* Follows a link out of `node`; gives the node it leads to. */
static uint32_t follow(const struct cluster *cluster, uint32_t index, uint32_t node,
                       struct path *path)
{
    const struct link *link = &cluster->links[index];
    const uint32_t way_back = !link->half_duplex && link->from != node ? 1 : 0;
    assert(path->hop_count < PATH_HOP_MAX);
    path->hops[path->hop_count++] =
        (struct hop){.resource = 2 * index + way_back, .bandwidth_Bps = link->bandwidth_Bps};
    path->latency_s += link->latency_s;
    if (path->hop_count == 1 || link->bandwidth_Bps < path->bandwidth_Bps) {
        path->bandwidth_Bps = link->bandwidth_Bps;
        path->link = link->link;
    }
    return other_end(link, node);
}

bool cluster_routing_find_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                               struct path *out)
{
    assert(cluster->next_hop != NULL && "cluster_build comes first");
    const uint32_t target = cluster->core[to];
    if (cluster->core[from] != target &&
        cluster->next_hop[(size_t)cluster->core[from] * cluster->core_count + target] == NONE) {
        return false;
    }
    uint32_t node = from;
    out->hop_count = 0;
    out->latency_s = 0;
    out->level = cluster->level_count;
    if (cluster->leaf_link[node] != NONE) {
        node = follow(cluster, cluster->leaf_link[node], node, out);
    }
    while (cluster->core[node] != target) {
        const size_t row = (size_t)cluster->core[node] * cluster->core_count;
        node = follow(cluster, cluster->next_hop[row + target], node, out);
    }
    if (node != to) {
        node = follow(cluster, cluster->leaf_link[to], node, out);
    }
    assert(node == to);
    return true;
}
