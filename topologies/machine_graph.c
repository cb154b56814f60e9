/* Parts and links of one computer as nodes and links of a graph, once per computer. */
#include <string.h>

#include "base/text.h"
#include "topologies/cluster_parts.h"
#include "topologies/machine_inside.h"

#define SOCKET_LINK "socket"

struct graph {
    struct machine_building *building;
    struct cluster *out;
    uint32_t nodes;      /* computers */
    uint32_t *slot;      /* per part that is a switch: its number among those of one computer */
    uint32_t slot_count; /* with the switch beside PCI, last */
    uint32_t next;       /* node */
};

static bool is_kept(const struct machine_building *building, uint32_t part)
{
    return building->used[part] &&
           (building->machine->parts[part].kind != MACHINE_CARD || building->cards[part].Bps > 0);
}

static uint32_t find_node(const struct graph *graph, uint32_t copy, uint32_t part)
{
    const struct machine_building *building = graph->building;
    return building->machine->parts[part].kind == MACHINE_DEVICE
               ? copy * building->device_count + building->device_of[part]
               : graph->out->device_count + copy * graph->slot_count + graph->slot[part];
}

static uint32_t find_switch(const struct graph *graph, uint32_t copy)
{
    return graph->out->device_count + (copy + 1) * graph->slot_count - 1;
}

