/* What a planning method measures first: seconds and bytes of every layer on every kind of device,
 * under the mesh of one stage. */
#ifndef SHARDPLAN_PLANNER_LAYER_PROFILE_H
#define SHARDPLAN_PLANNER_LAYER_PROFILE_H

#include "plan/estimator.h"

/* Middle layers in chain order; the first has the chain's first part on top, the last its last.
 * Of one micro-batch, on one device. */
struct layer_profile {
    uint32_t layers, kinds;
    double *forward_s, *backward_s;     /* [kind * layers + layer] */
    double *weight_bytes;               /* [layer] gradients that replicas sum */
    double cut_bytes;                   /* one way between two stages, of one device */
};

/* By the plan's mesh and policies, whatever its stages. False: the plan is not legal. */
bool layer_profile_build(const struct problem *problem, const struct estimator *estimator,
                         const struct plan *plan, struct arena *arena, struct layer_profile *out);

/* Kind of a device: index into the cluster's accelerators. */
uint32_t layer_profile_find_kind(const struct problem *problem, uint32_t device);

#endif
