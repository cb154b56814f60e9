/* Reading clusters, by path or by name of the zoo, whichever of the two forms they have. */
#include "topologies/cluster.h"

#include <assert.h>
#include <string.h>

#include "base/file_text.h"
#include "base/text.h"
#include "topologies/catalogue.h"
#include "topologies/cluster_parts.h"
#include "topologies/member.h"
#include "topologies/topology_file.h"

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

/* One tier for devices of all kinds. */
static bool read_host(struct json_value object, struct arena *arena, struct cluster *out,
                      struct diag *diag)
{
    struct host host = {.memory_bytes = 0};
    const bool good = host_read(object, arena, &host, diag);
    for (uint32_t i = 0; host.memory_bytes > 0 && i < out->accelerator_count; i++) {
        out->accelerators[i].host = host;
    }
    return good;
}

static bool read_object(struct json_value object, const char *name,
                        const struct cluster_request *told, struct arena *arena,
                        struct cluster *out, struct diag *diag)
{
    static const char *const keys[] = {"format",       "name",   "aliases", "source",  "notes",
                                       "accelerators", "device", "levels",  "devices", "switches",
                                       "links",        "host",   NULL};
    struct cluster read = {.level_count = 0};
    struct cluster_kinds kinds;
    bool levels = true;
    if (!member_check_format(object, CLUSTER_FORMAT, diag) || !find_form(object, &levels, diag)) {
        return false;
    }
    if ((told->nodes > 0 || told->axis_count > 0) && !levels) {
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
    good = (levels ? cluster_levels_read(object, told, &kinds, &read, diag)
                   : cluster_graph_read(object, &kinds, &read, diag)) &&
           good;
    read.accelerators = kinds.accelerators;
    read.accelerator_count = kinds.count;
    good = read_host(object, arena, &read, diag) && good;
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
    const struct cluster_request told = {.text = name};
    return read_object(object, name, &told, arena, out, diag);
}

bool cluster_build(struct cluster *cluster, struct arena *arena, struct diag *diag)
{
    return build_at(cluster, no_place, arena, diag);
}

/* --- by path or name -------------------------------------------------------------------------- */

/* The length without ":NODES" or ":SHAPE", if that stands behind. */
static size_t find_path_length(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon != NULL && colon[1 + strspn(colon + 1, "0123456789x")] == '\0'
               ? (size_t)(colon - text)
               : strlen(text);
}

static bool is_path(const char *text)
{
    static const char *const ends[] = {".json", ".xml", ".txt"};
    bool good = strcmp(text, "-") == 0 || strchr(text, '/') != NULL;
    const size_t length = find_path_length(text);
    for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t end = strlen(ends[i]);
        good = good || (length >= end && memcmp(text + length - end, ends[i], end) == 0);
    }
    return good;
}

/* A whole number from 1 that fits 32 bits at *cursor, which moves behind it. */
static bool read_number(const char **cursor, uint32_t *out)
{
    uint64_t number = 0;
    for (; **cursor >= '0' && **cursor <= '9' && number <= UINT32_MAX; (*cursor)++) {
        number = number * 10 + (uint64_t)(**cursor - '0');
    }
    *out = (uint32_t)number;
    return number > 0 && number <= UINT32_MAX;
}

/* Numbers with an x between; false when that is not all up to a colon or the end. */
static bool read_shape(const char **cursor, struct cluster_request *out)
{
    do {
        *cursor += out->axis_count > 0;
        if (out->axis_count == LEVEL_AXIS_MAX ||
            !read_number(cursor, &out->shape[out->axis_count++])) {
            return false;
        }
    } while (**cursor == 'x');
    return **cursor == ':' || **cursor == '\0';
}

/* What stands behind a name: "64", "4x4x8", "4x4x8:2". */
static bool read_tail(const char *tail, const char *name, struct cluster_request *out,
                      struct diag *diag)
{
    const char *at = tail;
    const bool shaped = tail[strspn(tail, "0123456789")] == 'x';
    bool good = !shaped || read_shape(&at, out);
    at += good && shaped && *at == ':';
    if (good && (!shaped || at[-1] == ':')) {
        good = read_number(&at, &out->nodes);
    }
    return (good && *at == '\0') ||
           diag_push(diag, DIAG_T305, no_place, NULL,
                     "'%s' is no number of nodes for cluster '%s': write a whole number from 1, "
                     "such as '%s:64', or the shape of a torus, such as '%s:4x4'",
                     tail, name, name, name);
}