static uint32_t find_fabric(const struct graph *graph)
{
    return graph->out->node_count - 1;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void push_node(struct graph *graph, uint32_t copy, const char *noun, uint32_t number,
                      bool device)
{
    struct arena *arena = graph->building->arena;
    graph->out->nodes[graph->next] = (struct node){
        .id = graph->nodes > 1 ? text_build(arena, "n%u.%s%u", copy, noun, number)
                               : text_build(arena, "%s%u", noun, number),
        .kind = device ? NODE_DEVICE : NODE_SWITCH,
        .device = device ? graph->next : 0,
    };
    graph->next++;
}

static void push_parts(struct graph *graph, uint32_t copy)
{
    static const char *const nouns[MACHINE_KIND_COUNT] = {
        [MACHINE_SOCKET] = "cpu",
        [MACHINE_BRIDGE] = "pci",
        [MACHINE_DEVICE] = "gpu",
        [MACHINE_CARD] = "nic",
    };
    const struct machine *machine = graph->building->machine;
    uint32_t numbers[MACHINE_KIND_COUNT] = {0};
    uint32_t slot = 0;
    for (uint32_t i = 0; i < machine->part_count; i++) {
        const enum machine_kind kind = machine->parts[i].kind;
        if (kind == MACHINE_DEVICE || !is_kept(graph->building, i)) {
            continue;
        }
        graph->slot[i] = slot++;
        push_node(graph, copy, nouns[kind], numbers[kind]++, false);
    }
    if (graph->building->switched) {
        graph->out->nodes[graph->next].reduces = false;
        push_node(graph, copy, "switch", 0, false);
        graph->out->nodes[graph->next - 1].reduces = graph->building->reduces;
    }
}

static void push_nodes(struct graph *graph)
{
    struct machine_building *building = graph->building;
    struct cluster *out = graph->out;
    out->nodes = ARENA_PUSH(building->arena, struct node, out->node_count);
    out->device_kind = ARENA_PUSH(building->arena, uint32_t, out->device_count);
    for (uint32_t copy = 0; copy < graph->nodes; copy++) {
        for (uint32_t i = 0; i < building->device_count; i++) {
            out->device_kind[graph->next] = building->kinds[i];
            push_node(graph, copy, "gpu", i, true);
        }
    }
    for (uint32_t copy = 0; copy < graph->nodes; copy++) {
        push_parts(graph, copy);
    }
    if (building->network != NULL) {
        out->nodes[graph->next++] = (struct node){.id = "fabric", .kind = NODE_SWITCH};
    }
}

/* --- links ------------------------------------------------------------------------------------ */

static void push_link(struct graph *graph, uint32_t from, uint32_t to, double Bps, const char *kind,
                      double latency_s)
{
    graph->out->links[graph->out->link_count++] = (struct link){
        .from = from, .to = to, .bandwidth_Bps = Bps, .latency_s = latency_s, .link = kind};
}

static void push_pci(struct graph *graph, uint32_t copy)
{
    const struct machine_building *building = graph->building;
    for (uint32_t i = 0; i < building->machine->part_count; i++) {
        const struct machine_part *part = &building->machine->parts[i];
        if (!is_kept(building, i)) {
            continue;
        }
        if (part->parent != MACHINE_NONE) {
            const double up_Bps =
                part->kind == MACHINE_CARD && building->cards[i].up_Bps > part->up_Bps
                    ? building->cards[i].up_Bps
                    : part->up_Bps;
            push_link(graph, find_node(graph, copy, i), find_node(graph, copy, part->parent),
                      up_Bps, part->up_link, 0);
        }
        if (part->kind == MACHINE_CARD) {
            push_link(graph, find_node(graph, copy, i), find_fabric(graph), building->cards[i].Bps,
                      building->network->link, building->network->latency_s / 2);
        }
    }
}

static void push_sockets(struct graph *graph, uint32_t copy)
{
    struct machine_building *building = graph->building;
    const struct machine_part *parts = building->machine->parts;
    for (uint32_t a = 0; a < building->machine->part_count; a++) {
        for (uint32_t b = a + 1; b < building->machine->part_count &&
                                 parts[a].kind == MACHINE_SOCKET && building->used[a];
             b++) {
            if (parts[b].kind == MACHINE_SOCKET && building->used[b]) {
                push_link(graph, find_node(graph, copy, a), find_node(graph, copy, b),
                          machine_socket_Bps(building, &parts[a], &parts[b]), SOCKET_LINK, 0);
            }
        }
    }
}

static void push_joints(struct graph *graph, uint32_t copy)
{
    const struct machine_building *building = graph->building;
    const uint32_t first = copy * building->device_count;
    for (uint32_t i = 0; i < building->joint_count; i++) {
        const struct machine_joint *joint = &building->joints[i];
        const uint32_t to =
            joint->b == MACHINE_SWITCH ? find_switch(graph, copy) : first + joint->b;
        push_link(graph, first + joint->a, to, joint->Bps, joint->link, 0);
    }
}

/* Links of one computer at most. */
static uint64_t count_links(const struct machine_building *building)
{
    uint64_t sockets = 0;
    for (uint32_t i = 0; i < building->machine->part_count; i++) {
        sockets += building->machine->parts[i].kind == MACHINE_SOCKET && building->used[i];
    }
    return (uint64_t)2 * building->machine->part_count + sockets * sockets / 2 +
           building->joint_count;
}

static bool check_size(const struct graph *graph, uint64_t nodes, uint64_t links)
{
    const struct machine_building *building = graph->building;
    return (nodes <= CLUSTER_NODE_MAX && links <= CLUSTER_LINK_MAX) ||
           diag_push(building->diag, DIAG_T314, building->machine->place,
                     "describe a cluster of this size by levels",
                     "%u of these computers have %llu nodes and up to %llu links; a graph may have "
                     "%u and %u",
                     graph->nodes, (unsigned long long)nodes, (unsigned long long)links,
                     CLUSTER_NODE_MAX, CLUSTER_LINK_MAX);
}

static void say_assumed(const struct machine_building *building)
{
    if (building->sockets_assumed) {
        diag_push_warning(building->diag, DIAG_T319, building->machine->place, NULL,
                          "the file does not say what joins the sockets: %.4g GB/s taken",
                          building->interconnect.socket_assumed_Bps / 1e9);
    }
}

bool machine_graph_build(struct machine_building *building, struct cluster *out)
{
    struct cluster built = {.name = building->machine->name,
                            .source = building->machine->source,
                            .accelerators = building->accelerators,
                            .accelerator_count = building->accelerator_count};
    const uint32_t copies = building->request->nodes < 2 ? 1 : building->request->nodes;
    struct graph graph = {.building = building, .out = &built, .nodes = copies};
    for (uint32_t i = 0; i < building->machine->part_count; i++) {
        graph.slot_count +=
            building->machine->parts[i].kind != MACHINE_DEVICE && is_kept(building, i);
    }
    graph.slot_count += building->switched;
    const uint64_t nodes =
        (uint64_t)copies * ((uint64_t)building->device_count + graph.slot_count) +
        (building->network != NULL);
    const uint64_t links = copies * count_links(building);
    if (!check_size(&graph, nodes, links)) {
        return false;
    }
    built.node_count = (uint32_t)nodes;
    built.device_count = copies * building->device_count;
    graph.slot = ARENA_PUSH(building->arena, uint32_t, building->machine->part_count);
    push_nodes(&graph);
    built.links = ARENA_PUSH(building->arena, struct link, links);
    for (uint32_t copy = 0; copy < copies; copy++) {
        push_pci(&graph, copy);
        push_sockets(&graph, copy);
        push_joints(&graph, copy);
    }
    say_assumed(building);
    if (!cluster_build(&built, building->arena, building->diag)) {
        return false;
    }
    *out = built;
    return true;
}
