/* One computer as topology files show it: sockets, PCI bridges, devices, network cards, with the
 * links beside PCI that join devices. Readers fill it; machine_build makes a cluster of it. */
#ifndef SHARDPLAN_TOPOLOGIES_MACHINE_H
#define SHARDPLAN_TOPOLOGIES_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "topologies/cluster.h"
#include "topologies/interconnect.h"

#define MACHINE_NONE UINT32_MAX
#define MACHINE_SWITCH (UINT32_MAX - 1) /* the switch that joins all devices beside PCI */
#define MACHINE_PART_MAX 4096u
#define MACHINE_PEER_MAX 65536u

enum machine_kind {
    MACHINE_SOCKET,
    MACHINE_BRIDGE,
    MACHINE_DEVICE,
    MACHINE_CARD,
    MACHINE_KIND_COUNT
};

struct machine_part {
    enum machine_kind kind;
    const char *name; /* as the file calls it, for messages */
    struct diag_place place;
    uint32_t parent;     /* an earlier part; MACHINE_NONE for sockets */
    double up_Bps;       /* link to the parent, one direction; 0: not said */
    const char *up_link; /* link kind of it */
    /* devices */
    const char *device_kind; /* name or alias of its accelerator, "10de:2330"; NULL: not said */
    uint32_t order;          /* devices are numbered by it, then by name */
    /* cards */
    double net_Bps;         /* all ports; 0: not said */
    const char *net_family; /* "infiniband"; NULL: not said */
    /* sockets */
    const char *cpu_vendor; /* NULL: not said */
    uint32_t cpu_family, cpu_model;
};

/* Links beside PCI between two devices, or from one to the switch. */
struct machine_peer {
    uint32_t a, b;  /* parts; b MACHINE_SWITCH */
    uint32_t count; /* links of the device's kind; 0: `Bps` is known */
    double Bps;     /* one direction */
};

struct machine {
    const char *name, *source;
    struct diag_place place; /* the file */
    struct arena *arena;
    struct machine_part *parts;
    uint32_t part_count, part_capacity;
    struct machine_peer *peers;
    uint32_t peer_count, peer_capacity;
};

/* The name of the cluster is that of the file without folder and ending. */
void machine_init(struct machine *machine, const char *file, const char *source,
                  struct arena *arena);
/* Adds a copy; `out` is its index. Reports a computer of too many parts (T314). */
bool machine_push_part(struct machine *machine, const struct machine_part *part, uint32_t *out,
                       struct diag *diag);
bool machine_push_peer(struct machine *machine, const struct machine_peer *peer,
                       struct diag *diag);

/* request->nodes of these computers, 0 for one alone. What the file does not say and the request
 * neither is taken from the device kind or topologies/interconnects.json and named in a warning
 * (T319), or, where there is nothing to take, reported (T317 to T319). */
bool machine_build(struct machine *machine, const struct cluster_request *request,
                   struct cluster *out, struct diag *diag);

#endif
