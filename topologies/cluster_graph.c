/* Clusters that are an arbitrary graph of devices, switches and links. */
#include "base/text.h"
#include "topologies/cluster_parts.h"
#include "topologies/id_index.h"
#include "topologies/id_range.h"
#include "topologies/member.h"

/* One element of "devices" or "switches": all nodes of its range. */
struct node_entry {
    struct json_value value;
    struct id_range range;
    struct node node; /* without id */
    uint32_t kind;    /* of a device */
};

/* One element of "links": all links of its ranges. */
struct link_entry {
    struct json_value value;
    struct id_range from, to;
    uint64_t count;
    struct link link; /* without ends */
};

struct reading {
    struct arena *arena;  /* of the cluster */
    struct arena scratch; /* until the graph is read */
    struct cluster *out;
    struct diag *diag;
    struct node_entry *entries;
    uint32_t entry_count;
    uint32_t *entry_of_node;
    const char **ids; /* of all nodes: what a wrong id is compared to */
    struct id_index index;
};

static bool read_range(struct reading *reading, struct json_value value, const char *key,
                       struct id_range *out)
{
    const char *text;
    if (!json_read_string(value, key, &reading->scratch, &text, reading->diag)) {
        return false;
    }
    return id_range_read(text, out) ||
           diag_push(reading->diag, DIAG_T309, json_place(json_find(value, key)), NULL,
                     "'%s' is no id: write a name, or a range such as \"gpu[0-7]\"", text);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool read_device(struct reading *reading, struct json_value object, struct json_value value,
                        struct cluster_kinds *kinds, struct node_entry *out)
{
    static const char *const keys[] = {"id", "kind", NULL};
    if (!json_is_object(value)) {
        return diag_push(reading->diag, DIAG_B107, json_place(value), NULL,
                         "a device must be an object with 'id' and 'kind'");
    }
    const bool common =
        json_is_absent(json_find(value, "kind")) && !json_is_absent(json_find(object, "device"));
    out->value = value;
    out->node.kind = NODE_DEVICE;
    bool good = json_check_keys(value, keys, reading->diag);
    good = read_range(reading, value, "id", &out->range) && good;
    return cluster_kinds_find(kinds, common ? object : value, common ? "device" : "kind",
                              &out->kind, reading->diag) &&
           good;
}

static bool read_switch(struct reading *reading, struct json_value value, struct node_entry *out)
{
    static const char *const keys[] = {"id", "in_network_reduction", NULL};
    if (!json_is_object(value)) {
        return diag_push(reading->diag, DIAG_B107, json_place(value), NULL,
                         "a switch must be an object with 'id'");
    }
    out->value = value;
    out->node.kind = NODE_SWITCH;
    bool good = json_check_keys(value, keys, reading->diag);
    good = json_read_bool_or(value, "in_network_reduction", false, &out->node.reduces,
                             reading->diag) &&
           good;
    return read_range(reading, value, "id", &out->range) && good;
}

static bool read_entries(struct reading *reading, struct json_value object,
                         struct cluster_kinds *kinds)
{
    struct json_value devices, switches = json_find(object, "switches");
    if (!member_read_array(object, "devices", "a list of devices", &devices, reading->diag) ||
        (!json_is_null(switches) &&
         !member_read_array(object, "switches", "a list of switches", &switches, reading->diag))) {
        return false;
    }
    const uint32_t device_entries = json_count(devices);
    reading->entry_count = device_entries + (json_is_null(switches) ? 0 : json_count(switches));
    reading->entries = ARENA_PUSH(&reading->scratch, struct node_entry, reading->entry_count);
    bool good = true;
    for (uint32_t i = 0; i < device_entries; i++) {
        const struct json_value value = json_find_index(devices, i);
        good = read_device(reading, object, value, kinds, &reading->entries[i]) && good;
    }
    for (uint32_t i = device_entries; i < reading->entry_count; i++) {
        const struct json_value value = json_find_index(switches, i - device_entries);
        good = read_switch(reading, value, &reading->entries[i]) && good;
    }
    return good;
}

static bool count_nodes(struct reading *reading, struct json_value object)
{
    uint64_t devices = 0;
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < reading->entry_count; i++) {
        const struct node_entry *entry = &reading->entries[i];
        if (entry->range.count > CLUSTER_NODE_MAX - nodes) {
            return diag_push(reading->diag, DIAG_T314, json_place(entry->value), NULL,
                             "more than %u devices and switches in a graph: describe the cluster "
                             "by levels",
                             CLUSTER_NODE_MAX);
        }
        nodes += entry->range.count;
        devices += entry->node.kind == NODE_DEVICE ? entry->range.count : 0;
    }
    reading->out->node_count = (uint32_t)nodes;
    reading->out->device_count = (uint32_t)devices;
    return devices > 0 ||
           diag_push(reading->diag, DIAG_T307, json_place(json_find(object, "devices")), NULL,
                     "a cluster needs at least one device");
}

