/* What the files of the noun cluster share among themselves. */
#ifndef SHARDPLAN_TOPOLOGIES_CLUSTER_PARTS_H
#define SHARDPLAN_TOPOLOGIES_CLUSTER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "topologies/cluster.h"

#define CLUSTER_FORMAT "shardplan/cluster/1"
/* Of a graph. */
#define CLUSTER_NODE_MAX 1000000u
#define CLUSTER_LINK_MAX 4000000u
/* Nodes with more than one link: the table of ways is its square. */
#define CLUSTER_CORE_MAX 4096u
/* Degree; half of it, the longest way, must fit struct path. */
#define CLUSTER_RING_MAX 128u

/* Device kinds met while reading; each word is looked up once: among the embedded kinds, then in
 * the data folder. */
struct cluster_kinds {
    struct arena *arena;
    struct accelerator *embedded;
    uint32_t embedded_count;
    struct accelerator *accelerators; /* by first use */
    uint32_t count, capacity;
    struct cluster_kind_word *words;
    uint32_t word_count, word_capacity;
};

/* Reads the optional member "accelerators" of a cluster. */
bool cluster_kinds_init(struct cluster_kinds *kinds, struct json_value object, struct arena *arena,
                        struct diag *diag);
/* Index among kinds->accelerators of the kind that `key` of `object` names. */
bool cluster_kinds_find(struct cluster_kinds *kinds, struct json_value object, const char *key,
                        uint32_t *out, struct diag *diag);

extern const char *const cluster_level_kind_names[LEVEL_KIND_COUNT + 1]; /* NULL at the end */

/* Levels and the kinds of their devices; told->nodes replaces the last degree, told->shape the last
 * shape, where they are told. */
bool cluster_levels_read(struct json_value object, const struct cluster_request *told,
                         struct cluster_kinds *kinds, struct cluster *out, struct diag *diag);
/* Devices of all levels together. */
uint64_t cluster_levels_count_devices(const struct cluster *cluster);
uint64_t cluster_levels_count_resources(const struct cluster *cluster);
void cluster_levels_find_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                              struct path *out);

bool cluster_graph_read(struct json_value object, struct cluster_kinds *kinds, struct cluster *out,
                        struct diag *diag);

/* Adds the routes; refuses a core that is too large and ways that are too long. */
bool cluster_routing_build(struct cluster *cluster, struct diag_place place, struct arena *arena,
                           struct diag *diag);
bool cluster_routing_find_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                               struct path *out);
/* First device that no way leads to from device 0; device_count if there is none. */
uint32_t cluster_routing_find_unreachable(const struct cluster *cluster);

/* "A:4,B:8": unlike parts joined by the network request->fabric. */
bool cluster_join_read(const struct cluster_request *request, struct arena *arena,
                       struct cluster *out, struct diag *diag);

/* All of cluster_check, with a place to report at. */
bool cluster_check_at(const struct cluster *cluster, struct diag_place place, struct diag *diag);

#endif
