/* The sharding rule: who cuts which axis of an op, in what state that leaves a tensor, what brings
 * it to another state.
 *
 * The ranks of a group fall into atoms: runs of ranks that always act together (a host dim split
 * where a fold takes some of its ranks). For an op every atom cuts one axis or none. A tensor's
 * state per atom is: whole, cut on an axis, or a partial sum. */
#ifndef SHARDPLAN_PLAN_SHARD_RULE_H
#define SHARDPLAN_PLAN_SHARD_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/work.h"

#define ATOM_MAX 16
#define STATE_WHOLE (-1)
#define STATE_PARTIAL (-2)

struct shard_atom {
    uint32_t size, stride;      /* ranks, distance in rank numbers */
    uint32_t dim;               /* dim_table index of the factor it belongs to */
    uint32_t variant;
    uint32_t beside;            /* dim_table index of a beside fold in force on it, or NO_INDEX */
    uint32_t instead;           /* dim_table index of an instead fold that takes it where it
                                 * applies, or NO_INDEX */
};

/* What a dim of the mesh may cut, in the model's own axes: those that it has. */
struct shard_list {
    axis_set any;                           /* of all entries */
    int8_t axis[DIM_CUT_MAX];
    axis_set beside[DIM_CUT_MAX];           /* which axis must be there too, itself: none */
    uint32_t count;
};

struct shard_mesh {
    struct shard_atom atoms[ATOM_MAX];      /* innermost first */
    uint32_t atom_count;
    const struct model *model;
    uint64_t sizes[AXIS_MAX];               /* of every axis under this setup, whole group */
    double routed_load;                     /* of the busiest rank over the mean, >= 1 */
    struct shard_list lists[DIM_MAX];       /* per dim_table entry, of the dims that atoms name */
    axis_set images[AXIS_MAX];              /* axes that are images of this one */
    axis_set batch, padded;                 /* the axis of that name; those that the runtime pads */
};

/* Per atom: axis index >= 0, STATE_WHOLE or STATE_PARTIAL. */
struct shard_state {
    int8_t at[ATOM_MAX];
};

/* The axis each atom cuts in an op with that domain (>= 0) or STATE_WHOLE, and on whose behalf. */
struct shard_cut {
    int8_t axis[ATOM_MAX];
    uint32_t dim[ATOM_MAX];     /* dim_table index: the host, or the instead fold that took the
                                 * atom */
    uint32_t beside_atoms;      /* bit set: cut by a beside fold */
};

enum shard_action {
    SHARD_REDUCE,
    SHARD_REDUCE_SCATTER,
    SHARD_EXCHANGE,
    SHARD_GATHER,
    SHARD_ACTION_COUNT
};

/* One collective that a transition needs; bytes per local device under the rule of
 * plan/collective.h. */
struct shard_move {
    enum shard_action action;
    uint32_t atoms;             /* bit set */
    uint32_t dim;               /* charged */
    double elements;            /* buffer elements, whole as plan/collective.h counts */
};

#define SHARD_MOVE_MAX 8

void shard_mesh_build(const struct problem *problem, const struct plan *plan,
                      struct shard_mesh *out);
void shard_cut_find(const struct shard_mesh *mesh, axis_set domain, struct shard_cut *out);
/* State in which an op with that cut leaves its output. */
struct shard_state shard_state_output(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                      const struct tensor *tensor);
/* State in which an op with that cut wants an operand (mirrored: read over images of its axes). */
struct shard_state shard_state_operand(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                       const struct tensor *tensor, bool mirrored);
/* State in which it leaves that operand's gradient. */
struct shard_state shard_state_gradient(const struct shard_mesh *mesh, const struct shard_cut *cut,
                                        const struct tensor *tensor, bool mirrored);
/* Of a tensor that has a part of its points (tokens sent to experts) where ranks hold different
 * ones of what they are sent to: the busiest rank's share over the mean, else 1. at: axis cut per
 * atom, of a state or of an op. */
double shard_routed_load(const struct shard_mesh *mesh, const struct tensor *tensor,
                         const int8_t at[ATOM_MAX]);
/* Elements of the tensor on one device in that state (partial counts as whole), density and copies
 * included. */
double shard_count_elements(const struct shard_mesh *mesh, const struct tensor *tensor,
                            const struct shard_state *state);
/* Moves from one state to another, in order; their number. Slicing is free and yields none. */
uint32_t shard_moves_find(const struct shard_mesh *mesh, const struct tensor *tensor,
                          struct shard_state from, struct shard_state to,
                          struct shard_move out[SHARD_MOVE_MAX]);
/* Size of an axis in an op on one device, rounded up. */
uint64_t shard_axis_size(const struct shard_mesh *mesh, const struct shard_cut *cut, uint32_t axis);

#endif
