/* The kernels of a part without its messages and what sorts rows for them, op by op: what a mesh
 * gives one device to compute.
 *
 * A dim that cuts no axis of an op changes nothing of its kernels, so ops are put together by the
 * dims that can: under two meshes that agree in those, with the same micro-batch, they do the
 * same. */
#ifndef SHARDPLAN_PLAN_WORK_KERNELS_H
#define SHARDPLAN_PLAN_WORK_KERNELS_H

#include "plan/work.h"

struct work_kernels {
    uint32_t part;              /* of the model */
    uint32_t *ops;              /* of the part, ascending */
    uint32_t op_count;
    uint32_t dims;              /* bit per dim_table entry that can cut one of them. Not those that
                                 * cut nothing but the batch: a micro-batch has its size whatever
                                 * they are. Of a fold: its hosts too */
};

/* All ops of all parts, each once; their number. */
uint32_t work_kernels_find(const struct model *model, struct arena *arena,
                           struct work_kernels **out);
/* Messages of a part alone: those of tensors that ops of the same dims write and read. */
struct work_moves {
    uint32_t part;
    uint32_t dims;              /* as above; of some of the part's ops, not of all of them */
    bool *tensors;              /* per tensor of the model */
};

/* Sets of moves, no tensor in two of them; their number. None where all ops of a part have the same
 * dims. */
uint32_t work_moves_find(const struct model *model, struct arena *arena, struct work_moves **out);
/* A program of one block that holds these messages alone, but for those that travel under other
 * work. Of the plan's mesh nothing matters but the moves' dims and where their ranks are. */
void work_moves_build(const struct problem *problem, const struct plan *plan,
                      const struct work_moves *moves, struct arena *arena, struct work *out);
/* A program of one block that holds these kernels alone, forward and backward, as they are where
 * everything is kept. Each kind of the cluster's devices is a site of it. first_block and
 * last_block are NO_INDEX. */
void work_kernels_build(const struct problem *problem, const struct plan *plan,
                        const struct work_kernels *kernels, struct arena *arena, struct work *out);

#endif
