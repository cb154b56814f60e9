/* What it runs on: devices joined by a hierarchy of levels or by an arbitrary graph.
 *
 * Levels, innermost first: devices 0..n-1 are numbered so that a level-0 domain is `degree`
 * consecutive devices, a level-1 domain `degree` consecutive level-0 domains, and so on. A
 * transfer between two devices crosses the lowest level whose domain holds both, at that level's
 * bandwidth, through a port of the sender and a port of the receiver that belong to that level
 * (NVLink ports, NIC): ports are the resources that transfers share. Ports by kind of level,
 * where a device may send `bandwidth` in total:
 * - switch: one port out and one in, each of the full bandwidth;
 * - fullmesh: a port out and one in per peer domain, each of bandwidth / (degree - 1);
 * - ring: a link up and a link down, each of bandwidth / 2 (the full bandwidth where degree is
 *   2: one neighbour). A transfer goes the shorter way round over the links of the devices
 *   between, each step adding the latency; half way round, domains of even index send up, odd
 *   ones down. Above level 0 a device's links lead to the devices of its own offset in the next
 *   domains: the last step is taken on the links of the receiver's offset (a single step between
 *   offsets takes a link of both), so that sender and receiver are never faster than their
 *   links;
 * - mesh: the domains stand on a grid of the level's shape, the first axis fastest; per axis a
 *   link up and a link down, each of bandwidth / (2 x axes), whatever lies at the end of it. A
 *   transfer goes along the first axis until it is level with its target, then along the second,
 *   and so on (dimension order), over the links of the devices between, as in a ring;
 * - torus: the same, but an axis of 3 or more whose size is a multiple of wraps_at also joins its
 *   ends, and a transfer goes the shorter way round.
 *
 * Graph: devices and switches are nodes, links carry bandwidth; a transfer follows the shortest
 * path (fewest hops, then highest bandwidth, then lowest node index; of parallel links the
 * widest, then the first). Devices pass on what is not for them. */
#ifndef SHARDPLAN_TOPOLOGIES_CLUSTER_H
#define SHARDPLAN_TOPOLOGIES_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "topologies/accelerator.h"

#define LEVEL_MAX 8
#define PATH_HOP_MAX 64
/* Link kind of levels and links that name none: bandwidth and latency as written. */
#define LINK_RAW "raw"

#define LEVEL_AXIS_MAX 4

enum level_kind {
    LEVEL_SWITCH,
    LEVEL_FULLMESH,
    LEVEL_RING,
    LEVEL_MESH,
    LEVEL_TORUS,
    LEVEL_KIND_COUNT
};

struct level {
    const char *name; /* "node", "fabric" */
    enum level_kind kind;
    uint32_t degree;
    double bandwidth_Bps; /* what one device can send at this level in one direction, in all */
    double latency_s;     /* one way, on top of the link kind's protocol latency */
    const char *link;     /* link kind of the price list: "nvlink4", "ib-ndr", LINK_RAW */
    bool reduces;         /* its switches can reduce in flight */
    uint32_t axis_count;  /* mesh and torus, else 0; the sizes multiply to the degree */
    uint32_t shape[LEVEL_AXIS_MAX];
    uint32_t wraps_at; /* torus: axes of a multiple of this close; at least 1 */
};

enum node_kind { NODE_DEVICE, NODE_SWITCH, NODE_KIND_COUNT };

struct node {
    const char *id;
    enum node_kind kind;
    uint32_t device; /* index among devices, NODE_DEVICE */
    bool reduces;    /* NODE_SWITCH */
};

struct link {
    uint32_t from, to; /* nodes */
    double bandwidth_Bps;
    double latency_s;
    const char *link; /* link kind */
    bool half_duplex; /* one resource for both directions instead of two */
};

