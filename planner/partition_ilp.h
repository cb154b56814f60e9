/* The stage partition as one integer programme: slow, but nothing to get wrong. An oracle for
 * small instances. */
#ifndef SHARDPLAN_PLANNER_PARTITION_ILP_H
#define SHARDPLAN_PLANNER_PARTITION_ILP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Layers of a chain onto stages in order, at least `least` each. A stage's seconds and bytes are
 * the sums of its layers' own and its extra. */
struct partition_ilp {
    uint32_t stages, layers, least, micro_batches;
    const double *layer_s, *layer_bytes;    /* [stage * layers + layer] */
    const double *extra_s, *extra_bytes;    /* [stage] */
    const double *room_bytes;               /* [stage] */
    uint32_t node_limit;                    /* of the tree, 0: none */
};

struct partition_answer {
    bool found;                 /* counts hold a partition; false and proven: there is none */
    bool proven;                /* false: the node limit was reached */
    double step_s;              /* sum(t) + (m - 1) max(t), computed again from the counts */
    double gap_frac;            /* how far step_s may be above the optimum, of step_s; 0 when
                                 * proven */
    double bottleneck_s;
};

/* counts: room for one per stage. BUG when the solver's answer breaks its own rows. */
void partition_ilp_find(const struct partition_ilp *problem, uint32_t *counts, struct arena *arena,
                        struct partition_answer *out);

#endif
