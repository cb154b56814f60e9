/* Rates of the links between parts of a computer, between computers: what topology files leave
 * out. */
#ifndef SHARDPLAN_TOPOLOGIES_INTERCONNECT_H
#define SHARDPLAN_TOPOLOGIES_INTERCONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"

struct pci_rate {
    double gt_per_s; /* of the speed's name, "16 GT/s" */
    double lane_Bps; /* one direction */
    const char *link;
};

struct socket_rate {
    const char *vendor;
    uint32_t family; /* 0: any */
    uint32_t model_from;
    double bandwidth_Bps;
};

/* A network that joins nodes: a link kind. Ports of one family join, at the rate of the slower. */
struct network {
    const char *link, *family;
    double port_Bps;
    double latency_s; /* one way through its switches */
};

struct interconnect {
    const struct pci_rate *pci; /* ascending */
    uint32_t pci_count;
    double pci_assumed_gt_per_s;
    uint32_t pci_assumed_width;
    const struct socket_rate *sockets; /* the first that fits counts */
    uint32_t socket_count;
    double socket_assumed_Bps;
    const struct network *networks;
    uint32_t network_count;
};

/* Reads topologies/interconnects.json of the data folder. */
bool interconnect_read(struct arena *arena, struct interconnect *out, struct diag *diag);
/* NULL: no such speed. */
const struct pci_rate *interconnect_find_pci(const struct interconnect *interconnect,
                                             double gt_per_s);
/* NULL: no such CPU. */
const struct socket_rate *interconnect_find_socket(const struct interconnect *interconnect,
                                                   const char *vendor, uint32_t family,
                                                   uint32_t model);
/* By link kind; reports an unknown one with the nearest (T316). */
bool interconnect_find_network(const struct interconnect *interconnect, const char *link,
                               const struct network **out, struct diag *diag);
/* The network of that family whose port is nearest below or at `port_Bps`; if all are faster, the
 * slowest. NULL: no such family. */
const struct network *interconnect_find_family(const struct interconnect *interconnect,
                                               const char *family, double port_Bps);

#endif
