/* Writing clusters: what cluster_read_json reads back to the same cluster. */
#include <string.h>

#include "base/text.h"
#include "topologies/cluster_parts.h"
#include "topologies/id_range.h"
#include "topologies/member.h"

/* --- levels ----------------------------------------------------------------------------------- */

/* One kind by its name; several by stretches of equal devices. */
static void dump_kinds(const struct cluster *cluster, struct json_writer *out)
{
    json_push_key(out, "device");
    if (cluster->device_kind == NULL) {
        json_push_string(out, cluster->accelerators[0].name);
        return;
    }
    json_push_array(out);
    uint32_t end;
    for (uint32_t i = 0; i < cluster->device_count; i = end) {
        end = i + 1;
        while (end < cluster->device_count &&
               cluster->device_kind[end] == cluster->device_kind[i]) {
            end++;
        }
        json_push_object(out);
        json_push_key_string(out, "kind", cluster->accelerators[cluster->device_kind[i]].name);
        json_push_key_u64(out, "count", end - i);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_shape(const struct level *level, struct json_writer *out)
{
    if (level->axis_count == 0) {
        return;
    }
    json_push_key(out, "shape");
    json_push_array(out);
    for (uint32_t i = 0; i < level->axis_count; i++) {
        json_push_u64(out, level->shape[i]);
    }
    json_pop_array(out);
    if (level->wraps_at > 1) {
        json_push_key_u64(out, "wraps_at", level->wraps_at);
    }
}

static void dump_levels(const struct cluster *cluster, struct json_writer *out)
{
    dump_kinds(cluster, out);
    json_push_key(out, "levels");
    json_push_array(out);
    for (uint32_t i = 0; i < cluster->level_count; i++) {
        const struct level *level = &cluster->levels[i];
        json_push_object(out);
        json_push_key_string(out, "name", level->name);
        json_push_key_string(out, "kind", cluster_level_kind_names[level->kind]);
        json_push_key_u64(out, "degree", level->degree);
        json_push_key_quantity(out, "bandwidth", UNIT_BYTES_PER_SECOND, level->bandwidth_Bps);
        json_push_key_quantity(out, "latency", UNIT_SECONDS, level->latency_s);
        json_push_key_string(out, "link", level->link);
        if (level->reduces) {
            json_push_key_bool(out, "in_network_reduction", true);
        }
        dump_shape(level, out);
        json_pop_object(out);
    }
    json_pop_array(out);
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* How the names of a stretch go on: each next number, or the same name all along. */
enum progress { STARTS, COUNTS, STAYS };

struct stretch {
    const char *first;
    size_t prefix_length;
    uint32_t low, high;
    bool numbered;
    enum progress progress;
};

static struct stretch start_stretch(const char *id)
{
    struct stretch stretch = {.first = id, .progress = STARTS};
    stretch.numbered = id_range_find_number(id, &stretch.prefix_length, &stretch.low);
    stretch.high = stretch.low;
    return stretch;
}

/* Whether `id` may follow, and how. */
static bool can_follow(const struct stretch *stretch, const char *id, enum progress *out)
{
    size_t prefix_length;
    uint32_t number;
    if (stretch->progress != COUNTS && strcmp(stretch->first, id) == 0) {
        *out = STAYS;
        return true;
    }
    *out = COUNTS;
    return stretch->progress != STAYS && stretch->numbered &&
           id_range_find_number(id, &prefix_length, &number) &&
           prefix_length == stretch->prefix_length &&
           strncmp(stretch->first, id, prefix_length) == 0 && number == stretch->high + 1;
}

static void follow(struct stretch *stretch, enum progress progress)
{
    stretch->progress = progress;
    stretch->high += progress == COUNTS ? 1 : 0;
}

static void dump_stretch(const struct stretch *stretch, const char *key, struct json_writer *out)
{
    if (stretch->progress != COUNTS) {
        json_push_key_string(out, key, stretch->first);
        return;
    }
    struct arena scratch;
    arena_init(&scratch);
    json_push_key_string(out, key,
                         text_build(&scratch, "%.*s[%u-%u]", (int)stretch->prefix_length,
                                    stretch->first, stretch->low, stretch->high));
    arena_release(&scratch);
}

/* --- graph ------------------------------------------------------------------------------------ */

static bool is_same_node(const struct cluster *cluster, uint32_t a, uint32_t b)
{
    return a < cluster->device_count
               ? b < cluster->device_count &&
                     cluster_find_accelerator(cluster, a) == cluster_find_accelerator(cluster, b)
               : cluster->nodes[a].reduces == cluster->nodes[b].reduces;
}

/* Nodes `begin` up to `end`, those of equal kind and counted names as one. */
static void dump_nodes(const struct cluster *cluster, uint32_t begin, uint32_t end,
                       struct json_writer *out)
{
    json_push_array(out);
    uint32_t next;
    for (uint32_t i = begin; i < end; i = next) {
        struct stretch stretch = start_stretch(cluster->nodes[i].id);
        enum progress progress;
        for (next = i + 1; next < end && is_same_node(cluster, i, next) &&
                           can_follow(&stretch, cluster->nodes[next].id, &progress);
             next++) {
            follow(&stretch, progress);
        }
        json_push_object(out);
        dump_stretch(&stretch, "id", out);
        if (i < cluster->device_count) {
            json_push_key_string(out, "kind", cluster_find_accelerator(cluster, i)->name);
        } else if (cluster->nodes[i].reduces) {
            json_push_key_bool(out, "in_network_reduction", true);
        }
        json_pop_object(out);
    }
    json_pop_array(out);
}

static bool is_same_link(const struct link *a, const struct link *b)
{
    return !(a->bandwidth_Bps < b->bandwidth_Bps) && !(a->bandwidth_Bps > b->bandwidth_Bps) &&
           !(a->latency_s < b->latency_s) && !(a->latency_s > b->latency_s) &&
           a->half_duplex == b->half_duplex && strcmp(a->link, b->link) == 0;
}

/* Both ends go on, and at least one of them counts. */
static bool can_link_follow(const struct cluster *cluster, const struct link *link,
                            const struct stretch ends[2], enum progress progress[2])
{
    return can_follow(&ends[0], cluster->nodes[link->from].id, &progress[0]) &&
           can_follow(&ends[1], cluster->nodes[link->to].id, &progress[1]) &&
           (progress[0] == COUNTS || progress[1] == COUNTS);
}

static void dump_link(const struct link *link, const struct stretch ends[2],
                      struct json_writer *out)
{
    json_push_object(out);
    dump_stretch(&ends[0], "from", out);
    dump_stretch(&ends[1], "to", out);
    json_push_key_quantity(out, "bandwidth", UNIT_BYTES_PER_SECOND, link->bandwidth_Bps);
    json_push_key_quantity(out, "latency", UNIT_SECONDS, link->latency_s);
    json_push_key_string(out, "duplex", link->half_duplex ? "half" : "full");
    json_push_key_string(out, "link", link->link);
    json_pop_object(out);
}

static void dump_links(const struct cluster *cluster, struct json_writer *out)
{
    json_push_array(out);
    uint32_t next;
    for (uint32_t i = 0; i < cluster->link_count; i = next) {
        const struct link *link = &cluster->links[i];
        struct stretch ends[2] = {start_stretch(cluster->nodes[link->from].id),
                                  start_stretch(cluster->nodes[link->to].id)};
        enum progress progress[2];
        for (next = i + 1;
             next < cluster->link_count && is_same_link(link, &cluster->links[next]) &&
             can_link_follow(cluster, &cluster->links[next], ends, progress);
             next++) {
            follow(&ends[0], progress[0]);
            follow(&ends[1], progress[1]);
        }
        dump_link(link, ends, out);
    }
    json_pop_array(out);
}

static void dump_graph(const struct cluster *cluster, struct json_writer *out)
{
    json_push_key(out, "devices");
    dump_nodes(cluster, 0, cluster->device_count, out);
    json_push_key(out, "switches");
    dump_nodes(cluster, cluster->device_count, cluster->node_count, out);
    json_push_key(out, "links");
    dump_links(cluster, out);
}

void cluster_dump(const struct cluster *cluster, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "format", CLUSTER_FORMAT);
    json_push_key_string(out, "name", cluster->name);
    member_dump_text("source", cluster->source, out);
    if (cluster->level_count > 0) {
        dump_levels(cluster, out);
    } else {
        dump_graph(cluster, out);
    }
    json_push_key(out, "accelerators");
    json_push_array(out);
    for (uint32_t i = 0; i < cluster->accelerator_count; i++) {
        accelerator_dump(&cluster->accelerators[i], out);
    }
    json_pop_array(out);
    json_pop_object(out);
}
