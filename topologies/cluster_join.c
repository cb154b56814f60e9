/* Unlike clusters joined by one network: the outermost level of each is replaced by it. */
#include "topologies/cluster_parts.h"

#include <string.h>

#include "base/text.h"
#include "topologies/interconnect.h"

#define PART_MAX 64u

struct joining {
    const struct cluster_request *request;
    struct interconnect interconnect;
    const struct network *fabric;
    struct arena *arena;
    struct diag *diag;
    struct cluster parts[PART_MAX];
    double port_Bps[PART_MAX]; /* of one device towards the network */
    uint32_t first_device[PART_MAX];
    uint32_t count;
    struct cluster out;
    uint64_t links, switches;
};

static const struct diag_place nowhere = {.file = NULL};

/* --- parts ------------------------------------------------------------------------------------ */

static bool read_parts(struct joining *joining)
{
    const char *at = joining->request->text;
    for (;;) {
        const size_t length = strcspn(at, ",");
        const struct cluster_request part = {.text = text_build_copy(joining->arena, at, length)};
        if (joining->count == PART_MAX) {
            return diag_push(joining->diag, DIAG_T306, nowhere, NULL,
                             "more than %u clusters are joined", PART_MAX);
        }
        if (length == 0) {
            return diag_push(joining->diag, DIAG_T306, nowhere, NULL,
                             "'%s' has nothing between two commas: write NAME:NODES,NAME:NODES",
                             joining->request->text);
        }
        if (!cluster_read_request(&part, joining->arena, &joining->parts[joining->count++],
                                  joining->diag)) {
            return false;
        }
        if (at[length] == '\0') {
            return true;
        }
        at += length + 1;
    }
}

/* In a graph transfers take the fewest links: within a domain they must be fewer than the two
 * through the network. */
static bool has_short_ways(const struct cluster *part, uint32_t level)
{
    const enum level_kind kind = part->levels[level].kind;
    return kind == LEVEL_SWITCH || (kind == LEVEL_FULLMESH && level == 0);
}

/* Ports of one family join at the rate of the slower; the cards of a device keep their number. */
static bool join_port(struct joining *joining, uint32_t index)
{
    const struct cluster *part = &joining->parts[index];
    const struct network *own;
    if (part->level_count < 2) {
        return diag_push(
            joining->diag, DIAG_T306, nowhere, "describe the whole as one native JSON cluster",
            "'%s' cannot be joined: it has no outer level whose cards reach a network", part->name);
    }
    for (uint32_t i = 0; i + 1 < part->level_count; i++) {
        if (!has_short_ways(part, i)) {
            return diag_push(joining->diag, DIAG_T306, nowhere,
                             "describe the whole as one native JSON cluster",
                             "'%s' cannot be joined: its level '%s' is neither a switch nor a "
                             "full mesh of devices, so fewer links may lead through the network",
                             part->name, part->levels[i].name);
        }
    }
    const struct level *last = &part->levels[part->level_count - 1];
    if (!interconnect_find_network(&joining->interconnect, last->link, &own, joining->diag)) {
        return false;
    }
    if (strcmp(own->family, joining->fabric->family) != 0) {
        return diag_push(joining->diag, DIAG_T306, nowhere, NULL,
                         "the cards of '%s' are of the family %s (%s), which does not join %s",
                         part->name, own->family, own->link, joining->fabric->link);
    }
    const double slower_Bps =
        own->port_Bps < joining->fabric->port_Bps ? own->port_Bps : joining->fabric->port_Bps;
    joining->port_Bps[index] = last->bandwidth_Bps * slower_Bps / own->port_Bps;
    return true;
}

/* --- the graph -------------------------------------------------------------------------------- */

static uint32_t find_kind(struct joining *joining, const struct accelerator *accelerator)
{
    struct cluster *out = &joining->out;
    uint32_t kind = 0;
    while (kind < out->accelerator_count &&
           strcmp(out->accelerators[kind].name, accelerator->name) != 0) {
        kind++;
    }
    if (kind == out->accelerator_count) {
        out->accelerators[out->accelerator_count++] = *accelerator;
    }
    /* equal devices in unlike computers: what the poorer one has */
    struct host *have = &out->accelerators[kind].host;
    if (host_share_bytes(&accelerator->host) < host_share_bytes(have)) {
        *have = accelerator->host;
    }
    return kind;
}

/* Domains of the inner levels: a switch each. */
static uint64_t count_domains(const struct cluster *part, uint32_t level)
{
    return part->device_count / cluster_count_domain(part, level);
}

