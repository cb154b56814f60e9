/* What the files of the noun machine share among themselves. */
#ifndef SHARDPLAN_TOPOLOGIES_MACHINE_INSIDE_H
#define SHARDPLAN_TOPOLOGIES_MACHINE_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "topologies/machine.h"

struct machine_word {
    const char *word;
    uint32_t kind; /* MACHINE_NONE: no accelerator has that name */
};

/* A network card as it will stand in the cluster, by part; Bps 0: it will not. */
struct machine_card {
    const struct network *network;
    double Bps, up_Bps; /* towards the network; towards its bridge */
};

/* Links beside PCI that will stand in the cluster. */
struct machine_joint {
    uint32_t a, b; /* devices by number; b MACHINE_SWITCH */
    double Bps;
    const char *link;
};

struct machine_building {
    struct machine *machine;
    const struct cluster_request *request;
    struct interconnect interconnect;
    struct arena *arena;
    struct diag *diag;
    const struct machine_part **devices; /* in their order */
    uint32_t device_count;
    uint32_t *device_of; /* per part that is a device: its number */
    uint32_t *kinds;     /* per device */
    struct accelerator *accelerators;
    uint32_t accelerator_count;
    struct machine_word *words;
    uint32_t word_count;
    bool *used; /* per part: stands in the cluster */
    struct machine_card *cards;
    uint32_t *first_card; /* per part: the card that stands for all under it, or MACHINE_NONE */
    uint32_t cards_silent; /* cards of which nothing is known */
    const struct network *network; /* NULL: nothing leaves the computer */
    struct machine_joint *joints;
    uint32_t joint_count;
    bool switched, reduces; /* there is a switch; it reduces */
    bool sockets_assumed;
};

/* Fills the joints from the file's peers, or from what the device kind has where it has none. */
bool machine_peers_find(struct machine_building *building);
/* The link between two sockets. */
double machine_socket_Bps(struct machine_building *building, const struct machine_part *a,
                          const struct machine_part *b);
/* Writes all that is used into a graph, once per node. */
bool machine_graph_build(struct machine_building *building, struct cluster *out);

#endif
