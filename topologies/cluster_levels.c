/* Clusters that are a hierarchy of levels. */
#include "topologies/cluster_parts.h"

#include <assert.h>
#include <float.h>

#include "base/text.h"
#include "topologies/member.h"

#define DEGREE_MAX 100000000u

const char *const cluster_level_kind_names[LEVEL_KIND_COUNT + 1] = {
    [LEVEL_SWITCH] = "switch", [LEVEL_FULLMESH] = "fullmesh", [LEVEL_RING] = "ring"};

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_level(struct json_value value, uint32_t index, struct arena *arena,
                       struct level *out, struct diag *diag)
{
    static const char *const keys[] = {"name",
                                       "kind",
                                       "degree",
                                       "bandwidth",
                                       "latency",
                                       "link",
                                       "in_network_reduction",
                                       "oversubscription",
                                       NULL};
    double oversubscription = 1;
    if (!json_is_object(value)) {
        return diag_push(diag, DIAG_B107, json_place(value), NULL, "a level must be an object");
    }
    uint32_t kind = LEVEL_SWITCH;
    bool good = json_check_keys(value, keys, diag);
    good = json_read_string_or(value, "name", text_build(arena, "level%u", index), arena,
                               &out->name, diag) &&
           good;
    good = json_read_choice(value, "kind", cluster_level_kind_names, &kind, diag) && good;
    out->kind = (enum level_kind)kind;
    good = json_read_u32(value, "degree", 1, DEGREE_MAX, &out->degree, diag) && good;
    good = json_read_quantity_or(value, "latency", UNIT_SECONDS, 0, &out->latency_s, diag) && good;
    good = json_read_string_or(value, "link", LINK_RAW, arena, &out->link, diag) && good;
    good = json_read_bool_or(value, "in_network_reduction", false, &out->reduces, diag) && good;
    good = json_read_double_or(value, "oversubscription", 1, DBL_MAX, 1, &oversubscription, diag) &&
           good;
    if (!json_read_quantity(value, "bandwidth", UNIT_BYTES_PER_SECOND, &out->bandwidth_Bps, diag)) {
        return false;
    }
    if (!(out->bandwidth_Bps > 0)) {
        good = diag_push(diag, DIAG_T308, json_place(json_find(value, "bandwidth")), NULL,
                         "level '%s': a bandwidth of 0 B/s lets nothing arrive; write what one "
                         "device can send in one direction, such as \"450 GB/s\"",
                         out->name == NULL ? "" : out->name);
    }
    out->bandwidth_Bps /= oversubscription;
    return good;
}

static bool read_levels(struct json_value object, struct arena *arena, struct cluster *out,
                        struct diag *diag)
{
    struct json_value levels;
    if (!member_read_array(object, "levels", "a list of levels, innermost first", &levels, diag)) {
        return false;
    }
    const uint32_t count = json_count(levels);
    if (count < 1 || count > LEVEL_MAX) {
        return diag_push(diag, DIAG_T307, json_place(levels), NULL,
                         "a cluster has 1 to %d levels, not %u", LEVEL_MAX, count);
    }
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        good = read_level(json_find_index(levels, i), i, arena, &out->levels[i], diag) && good;
    }
    out->level_count = count;
    return good;
}

/* "device": [{"kind": "A", "count": 32}, {"kind": "B", "count": 64}]: kinds by stretches. */
static bool read_stretches(struct json_value list, struct cluster_kinds *kinds, struct cluster *out,
                           struct diag *diag)
{
    static const char *const keys[] = {"kind", "count", NULL};
    bool good = true;
    uint64_t filled = 0;
    out->device_kind = ARENA_PUSH(kinds->arena, uint32_t, out->device_count);
    for (uint32_t i = 0; i < json_count(list); i++) {
        const struct json_value value = json_find_index(list, i);
        uint32_t kind = 0;
        uint32_t count = 0;
        if (!json_is_object(value)) {
            return diag_push(diag, DIAG_B107, json_place(value), NULL,
                             "each stretch of devices must be an object with 'kind' and 'count'");
        }
        good = json_check_keys(value, keys, diag) && good;
        good = cluster_kinds_find(kinds, value, "kind", &kind, diag) && good;
        good = json_read_u32(value, "count", 1, DEGREE_MAX, &count, diag) && good;
        for (uint64_t d = filled; d < filled + count && d < out->device_count; d++) {
            out->device_kind[d] = kind;
        }
        filled += count;
    }
    if (good && filled != out->device_count) {
        return diag_push(diag, DIAG_T307, json_place(list), NULL,
                         "'device' describes %llu devices; the levels have %u",
                         (unsigned long long)filled, out->device_count);
    }
    return good;
}

static bool read_devices(struct json_value object, struct cluster_kinds *kinds, struct cluster *out,
                         struct diag *diag)
{
    const uint64_t count = cluster_levels_count_devices(out);
    if (count > UINT32_MAX || cluster_levels_count_resources(out) > UINT32_MAX) {
        return diag_push(diag, DIAG_T314, json_place(json_find(object, "levels")), NULL,
                         "the levels have more devices or ports than can be numbered (2^32)");
    }
    out->device_count = (uint32_t)count;
    const struct json_value device = json_find(object, "device");
    uint32_t only;
    return json_is_array(device) ? read_stretches(device, kinds, out, diag)
                                 : cluster_kinds_find(kinds, object, "device", &only, diag);
}

bool cluster_levels_read(struct json_value object, uint32_t nodes, struct cluster_kinds *kinds,
                         struct cluster *out, struct diag *diag)
{
    if (!read_levels(object, kinds->arena, out, diag)) {
        return false;
    }
    if (nodes > 0) {
        out->levels[out->level_count - 1].degree = nodes;
    }
    return read_devices(object, kinds, out, diag);
}

/* --- numbering -------------------------------------------------------------------------------- */

/* Ports of one device: switch and ring 2 (out and in; up and down), fullmesh 2 per peer domain. */
static uint32_t ports_of(const struct level *level)
{
    switch (level->kind) {
    case LEVEL_SWITCH:
    case LEVEL_RING: return 2;
    case LEVEL_FULLMESH: return 2 * (level->degree - 1);
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
    case LEVEL_KIND_COUNT: assert(false); break;
    }
    out->bandwidth_Bps = out->hops[0].bandwidth_Bps;
    out->link = level->link;
    out->level = index;
}
