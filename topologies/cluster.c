/* Reading clusters, by path or by name of the zoo, whichever of the two forms they have. */
#include "topologies/cluster.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "topologies/catalogue.h"
#include "topologies/cluster_parts.h"
#include "topologies/member.h"

static const struct diag_place no_place = {.file = NULL};

/* --- one object ------------------------------------------------------------------------------- */

/* Whether the object describes levels or a graph; neither and both are refused. */
static bool find_form(struct json_value object, bool *out_levels, struct diag *diag)
{
    static const char *const graph_keys[] = {"devices", "switches", "links"};
    const bool levels = !json_is_absent(json_find(object, "levels"));
    bool graph = false;
    for (uint32_t i = 0; i < sizeof graph_keys / sizeof graph_keys[0]; i++) {
        const struct json_value found = json_find(object, graph_keys[i]);
        graph = graph || !json_is_absent(found);
        if (levels && !json_is_absent(found)) {
            return diag_push(diag, DIAG_T307, json_place(found), NULL,
                             "a cluster has either 'levels' or '%s': remove one of them",
                             graph_keys[i]);
        }
    }
    if (!levels && !graph) {
        return diag_push(diag, DIAG_T307, json_place(object), NULL,
                         "the cluster has neither 'levels' nor 'devices' with 'links'");
    }
    *out_levels = levels;
    return true;
}

static bool build_at(struct cluster *cluster, struct diag_place place, struct arena *arena,
                     struct diag *diag)
{
    if (!cluster_check_at(cluster, place, diag) ||
        (cluster->level_count == 0 && !cluster_routing_build(cluster, place, arena, diag))) {
        return false;
    }
    struct arena scratch;
    struct text text;
    struct json_writer writer;
    arena_init(&scratch);
    text_init(&text, &scratch);
    json_writer_init(&writer, &text, true);
    cluster_dump(cluster, &writer);
    cluster->digest = text_digest(TEXT_DIGEST_SEED, text.bytes, text.length);
    arena_release(&scratch);
    return true;
}

/* `nodes` is the degree of the last level, 0 to leave it as written. */
static bool read_object(struct json_value object, const char *name, uint32_t nodes,
                        struct arena *arena, struct cluster *out, struct diag *diag)
{
    static const char *const keys[] = {"format",  "name",         "aliases", "source",
                                       "notes",   "accelerators", "device",  "levels",
                                       "devices", "switches",     "links",   NULL};
    struct cluster read = {.level_count = 0};
    struct cluster_kinds kinds;
    bool levels = true;
    if (!member_check_format(object, CLUSTER_FORMAT, diag) || !find_form(object, &levels, diag)) {
        return false;
    }
    if (nodes > 0 && !levels) {
        return diag_push(
            diag, DIAG_T305, no_place, NULL,
            "cluster '%s' is a graph: a number of nodes can be given only for clusters "
            "of levels",
            name);
    }
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string_or(object, "name", name, arena, &read.name, diag) && good;
    good = json_read_string_or(object, "source", "", arena, &read.source, diag) && good;
    if (!cluster_kinds_init(&kinds, object, arena, diag)) {
        return false;
    }
    good = (levels ? cluster_levels_read(object, nodes, &kinds, &read, diag)
                   : cluster_graph_read(object, &kinds, &read, diag)) &&
           good;
    read.accelerators = kinds.accelerators;
    read.accelerator_count = kinds.count;
    if (!good) {
        return false;
    }
    const struct diag_place place = json_place(json_find(object, levels ? "levels" : "links"));
    if (!build_at(&read, place, arena, diag)) {
        return false;
    }
    *out = read;
    return true;
}

bool cluster_read_json(struct json_value object, const char *name, struct arena *arena,
                       struct cluster *out, struct diag *diag)
{
    return read_object(object, name, 0, arena, out, diag);
}

bool cluster_build(struct cluster *cluster, struct arena *arena, struct diag *diag)
{
    return build_at(cluster, no_place, arena, diag);
}

/* --- by path or name -------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool is_path(const char *text)
{
    return strcmp(text, "-") == 0 || strchr(text, '/') != NULL || ends_with(text, ".json");
}

static bool read_file(const char *path, const char *name, uint32_t nodes, struct arena *arena,
                      struct cluster *out, struct diag *diag)
{
    struct json *document;
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_object(json_root(document), name, nodes, arena, out, diag);
    json_close(document);
    return good;
}

/* The number of nodes behind the colon: a whole number from 1 that fits 32 bits. */
static bool read_nodes(const char *text, const char *zoo_name, uint32_t *out, struct diag *diag)
{
    uint64_t nodes = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && nodes <= UINT32_MAX; at++) {
        nodes = nodes * 10 + (uint64_t)(*at - '0');
    }
    if (*at != '\0' || nodes == 0 || nodes > UINT32_MAX) {
        return diag_push(
            diag, DIAG_T305, no_place, NULL,
            "'%s' is no number of nodes for cluster '%s': write a whole number from 1, "
            "such as '%s:64'",
            text, zoo_name, zoo_name);
    }
    *out = (uint32_t)nodes;
    return true;
}

static bool read_zoo(const char *text, struct arena *arena, struct cluster *out, struct diag *diag)
{
    static const struct catalogue catalogue = {
        .folder = "topologies/zoo", .noun = "cluster", .unknown = DIAG_T302};
    const char *colon = strchr(text, ':');
    const size_t length = colon == NULL ? strlen(text) : (size_t)(colon - text);
    const char *name = text_build_copy(arena, text, length);
    const char *path;
    uint32_t nodes = 0;
    return (colon == NULL || read_nodes(colon + 1, name, &nodes, diag)) &&
           catalogue_find(&catalogue, name, no_place, arena, &path, diag) &&
           read_file(path, name, nodes, arena, out, diag);
}

bool cluster_read(const char *name_or_path, struct arena *arena, struct cluster *out,
                  struct diag *diag)
{
    if (is_path(name_or_path)) {
        return read_file(name_or_path, name_or_path, 0, arena, out, diag);
    }
    const char *comma = strchr(name_or_path, ',');
    if (comma != NULL) {
        return diag_push(
            diag, DIAG_T306, no_place,
            "describe the parts and the fabric between them as one native JSON cluster",
            "'%s' joins unlike clusters, which is not supported", name_or_path);
    }
    return read_zoo(name_or_path, arena, out, diag);
}

/* --- questions -------------------------------------------------------------------------------- */

const struct accelerator *cluster_find_accelerator(const struct cluster *cluster, uint32_t device)
{
    assert(device < cluster->device_count);
    return &cluster->accelerators[cluster->device_kind == NULL ? 0 : cluster->device_kind[device]];
}

uint32_t cluster_count_resources(const struct cluster *cluster)
{
    return cluster->level_count > 0 ? (uint32_t)cluster_levels_count_resources(cluster)
                                    : 2 * cluster->link_count;
}

bool cluster_find_path(const struct cluster *cluster, uint32_t from, uint32_t to, struct path *out)
{
    assert(from != to && from < cluster->device_count && to < cluster->device_count);
    if (cluster->level_count == 0) {
        return cluster_routing_find_path(cluster, from, to, out);
    }
    cluster_levels_find_path(cluster, from, to, out);
    return true;
}