static bool size_up(struct joining *joining)
{
    uint64_t devices = 0;
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < joining->count; i++) {
        const struct cluster *part = &joining->parts[i];
        joining->first_device[i] = (uint32_t)devices;
        devices += part->device_count;
        kinds += part->accelerator_count;
        for (uint32_t level = 0; level + 1 < part->level_count; level++) {
            const bool meshed = part->levels[level].kind == LEVEL_FULLMESH;
            joining->switches += meshed ? 0 : count_domains(part, level);
            joining->links +=
                meshed ? (uint64_t)part->device_count * part->levels[level].degree : 0;
        }
        joining->links += (uint64_t)part->device_count * part->level_count;
        if (devices > CLUSTER_CORE_MAX) {
            return diag_push(joining->diag, DIAG_T314, nowhere, NULL,
                             "'%s' has more than %u devices; joined clusters may have that many",
                             joining->request->text, CLUSTER_CORE_MAX);
        }
    }
    struct cluster *out = &joining->out;
    out->device_count = (uint32_t)devices;
    out->node_count = (uint32_t)(devices + joining->switches + 1);
    out->nodes = ARENA_PUSH(joining->arena, struct node, out->node_count);
    out->links = ARENA_PUSH(joining->arena, struct link, joining->links);
    out->device_kind = ARENA_PUSH(joining->arena, uint32_t, out->device_count);
    out->accelerators = ARENA_PUSH(joining->arena, struct accelerator, kinds);
    return true;
}

static void push_devices(struct joining *joining, uint32_t index)
{
    const struct cluster *part = &joining->parts[index];
    for (uint32_t i = 0; i < part->device_count; i++) {
        const uint32_t device = joining->first_device[index] + i;
        joining->out.nodes[device] =
            (struct node){.id = text_build(joining->arena, "p%u.%u", index, i),
                          .kind = NODE_DEVICE,
                          .device = device};
        joining->out.device_kind[device] = find_kind(joining, cluster_find_accelerator(part, i));
    }
}

static void push_link(struct joining *joining, uint32_t device, uint32_t to, double Bps,
                      double latency_s, const char *link)
{
    joining->out.links[joining->out.link_count++] =
        (struct link){device, to, Bps, latency_s / 2, link, false};
}

/* The switches of one level, each linked to the devices of its domain. */
static void push_level(struct joining *joining, uint32_t index, uint32_t level, uint32_t *next)
{
    const struct cluster *part = &joining->parts[index];
    const struct level *of = &part->levels[level];
    const uint32_t domain = (uint32_t)cluster_count_domain(part, level);
    for (uint32_t i = 0; i < part->device_count; i++) {
        if (i % domain == 0) {
            joining->out.nodes[(*next)++] = (struct node){
                .id = text_build(joining->arena, "p%u.%s%u", index, of->name, i / domain),
                .kind = NODE_SWITCH,
                .reduces = of->reduces};
        }
        push_link(joining, joining->first_device[index] + i, *next - 1, of->bandwidth_Bps,
                  of->latency_s, of->link);
    }
}

/* A link between every two devices of a domain. */
static void push_mesh(struct joining *joining, uint32_t index)
{
    const struct cluster *part = &joining->parts[index];
    const struct level *of = &part->levels[0];
    const double each_Bps = of->bandwidth_Bps / (of->degree > 1 ? of->degree - 1 : 1);
    for (uint32_t i = 0; i < part->device_count; i++) {
        for (uint32_t k = i + 1; k < part->device_count && k % of->degree != 0; k++) {
            const uint32_t first = joining->first_device[index];
            push_link(joining, first + i, first + k, each_Bps, 2.0 * of->latency_s, of->link);
        }
    }
}

static bool build(struct joining *joining)
{
    struct cluster *out = &joining->out;
    if (!size_up(joining)) {
        return false;
    }
    uint32_t next = out->device_count;
    for (uint32_t i = 0; i < joining->count; i++) {
        push_devices(joining, i);
        for (uint32_t level = 0; level + 1 < joining->parts[i].level_count; level++) {
            if (joining->parts[i].levels[level].kind == LEVEL_FULLMESH) {
                push_mesh(joining, i);
            } else {
                push_level(joining, i, level, &next);
            }
        }
    }
    out->nodes[next] = (struct node){.id = "fabric", .kind = NODE_SWITCH};
    for (uint32_t i = 0; i < joining->count; i++) {
        for (uint32_t k = 0; k < joining->parts[i].device_count; k++) {
            push_link(joining, joining->first_device[i] + k, next, joining->port_Bps[i],
                      joining->fabric->latency_s, joining->fabric->link);
        }
    }
    out->name =
        text_build_copy(joining->arena, joining->request->text, strlen(joining->request->text));
    out->source = text_build(joining->arena, "joined by %s", joining->fabric->link);
    return cluster_build(out, joining->arena, joining->diag);
}

bool cluster_join_read(const struct cluster_request *request, struct arena *arena,
                       struct cluster *out, struct diag *diag)
{
    struct joining *joining = ARENA_PUSH(arena, struct joining, 1);
    *joining = (struct joining){.request = request, .arena = arena, .diag = diag};
    if (request->fabric == NULL) {
        return diag_push(diag, DIAG_T306, nowhere,
                         "name it: --fabric ib-hdr, or describe the whole as one native JSON "
                         "cluster",
                         "'%s' joins unlike clusters by a network that is not named",
                         request->text);
    }
    if (!interconnect_read(arena, &joining->interconnect, diag) ||
        !interconnect_find_network(&joining->interconnect, request->fabric, &joining->fabric,
                                   diag) ||
        !read_parts(joining)) {
        return false;
    }
    for (uint32_t i = 0; i < joining->count; i++) {
        if (!join_port(joining, i)) {
            return false;
        }
    }
    if (!build(joining)) {
        return false;
    }
    *out = joining->out;
    return true;
}
