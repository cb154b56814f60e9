/* Layers onto intervals of a row of devices, each stage on as many replicas as suit it: the dynamic
 * programme PRM of SPP (INFOCOM 2022, arXiv 2204.10562), and what a schedule of such a plan takes
 * at least and at most. */
#ifndef SHARDPLAN_PLANNER_REPLICA_PARTITION_H
#define SHARDPLAN_PLANNER_REPLICA_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* A chain of layers: seconds of a whole micro-batch on one device of speed 1, bytes. */
struct replica_chain {
    uint32_t layers, micro_batches;
    const double *forward_s, *backward_s;
    const double *weight_bytes;                 /* [layer] summed over the replicas */
    const double *forward_bytes, *backward_bytes;   /* [layer] to the next one and back from it */
};

/* Devices in a row. */
struct replica_row {
    uint32_t count;
    const double *bandwidth_Bps;                /* [a * count + b] of places of the row */
    const double *speeds;                       /* [place]; NULL: all 1 */
};

struct replica_stage {
    uint32_t first_layer, layers, first_place, replicas;
};

/* The partition into that many stages over all devices whose busiest stage or joint is least busy
 * over a step: max over stages of M (F + B) + sum of gradients (a ring), over joints of M (there +
 * back), all pairs of replicas sending at once. Equal to the best of all such partitions. replicas:
 * of every stage, 0: as many as suit it. out: room for the stages. Gives the objective, which no
 * schedule of the plan can beat; REPLICA_PARTITION_NEVER_S: too few layers or devices. */
#define REPLICA_PARTITION_NEVER_S 1e300
double replica_partition_find(const struct replica_chain *chain, const struct replica_row *row,
                              uint32_t stages, uint32_t replicas, struct arena *arena,
                              struct replica_stage *out);

/* What blocks of a plan last: of its stages and of the joints between them. */
struct replica_times {
    uint32_t stages;
    double *forward_s, *backward_s, *sum_s;     /* [stage] */
    double *send_s, *send_back_s;               /* [stage]: to the next one, from it */
};
void replica_partition_time(const struct replica_chain *chain, const struct replica_row *row,
                            const struct replica_stage *stages, uint32_t count,
                            struct arena *arena, struct replica_times *out);

#endif
