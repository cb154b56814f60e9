/* Whether a cluster makes sense, however it came about. */
#include "topologies/cluster_parts.h"

#include <string.h>

#include "topologies/id_index.h"

#define BANDWIDTH_MIN_BPS 1.0
#define BANDWIDTH_MAX_BPS 1e18
#define LATENCY_MAX_S 3600.0

/* Beyond these nothing that is built lies, and times lose their digits. */
static bool is_good_link(double bandwidth_Bps, double latency_s)
{
    return bandwidth_Bps >= BANDWIDTH_MIN_BPS && bandwidth_Bps <= BANDWIDTH_MAX_BPS &&
           latency_s >= 0 && latency_s <= LATENCY_MAX_S;
}

static bool check_kinds(const struct cluster *cluster, struct diag_place place, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        good = accelerator_check(&cluster->accelerators[i], diag) && good;
    }
    bool known = cluster->accelerator_count > 0;
    for (uint32_t i = 0; cluster->device_kind != NULL && i < cluster->device_count; i++) {
        known = known && cluster->device_kind[i] < cluster->accelerator_count;
    }
    return known ? good
                 : diag_push(diag, DIAG_T307, place, NULL,
                             "cluster '%s' has devices of no known kind", cluster->name);
}

/* --- levels ----------------------------------------------------------------------------------- */

/* A mesh or torus has a shape of its degree, whose longest way fits a path. */
static bool check_shape(const struct level *level, struct diag_place place, struct diag *diag)
{
    const bool grid = level->kind == LEVEL_MESH || level->kind == LEVEL_TORUS;
    uint64_t places = 1;
    uint64_t longest = 0;
    if (grid != (level->axis_count > 0) || level->axis_count > LEVEL_AXIS_MAX ||
        (grid && level->wraps_at < 1)) {
        places = 0;
    }
    for (uint32_t i = 0; places > 0 && i < level->axis_count; i++) {
        places *= level->shape[i];
        longest += cluster_wraps(level, i) ? level->shape[i] / 2 : level->shape[i] - 1;
    }
    if (places == 0 || (grid && places != level->degree)) {
        return diag_push(diag, DIAG_T307, place, NULL,
                         "level '%s': a mesh or torus, only, has a shape, of 1 to %d axes that "
                         "multiply to its degree %u",
                         level->name, LEVEL_AXIS_MAX, level->degree);
    }
    return longest <= PATH_HOP_MAX ||
           diag_push(diag, DIAG_T315, place, NULL,
                     "level '%s': the way from end to end takes %llu links; at most %d are "
                     "supported",
                     level->name, (unsigned long long)longest, PATH_HOP_MAX);
}

static bool check_level(const struct cluster *cluster, uint32_t index, struct diag_place place,
                        struct diag *diag)
{
    const struct level *level = &cluster->levels[index];
    if (!is_good_link(level->bandwidth_Bps, level->latency_s)) {
        return diag_push(diag, DIAG_T308, place, NULL,
                         "level '%s': a bandwidth of %g B/s and a latency of %g s; from 1 B/s to "
                         "1e18 B/s and from 0 s to 1 h can be",
                         level->name, level->bandwidth_Bps, level->latency_s);
    }
    if (level->degree < 1 || (uint32_t)level->kind >= LEVEL_KIND_COUNT) {
        return diag_push(diag, DIAG_T307, place, NULL, "level '%s': degree %u is not 1 or more",
                         level->name, level->degree);
    }
    if (!check_shape(level, place, diag)) {
        return false;
    }
    if (level->kind == LEVEL_RING && level->degree > CLUSTER_RING_MAX) {
        return diag_push(diag, DIAG_T315, place, NULL,
                         "level '%s': a ring of %u makes ways of %u links; rings of up to %u are "
                         "supported",
                         level->name, level->degree, level->degree / 2, CLUSTER_RING_MAX);
    }
    return true;
}

static bool check_levels(const struct cluster *cluster, struct diag_place place, struct diag *diag)
{
    bool good = true;
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        good = check_level(cluster, i, place, diag) && good;
    }
    if (!good) {
        return false;
    }
    if (cluster_levels_count_resources(cluster) > UINT32_MAX) {
        return diag_push(diag, DIAG_T314, place, NULL,
                         "cluster '%s' has more ports than can be numbered (2^32)", cluster->name);
    }
    return cluster_levels_count_devices(cluster) == cluster->device_count ||
           diag_push(diag, DIAG_T307, place, NULL,
                     "cluster '%s': the levels have %llu devices, not %u", cluster->name,
                     (unsigned long long)cluster_levels_count_devices(cluster),
                     cluster->device_count);
}

