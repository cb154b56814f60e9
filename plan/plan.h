/* What a plan is: placement, schedule, policies on one problem.
 *
 * The common case is one group holding all devices with one mesh, one pipeline through it. The
 * general case is a list of groups of device slices and a list of pipelines that walk through
 * them. */
#ifndef SHARDPLAN_PLAN_PLAN_H
#define SHARDPLAN_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "plan/dim.h"
#include "plan/policy.h"
#include "plan/schedule.h"
#include "plan/setup.h"

struct mesh_dim {
    const struct dim *dim;          /* NULL: a dim that the plan declares for its model */
    const char *declared, *axis;    /* its name, the axis that it cuts then */
    uint32_t degree;
    uint32_t variant;               /* index into dim->variants */
};

/* A fold in force: reuses `degree` ranks of its hosts' product. */
struct mesh_fold {
    const struct dim *dim;
    uint32_t degree;                /* on_or_off folds: product of the hosts when on */
};

struct slice_range {
    uint32_t first_device, device_count;
    double compute_frac;            /* share of the device's compute, (0, 1] */
    uint64_t memory_bytes;          /* 0: all of it, times compute_frac */
};

/* {parts, dim, axis}: overrides the dim's own choice of axis for those parts. */
struct cut_override {
    const char *parts;              /* part name or layer range "0-11" */
    const char *dim, *axis;
};

struct dim_shares {
    const char *dim;
    double *fracs;                  /* one per rank along the dim, sum 1 */
    uint32_t count;
};

struct group {
    const char *name;               /* NULL in the common case */
    struct slice_range *slices;     /* slice_count 0: all devices of the cluster */
    uint32_t slice_count;
    uint32_t *coordinates;          /* explicit [rank] -> device order, NULL: cluster order */
    struct mesh_dim mesh[DIM_MAX];  /* innermost first: this order is the rank order over the
                                     * cluster's levels */
    uint32_t mesh_count;
    struct mesh_fold folds[DIM_MAX];
    uint32_t fold_count;
    struct cut_override *cuts;
    uint32_t cut_count;
    struct dim_shares *shares;
    uint32_t share_count;
};

/* One stop of a pipeline: layers (positions in the model's chain, fractions allowed) on a group. */
struct pipeline_stop {
    uint32_t group;
    const char *module;             /* module or part name, NULL: layers below */
    double first_layer, layer_count;
    uint32_t micro_batch;           /* 0: the pipeline's */
};

struct pipeline {
    const char *name;
    double batch_frac;              /* share of the global batch, 0: equal */
    uint32_t micro_batch;           /* 0: the schedule's */
    struct pipeline_stop *stops;    /* stop_count 0: the whole chain over the group's stages */
    uint32_t stop_count;
};

struct plan_schedule {
    const struct schedule *schedule;    /* NULL: the table below */
    const char *table;                  /* schedule given slot by slot: path or inline text; NULL */
    uint32_t micro_batch;               /* sequences per data-parallel rank and micro-batch */
    uint32_t chunks;                    /* model chunks per stage (virtual pipeline), >= 1 */
    uint32_t *layers;                   /* [stage * chunks + chunk] number of layers; NULL: chosen
                                         * exactly by the planner */
    uint32_t stages;                    /* rows of layers */
    const char *dispatch;               /* "fixed" or "ready" */
    uint32_t in_flight_cap;             /* 0: none */
    const char *travels;                /* "activations" or "weights" */
    uint32_t staleness;                 /* versions, 0: synchronous */
};

struct plan {
    struct group *groups;
    uint32_t group_count;
    struct pipeline *pipelines;
    uint32_t pipeline_count;
    struct plan_schedule schedule;
    struct policy_use *policies;
    uint32_t policy_count;
    const char *note;               /* free text carried along, or NULL */
};

/* A saved plan with what it was made for; digests of the embedded inputs are compared with those
 * stated. */
struct plan_file {
    struct model *model;
    struct cluster *cluster;
    struct setup *setup;
    struct plan *plan;
};

/* Reads a plan file. Model and cluster may be embedded objects or {"name": ZOO}. */
bool plan_read(const char *path, struct arena *arena, struct plan_file *out, struct diag *diag);
bool plan_read_json(struct json_value object, const char *name, struct arena *arena,
                    struct plan_file *out, struct diag *diag);
/* embed: model, cluster and setup whole, with digests; else by name. */
void plan_dump(const struct problem *problem, const struct plan *plan, bool embed,
               struct json_writer *out);

/* Legality: every broken rule is reported with what would be right. Structure, degrees,
 * divisibility of every cut axis, batch products, schedule shape, layer sums, the runtime's own
 * rules. */
bool plan_check(const struct problem *problem, const struct plan *plan, struct diag *diag);
/* The same rules without a word: no messages, no allocation; for the search. */
bool plan_is_legal(const struct problem *problem, const struct plan *plan);
/* Can the judges cost it? Each thing they cannot is reported by name (code P48x). */
bool plan_check_costed(const struct problem *problem, const struct plan *plan, struct diag *diag);
/* What of that hangs on the question and the plan's policies alone. */
bool plan_check_costed_question(const struct problem *problem, const struct plan *plan,
                                struct diag *diag);

/* Degree of a dim in the plan's first group: factor degree, fold degree, or 1. */
uint32_t plan_find_degree(const struct plan *plan, const struct dim *dim);
/* Same by name, for callers whose name comes from the user or from data. */
uint32_t plan_find_degree_named(const struct plan *plan, const char *dim);
/* Degree of the dim that cuts the chain; 1 if none. */
uint32_t plan_count_stages(const struct plan *plan);
/* Product of the degrees of the factors that cut the batch axis. */
uint64_t plan_count_replicas(const struct problem *problem, const struct plan *plan);
/* Ranks along it have the same weights: it cuts an axis that data alone has. */
bool plan_cuts_data(const struct model *model, const struct mesh_dim *mesh);
/* Product of the degrees of those: ranks with the same weights. */
uint64_t plan_count_copies(const struct problem *problem, const struct plan *plan);
/* global_batch / (replicas * micro_batch); 0 when not whole. */
uint32_t plan_count_micro_batches(const struct problem *problem, const struct plan *plan);
/* Micro-batches that pass the stages in a step: more than once each where the optimizer asks for
 * several forwards. */
uint32_t plan_count_passes(const struct problem *problem, const struct plan *plan);
/* Product of all factor degrees of all groups: devices used. */
uint64_t plan_count_devices(const struct plan *plan);
/* Layers that a plan spreads over its stages: the chain without a first and a last part that run
 * once (they sit with the first and the last chunk). 0: the model is known by name only. */
uint32_t plan_count_layers(const struct model *model);
/* Digest of what distinguishes plans: mesh, folds, schedule, layers, policies. */
unsigned long long plan_digest(const struct plan *plan);

#endif
