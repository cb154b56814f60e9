/* Bare transfers on a cluster: raw bandwidths, raw latencies, shared links. */
#ifndef SHARDPLAN_SIM_FLOWS_H
#define SHARDPLAN_SIM_FLOWS_H

#include "base/arena.h"
#include "base/diag.h"
#include "topologies/cluster.h"

/* bytes and start_s finite, not negative; source and destination are devices of the cluster. A
 * transfer to its own source takes no time. */
struct flows_transfer {
    uint32_t source, destination;
    double bytes, start_s;
};

struct flows_result {
    double *finish_s; /* per transfer: start + latency of the way + bytes at max-min fair rates */
    uint64_t events;
};

/* S802 when the end lies beyond what can be counted. The cluster has passed cluster_check. */
bool flows_run(const struct cluster *cluster, const struct flows_transfer *transfers,
               uint32_t count, struct arena *arena, struct flows_result *out, struct diag *diag);

#endif