/* --- graph ------------------------------------------------------------------------------------ */

static bool check_nodes(const struct cluster *cluster, struct diag_place place, struct diag *diag)
{
    struct arena scratch;
    struct id_index index;
    arena_init(&scratch);
    struct id_entry *entries = ARENA_PUSH(&scratch, struct id_entry, cluster->node_count);
    bool named = true;
    bool ordered = cluster->device_count > 0 && cluster->device_count <= cluster->node_count;
    for (uint32_t i = 0; i < cluster->node_count; i++) {
        const struct node *node = &cluster->nodes[i];
        entries[i] = (struct id_entry){.id = node->id, .number = i};
        named = named && node->id[0] != '\0' && strchr(node->id, '[') == NULL;
        ordered = ordered && (node->kind == NODE_DEVICE) == (i < cluster->device_count) &&
                  (node->kind != NODE_DEVICE || node->device == i);
    }
    id_index_init(&index, entries, cluster->node_count);
    const uint32_t twin = id_index_find_twin(&index, 0);
    bool good = ordered || diag_push(diag, DIAG_T307, place, NULL,
                                     "cluster '%s': the first nodes must be its devices, at least "
                                     "one, in their order",
                                     cluster->name);
    if (!named) {
        good = diag_push(diag, DIAG_T309, place, NULL,
                         "cluster '%s': an id is empty or holds a '[', which stands for a range",
                         cluster->name);
    }
    if (twin < cluster->node_count) {
        good = diag_push(diag, DIAG_T310, place, NULL, "cluster '%s': two nodes are named '%s'",
                         cluster->name, entries[twin].id);
    }
    arena_release(&scratch);
    return good;
}

static bool check_link(const struct cluster *cluster, const struct link *link,
                       struct diag_place place, struct diag *diag)
{
    if (link->from >= cluster->node_count || link->to >= cluster->node_count) {
        return diag_push(diag, DIAG_T311, place, NULL,
                         "cluster '%s': a link joins nodes %u and %u of %u", cluster->name,
                         link->from, link->to, cluster->node_count);
    }
    const char *from = cluster->nodes[link->from].id;
    if (link->from == link->to) {
        return diag_push(diag, DIAG_T312, place, NULL, "a link leads from '%s' to itself", from);
    }
    return is_good_link(link->bandwidth_Bps, link->latency_s) ||
           diag_push(diag, DIAG_T308, place, NULL,
                     "link from '%s' to '%s': a bandwidth of %g B/s and a latency of %g s; "
                     "from 1 B/s to 1e18 B/s and from 0 s to 1 h can be",
                     from, cluster->nodes[link->to].id, link->bandwidth_Bps, link->latency_s);
}

static bool check_graph(const struct cluster *cluster, struct diag_place place, struct diag *diag)
{
    if (cluster->node_count > CLUSTER_NODE_MAX || cluster->link_count > CLUSTER_LINK_MAX) {
        return diag_push(diag, DIAG_T314, place, NULL,
                         "cluster '%s' has %u nodes and %u links; a graph may have %u and %u",
                         cluster->name, cluster->node_count, cluster->link_count, CLUSTER_NODE_MAX,
                         CLUSTER_LINK_MAX);
    }
    bool good = check_nodes(cluster, place, diag);
    for (uint32_t i = 0; i < cluster->link_count; i++) {
        good = check_link(cluster, &cluster->links[i], place, diag) && good;
    }
    if (!good) {
        return false;
    }
    const uint32_t lost = cluster_routing_find_unreachable(cluster);
    return lost == cluster->device_count ||
           diag_push(diag, DIAG_T313, place, NULL,
                     "no way leads from device '%s' to device '%s': add the links that join them",
                     cluster->nodes[0].id, cluster->nodes[lost].id);
}

bool cluster_check_at(const struct cluster *cluster, struct diag_place place, struct diag *diag)
{
    const bool good = cluster->level_count > 0 ? check_levels(cluster, place, diag)
                                               : check_graph(cluster, place, diag);
    return good && check_kinds(cluster, place, diag);
}

bool cluster_check(const struct cluster *cluster, struct diag *diag)
{
    return cluster_check_at(cluster, (struct diag_place){.file = NULL}, diag);
}