bool cluster_read_topology(const struct cluster_text *text, const struct cluster_request *request,
                           struct arena *arena, struct cluster *out, struct diag *diag)
{
    return topology_file_read(text, request, arena, out, diag);
}

/* What only topology files and joined clusters leave open. */
static bool check_told(const struct cluster_request *request, struct diag *diag)
{
    if (request->device != NULL) {
        return diag_push(diag, DIAG_T320, no_place, "leave --device out",
                         "'%s' names its devices itself; --device '%s' is for topology files that "
                         "do not",
                         request->text, request->device);
    }
    return request->fabric == NULL ||
           diag_push(diag, DIAG_T320, no_place, "leave --fabric out",
                     "'%s' names its links itself; --fabric '%s' is for joined clusters and "
                     "topology files",
                     request->text, request->fabric);
}

static bool read_native(const struct cluster_text *text, const struct cluster_request *request,
                        struct arena *arena, struct cluster *out, struct diag *diag)
{
    struct json *document;
    if (!check_told(request, diag) ||
        !json_open_text(text->name, text->bytes, text->length, false, arena, &document, diag)) {
        return false;
    }
    const bool good = read_object(json_root(document), text->name, request, arena, out, diag);
    json_close(document);
    return good;
}

static bool read_file(const char *path, const struct cluster_request *request, struct arena *arena,
                      struct cluster *out, struct diag *diag)
{
    struct arena scratch;
    struct text text;
    arena_init(&scratch);
    const char *name = file_text_name(path, arena);
    bool good = file_text_read(path, name, json_limits.max_bytes, &scratch, &text, diag);
    if (good) {
        const struct cluster_text file = {name, text.bytes, text.length};
        good = topology_file_find_kind(&file) == TOPOLOGY_NONE
                   ? read_native(&file, request, arena, out, diag)
                   : topology_file_read(&file, request, arena, out, diag);
    }
    arena_release(&scratch);
    return good;
}

/* A path, or a path of a topology with the number of such computers: "node.xml:4". */
static bool read_path(struct cluster_request request, struct arena *arena, struct cluster *out,
                      struct diag *diag)
{
    const size_t length = find_path_length(request.text);
    const char *path = text_build_copy(arena, request.text, length);
    return (request.text[length] == '\0' ||
            read_tail(request.text + length + 1, path, &request, diag)) &&
           read_file(path, &request, arena, out, diag);
}

static bool read_zoo(struct cluster_request request, struct arena *arena, struct cluster *out,
                     struct diag *diag)
{
    static const struct catalogue catalogue = {
        .folder = "topologies/zoo", .noun = "cluster", .unknown = DIAG_T302};
    const char *colon = strchr(request.text, ':');
    const size_t length = colon == NULL ? strlen(request.text) : (size_t)(colon - request.text);
    const char *name = text_build_copy(arena, request.text, length);
    const char *path;
    return (colon == NULL || read_tail(colon + 1, name, &request, diag)) &&
           catalogue_find(&catalogue, name, no_place, arena, &path, diag) &&
           read_file(path, &request, arena, out, diag);
}

bool cluster_read_request(const struct cluster_request *request, struct arena *arena,
                          struct cluster *out, struct diag *diag)
{
    if (strchr(request->text, ',') != NULL) {
        return cluster_join_read(request, arena, out, diag);
    }
    return is_path(request->text) ? read_path(*request, arena, out, diag)
                                  : read_zoo(*request, arena, out, diag);
}

bool cluster_read(const char *name_or_path, struct arena *arena, struct cluster *out,
                  struct diag *diag)
{
    const struct cluster_request request = {.text = name_or_path};
    return cluster_read_request(&request, arena, out, diag);
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
