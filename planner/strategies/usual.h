/* What most methods do alike: the mesh that they choose from, and how they make a plan fit. */
#ifndef SHARDPLAN_PLANNER_STRATEGIES_USUAL_H
#define SHARDPLAN_PLANNER_STRATEGIES_USUAL_H

#include "planner/strategy.h"

struct usual_mesh {
    uint32_t tensor, stages, replicas, micro_batch;
};

/* Tensor ranks innermost, with sequence parallelism; then replicas, then stages. */
struct plan *usual_build_plan(const struct strategy_case *of, const struct usual_mesh *mesh);

typedef void usual_visit(const struct strategy_case *of, const struct usual_mesh *mesh,
                         void *state);
/* Every mesh of all devices: tensor ranks that divide a server, no more stages than layers,
 * micro-batches of strategy_list_micro. */
void usual_each_mesh(const struct strategy_case *of, usual_visit *visit, void *state);

/* The plan as it is; where it does not fit, with the optimizer's states shared over replicas, with
 * attention recomputed, with whole layers recomputed: the first of those that fits. */
bool usual_offer(const struct strategy_case *of, const struct plan *plan);

#endif