static void fill_nodes(struct reading *reading)
{
    struct cluster *out = reading->out;
    out->nodes = ARENA_PUSH(reading->arena, struct node, out->node_count);
    out->device_kind = ARENA_PUSH(reading->arena, uint32_t, out->device_count);
    reading->entry_of_node = ARENA_PUSH(&reading->scratch, uint32_t, out->node_count);
    uint32_t next = 0;
    for (uint32_t i = 0; i < reading->entry_count; i++) {
        const struct node_entry *entry = &reading->entries[i];
        for (uint64_t k = 0; k < entry->range.count; k++, next++) {
            out->nodes[next] = entry->node;
            out->nodes[next].id = id_range_build(&entry->range, k, reading->arena);
            reading->entry_of_node[next] = i;
            if (entry->node.kind == NODE_DEVICE) {
                out->nodes[next].device = next;
                out->device_kind[next] = entry->kind;
            }
        }
    }
}

/* One report per element of the lists, however many of its names are taken. */
static bool index_nodes(struct reading *reading)
{
    const struct cluster *out = reading->out;
    struct id_entry *sorted = ARENA_PUSH(&reading->scratch, struct id_entry, out->node_count);
    reading->ids = ARENA_PUSH(&reading->scratch, const char *, out->node_count);
    for (uint32_t i = 0; i < out->node_count; i++) {
        reading->ids[i] = out->nodes[i].id;
        sorted[i] = (struct id_entry){.id = out->nodes[i].id, .number = i};
    }
    id_index_init(&reading->index, sorted, out->node_count);
    bool *reported = ARENA_PUSH(&reading->scratch, bool, reading->entry_count);
    bool good = true;
    for (uint32_t at = id_index_find_twin(&reading->index, 0); at < out->node_count;
         at = id_index_find_twin(&reading->index, at + 1)) {
        const uint32_t entry = reading->entry_of_node[sorted[at].number];
        if (!reported[entry]) {
            reported[entry] = true;
            good = diag_push(reading->diag, DIAG_T310,
                             json_place(json_find(reading->entries[entry].value, "id")), NULL,
                             "the id '%s' is taken already: give every device and switch its own",
                             sorted[at].id);
        }
    }
    return good;
}

static bool read_nodes(struct reading *reading, struct json_value object,
                       struct cluster_kinds *kinds)
{
    if (!read_entries(reading, object, kinds) || !count_nodes(reading, object)) {
        return false;
    }
    fill_nodes(reading);
    return index_nodes(reading);
}

/* --- links ------------------------------------------------------------------------------------ */

static bool read_duplex(struct reading *reading, struct json_value value, bool *out)
{
    static const char *const words[] = {"full", "half", NULL};
    uint32_t word = 0;
    if (!json_is_null(json_find(value, "duplex")) &&
        !json_read_choice(value, "duplex", words, &word, reading->diag)) {
        return false;
    }
    *out = word == 1;
    return true;
}

static bool read_bandwidth(struct reading *reading, struct json_value value, double *out)
{
    if (!json_read_quantity(value, "bandwidth", UNIT_BYTES_PER_SECOND, out, reading->diag)) {
        return false;
    }
    return *out > 0 ||
           diag_push(reading->diag, DIAG_T308, json_place(json_find(value, "bandwidth")), NULL,
                     "a link with a bandwidth of 0 B/s carries nothing: write what it carries "
                     "in one direction, such as \"25 GB/s\", or leave the link out");
}

/* Both ends single, one end a range to or from a single node, or two ranges of one size in step. */
static bool match_ranges(struct reading *reading, struct link_entry *entry)
{
    const uint64_t from = entry->from.count;
    const uint64_t to = entry->to.count;
    entry->count = from > to ? from : to;
    return from == to || from == 1 || to == 1 ||
           diag_push(reading->diag, DIAG_T309, json_place(entry->value), NULL,
                     "'from' stands for %llu nodes and 'to' for %llu: two ranges must be of one "
                     "size, or one end a single node",
                     (unsigned long long)from, (unsigned long long)to);
}