struct cluster {
    const char *name;
    const char *source;
    struct accelerator *accelerators; /* device kinds */
    uint32_t accelerator_count;
    uint32_t device_count;
    uint32_t *device_kind; /* accelerator index per device; NULL: all of kind 0 */
    struct level levels[LEVEL_MAX];
    uint32_t level_count; /* 0: a graph */
    struct node *nodes;   /* devices first, in their order: node d is device d */
    uint32_t node_count;
    struct link *links;
    uint32_t link_count;
    /* Routes of a graph, built by cluster_build. A leaf is a node with one link: it is on no way
     * but its own, so the table is over the other nodes, the core, only. */
    uint32_t core_count;
    const uint32_t *core;      /* per node: index in the core; of a leaf, its neighbour's */
    const uint32_t *leaf_link; /* per node: the only link of a leaf, UINT32_MAX for the core */
    const uint32_t *next_hop;  /* core_count x core_count: link leaving core node a towards
                                         * core node b; UINT32_MAX where a is b or no way leads */
    unsigned long long digest; /* of the compact dump, device kinds included */
};

/* One resource of a path: a port or a direction of a link. */
struct hop {
    uint32_t resource; /* < cluster_count_resources */
    double bandwidth_Bps;
};

struct path {
    uint32_t hop_count;
    struct hop hops[PATH_HOP_MAX];
    double latency_s;     /* sum over the way, one direction */
    double bandwidth_Bps; /* smallest of the hops, alone */
    const char *link;     /* link kind of the slowest hop */
    uint32_t level;       /* crossed level, or level_count for graphs */
};

/* What stands for a cluster, with what its reader is told besides. */
struct cluster_request {
    const char *text;   /* as for cluster_read */
    const char *device; /* kind of devices that a topology file does not name; NULL: not told */
    const char *fabric; /* link kind of the network between unlike parts or nodes; NULL */
    /* Filled by cluster_read_request from the text. */
    uint32_t nodes;                 /* 0: not told */
    uint32_t shape[LEVEL_AXIS_MAX]; /* of the last level that has one */
    uint32_t axis_count;            /* 0: not told */
};

/* What a file holds. */
struct cluster_text {
    const char *name; /* of the file, for messages */
    const char *bytes;
    size_t length;
};

/* A path ("-" and all that holds a '/' or ends in .json, .xml, .txt) of native JSON, NCCL topology
 * XML, hwloc XML or a table of `nvidia-smi topo -m`, told apart by what it holds; or ZOO[:NODES]
 * among topologies/zoo of the data folder, by names and aliases without regard to case. NODES
 * replaces the degree of the last level; PATH.xml:NODES joins as many of the computers by their
 * network cards. Numbers with an x between, "tpu-v5p:4x4x8", replace the shape of the last level
 * that has one; NODES may follow: "tpu-v5p:4x4x8:2". */
bool cluster_read(const char *name_or_path, struct arena *arena, struct cluster *out,
                  struct diag *diag);
bool cluster_read_request(const struct cluster_request *request, struct arena *arena,
                          struct cluster *out, struct diag *diag);
/* A topology of another program. */
bool cluster_read_topology(const struct cluster_text *text, const struct cluster_request *request,
                           struct arena *arena, struct cluster *out, struct diag *diag);
bool cluster_read_json(struct json_value object, const char *name, struct arena *arena,
                       struct cluster *out, struct diag *diag);
/* For clusters filled in memory: checks, then adds routes and digest. The readers end with it. */
bool cluster_build(struct cluster *cluster, struct arena *arena, struct diag *diag);
bool cluster_check(const struct cluster *cluster, struct diag *diag);
/* Device kinds are written in full, so that what is read back does not depend on the data
 * folder. */
void cluster_dump(const struct cluster *cluster, struct json_writer *out);

const struct accelerator *cluster_find_accelerator(const struct cluster *cluster, uint32_t device);
uint32_t cluster_count_resources(const struct cluster *cluster);
/* False when no way leads from one device to the other. from != to. */
bool cluster_find_path(const struct cluster *cluster, uint32_t from, uint32_t to, struct path *out);
/* Lowest level whose domain holds both devices; level clusters only. */
uint32_t cluster_find_level(const struct cluster *cluster, uint32_t a, uint32_t b);
/* Whether every link that ways cross is the port of one device: all levels are switched. */
bool cluster_has_own_ports(const struct cluster *cluster);
/* Whether the way between two of its domains depends on where they stand: ring, mesh, torus. */
bool cluster_is_stepped(const struct level *level);
/* Whether that axis joins its ends. */
bool cluster_wraps(const struct level *level, uint32_t axis);
/* Devices in one domain of the level: product of degrees up to and including it. */
uint64_t cluster_count_domain(const struct cluster *cluster, uint32_t level);

#endif