static bool read_link_entry(struct reading *reading, struct json_value value,
                            struct link_entry *out)
{
    static const char *const keys[] = {"from",   "to",   "bandwidth", "latency",
                                       "duplex", "link", NULL};
    struct diag *diag = reading->diag;
    if (!json_is_object(value)) {
        return diag_push(diag, DIAG_B107, json_place(value), NULL,
                         "a link must be an object with 'from', 'to' and 'bandwidth'");
    }
    out->value = value;
    bool good = json_check_keys(value, keys, diag);
    bool ends = read_range(reading, value, "from", &out->from);
    ends = read_range(reading, value, "to", &out->to) && ends;
    good = ends && match_ranges(reading, out) && good;
    good = read_bandwidth(reading, value, &out->link.bandwidth_Bps) && good;
    good = json_read_quantity_or(value, "latency", UNIT_SECONDS, 0, &out->link.latency_s, diag) &&
           good;
    good = read_duplex(reading, value, &out->link.half_duplex) && good;
    return json_read_string_or(value, "link", LINK_RAW, reading->arena, &out->link.link, diag) &&
           good;
}

static bool find_end(struct reading *reading, const struct link_entry *entry,
                     const struct id_range *range, uint64_t index, uint32_t *out)
{
    const char *id = id_range_build(range, range->count == 1 ? 0 : index, &reading->scratch);
    if (id_index_find(&reading->index, id, out)) {
        return true;
    }
    const char *key = range == &entry->from ? "from" : "to";
    const char *near = reading->diag->kept < DIAG_MAX
                           ? text_find_nearest(id, reading->ids, reading->out->node_count)
                           : NULL;
    const char *hint =
        near == NULL ? NULL : text_build(reading->diag->arena, "did you mean '%s'?", near);
    return diag_push(reading->diag, DIAG_T311, json_place(json_find(entry->value, key)), hint,
                     "'%s' is the id of no device and no switch", id);
}

/* All links of one element; the first fault is enough. */
static bool fill_links(struct reading *reading, const struct link_entry *entry)
{
    struct cluster *out = reading->out;
    for (uint64_t k = 0; k < entry->count; k++) {
        struct link *link = &out->links[out->link_count];
        *link = entry->link;
        bool found = find_end(reading, entry, &entry->from, k, &link->from);
        found = find_end(reading, entry, &entry->to, k, &link->to) && found;
        if (!found) {
            return false;
        }
        if (link->from == link->to) {
            return diag_push(reading->diag, DIAG_T312, json_place(entry->value), NULL,
                             "a link leads from '%s' to itself: a link joins two nodes",
                             out->nodes[link->from].id);
        }
        out->link_count++;
    }
    return true;
}

static bool read_links(struct reading *reading, struct json_value object)
{
    struct json_value links;
    if (!member_read_array(object, "links", "a list of links", &links, reading->diag)) {
        return false;
    }
    const uint32_t entry_count = json_count(links);
    struct link_entry *entries = ARENA_PUSH(&reading->scratch, struct link_entry, entry_count);
    uint64_t count = 0;
    bool good = true;
    for (uint32_t i = 0; i < entry_count; i++) {
        good = read_link_entry(reading, json_find_index(links, i), &entries[i]) && good;
        if (good && entries[i].count > CLUSTER_LINK_MAX - count) {
            return diag_push(reading->diag, DIAG_T314, json_place(entries[i].value), NULL,
                             "more than %u links in a graph: describe the cluster by levels",
                             CLUSTER_LINK_MAX);
        }
        count += good ? entries[i].count : 0;
    }
    if (!good) {
        return false;
    }
    reading->out->links = ARENA_PUSH(reading->arena, struct link, count);
    for (uint32_t i = 0; i < entry_count; i++) {
        good = fill_links(reading, &entries[i]) && good;
    }
    return good;
}

bool cluster_graph_read(struct json_value object, struct cluster_kinds *kinds, struct cluster *out,
                        struct diag *diag)
{
    struct reading reading = {.arena = kinds->arena, .out = out, .diag = diag};
    arena_init(&reading.scratch);
    const bool good = read_nodes(&reading, object, kinds) && read_links(&reading, object);
    arena_release(&reading.scratch);
    return good;
}
