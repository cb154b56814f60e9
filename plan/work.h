/* What a plan makes each device do: the work program, one for both judges.
 *
 * A program is a handful of blocks (one per part of the model, and per way of keeping its
 * activations) plus where they sit. A block lists, in execution order, the compute items and
 * messages of one layer for one micro-batch on one device, and the messages and updates of one
 * step. Amounts only: bytes, FLOPs, shapes; no seconds.
 *
 * How the items follow from the sharding rule (plan/shard_rule.h): forward, each operand is brought
 * from the state its producer left to the cut its consumer wants; backward, each gradient likewise
 * in the other direction; a weight gradient is a partial sum over every dim that cut an axis the
 * weight does not have. Policies then rewrite the program. */
#ifndef SHARDPLAN_PLAN_WORK_H
#define SHARDPLAN_PLAN_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "models/model.h"
#include "plan/collective.h"
#include "plan/collective_group.h"
#include "plan/plan.h"
#include "plan/setup.h"
#include "plan/work_site.h"

enum work_pass { PASS_FORWARD, PASS_INPUT_GRADIENT, PASS_WEIGHT_GRADIENT, PASS_UPDATE, PASS_COUNT };

/* One kernel's work on one device. */
struct work_compute {
    const char *name;               /* op's name */
    enum op_kind kind;
    enum work_pass pass;
    bool recompute;                 /* forward work done again for the backward */
    bool joined;                    /* same kernel as the compute item before: priced as one, the
                                     * extents of the joined weights add: n forward and weight
                                     * gradient, k input gradient */
    bool converts;                  /* OP_STREAM: to another number format */
    bool reorders;                  /* OP_STREAM: sends rows to experts, or brings them back */
    bool permutes;                  /* OP_STREAM: rows change places */
    bool on_host;                   /* OP_STREAM: by the host's processors, from its memory */
    bool counts;                    /* reorders, and the host must know how many before it
                                     * goes on */
    bool flash;                     /* OP_ATTENTION: flash kernel, else plain
                                     * matmul-softmax-matmul */
    uint64_t m, n, k, groups;       /* OP_CONTRACT */
    uint64_t batch, heads, kv_heads, queries, keys, head_dim;   /* OP_ATTENTION */
    uint64_t value_dim;             /* ... width of V, where scores contract head_dim */
    double density_frac;            /* OP_ATTENTION: share of queries x keys that is computed */
    double flops, bytes;            /* all of the work; memory traffic at least */
    enum dtype dtype;
};

enum work_cause {
    CAUSE_PARTIAL_SUM,
    CAUSE_GATHER,
    CAUSE_RESHARD,
    CAUSE_ACTIVATION,
    CAUSE_GRADIENT,
    CAUSE_PARAMETER,
    CAUSE_TIED,
    CAUSE_NORM,
    CAUSE_OFFLOAD,
    CAUSE_COUNT
};
const char *work_cause_name(enum work_cause cause);

enum work_overlap {
    OVERLAP_NONE,       /* the device waits */
    OVERLAP_NEXT,       /* under the next compute item, in `pieces` equal pieces that feed it one
                         * after another */
    OVERLAP_BLOCK       /* under all compute of the block (prefetched parameters) */
};

/* Stands for a dim where bytes go between the device and its host's memory, not to other ranks:
 * such a message has no group, and its bytes are what the device copies. */
#define WORK_HOST DIM_MAX

struct work_message {
    enum collective_kind kind;
    uint32_t group;                 /* index into work.groups; NO_INDEX: none */
    double bytes;                   /* whole buffer, as plan/collective.h counts it */
    uint32_t dim;                   /* index into dim_table: the edge class is (dim, cause); what it
                                     * is charged to; or WORK_HOST */
    enum work_cause cause;
    enum work_overlap overlap;
    uint32_t pieces;
    uint32_t period;                /* happens once in so many steps, >= 1 */
    uint32_t distance;              /* steps until its result is needed: 0 this step, 1 one step
                                     * stale */
    bool turns;                     /* the layers of a chunk, from its last, each in the next step
                                     * of the period; off: all in one */
};

struct work_item {
    bool is_message;
    union {
        struct work_compute compute;
        struct work_message message;
    };
};

struct work_items {
    struct work_item *items;
    uint32_t count, capacity;
};

enum work_keep {
    KEEP_ALL,           /* every tensor that the backward reads */
    KEEP_SELECTIVE,     /* not the attention core */
    KEEP_LATENTS,       /* not what is made from latents for the attention core */
    KEEP_BOUNDARY,      /* the block's input only: full recomputation */
    KEEP_COUNT
};

/* Weights of one block that share a gradient group. */
struct work_weights {
    uint32_t group;                 /* over which gradients are summed; NO_INDEX: over none */
    uint32_t side_group;            /* further sum over a beside fold's host (norms under sequence
                                     * parallel), or NO_INDEX */
    uint32_t dim;                   /* charged */
    uint64_t elements;              /* on this device before any sharding of states */
    bool frozen;                    /* held, never summed or updated */
    bool tied;                      /* same memory as a weight of another part: held again only on
                                     * another stage */
    uint32_t parameter_shards, gradient_shards, optimizer_shards;   /* >= 1; ranks that share each
                                                                     * state */
    uint32_t parameter_group, gradient_group, optimizer_group;      /* over which, NO_INDEX when not
                                                                     * sharded */
    bool gather_each_micro_batch;   /* sharded parameters: gathered for every forward and
                                     * backward */
    uint32_t period, distance;      /* of the gradient sum */
    bool turns;
    double extra_state_bytes;       /* per element: anchors, outer momentum */
    double host_parameter_frac, host_gradient_frac, host_optimizer_frac;   /* share of each that
                                     * is in the host's memory */
    bool is_matrix;                 /* updated as matrices (optimizer.matrix_steps) */
    double orthogonal_flops;        /* of a step, all of them; this over their shorter sides: */
    double orthogonal_per_row;
};

#define WORK_WEIGHTS_MAX 8

struct work_block {
    uint32_t part;                      /* of the model */
    enum work_keep keep;
    struct work_items forward, backward;    /* per micro-batch; recomputation is in backward */
    struct work_items gather;           /* once per step, before the first forward: sharded
                                         * parameters */
    struct work_items sync;             /* once per step, after the last backward: gradients */
    struct work_items update;           /* once per step: optimiser */
    struct work_weights weights[WORK_WEIGHTS_MAX];
    uint32_t weights_count;
    double parameters_bytes, gradients_bytes, optimizer_bytes;  /* resident; optimizer includes the
                                                                 * fp32 master copy */
    double moments_bytes;               /* part of optimizer_bytes that appears only at the end of
                                         * the first step */
    double saved_bytes;                 /* per live micro-batch, logits not included */
    double logits_bytes;                /* same, tensors over the vocabulary */
    double working_bytes;               /* most that one op or one recomputed layer needs besides */
    double widened_bytes;               /* its largest gradient, as wide as what it is added to */
    double cache_bytes;                 /* keys and values of every sequence that is generated */
    double gathered_bytes;              /* what comes and goes with this block: parameters that are
                                         * sharded or on the host, activations on their way there */
    double host_bytes;                  /* resident in the host's memory */
    double host_saved_bytes;            /* there, per live micro-batch */
};

#define WORK_BLOCK_MAX 24
#define WORK_GROUP_MAX 32

struct work {
    const struct problem *problem;
    const struct plan *plan;
    struct work_block blocks[WORK_BLOCK_MAX];
    uint32_t block_count;
    struct work_sites sites;
    struct rank_group groups[WORK_GROUP_MAX];
    unsigned long long nests[WORK_GROUP_MAX];   /* rank_nest_digest of the groups from place 0 */
    uint32_t group_count;
    uint32_t first_block, last_block;   /* blocks of the parts that run once at the ends of the
                                         * chain */
    enum work_keep keep;                /* form of the layers that do not keep all */
    uint32_t recompute_layers;          /* layers per chunk in that form, the first ones;
                                         * UINT32_MAX: all */
    double host_saved_frac;             /* share of what layers keep for the backward that waits for
                                         * it in the host's memory */
    bool forward_only;                  /* nothing comes back through the stages */
    struct work_message spread;         /* what receivers of such an activation gather from one
                                         * another, of which each is sent a part; bytes 0: none */
    struct work_message send;           /* boundary activation between stages; bytes 0 when there is
                                         * one stage */
    struct work_message tied;           /* gradient sum of tied weights between the end stages;
                                         * bytes 0: none */
    struct work_message norm;           /* gradient norm over everybody before the update */
    struct schedule_shape shape;
};

/* Derives the program of a legal, costable plan (plan_check_costed holds; asserted). Layers per
 * chunk are not looked at, so one program serves every partition. All memory from the arena. */
void work_build(const struct problem *problem, const struct plan *plan, struct arena *arena,
                struct work *out);
/* The same in two steps, for searches: what mesh and micro-batch say (policies, chunks not looked
 * at), then what policies and schedule make of it. A finished program shares the lists of the
 * started one. */
void work_start(const struct problem *problem, const struct plan *plan, struct arena *arena,
                struct work *out);
/* Of that program one block alone, the part's lists where it keeps everything, without what is
 * held; or no block, but the messages between stages. Their room may be used again. */
void work_start_part(const struct problem *problem, const struct plan *plan, uint32_t part,
                     struct arena *arena, struct work *out);
void work_start_messages(const struct problem *problem, const struct plan *plan,
                         struct arena *arena, struct work *out);
void work_finish(const struct work *started, const struct plan *plan, struct arena *arena,
                 struct work *out);
/* work_finish in the steps that a search may stop after: policies applied, so that keep and
 * recompute_layers are settled; what is resident; then the lists of a step. */
void work_rewrite(const struct work *started, const struct plan *plan, struct work *out);
/* A rewritten program, lowered or not, under another plan that differs in the uses of policies
 * that only keep, or in chunks: nothing else changes. */
void work_rekeep(struct work *work, const struct plan *plan);
void work_lower_memory(struct work *work);
void work_lower_lists(struct work *work, struct arena *arena);
/* Beliefs: amounts finite and not negative, groups sound, shards and periods >= 1. work_build
 * asserts it. */
bool work_check(const struct work *work);
/* JSON for people: groups, blocks with their items, the messages between stages. */
void work_dump(const struct work *work, struct json_writer *out);

/* How often each block sits in each model chunk: out[chunk * WORK_BLOCK_MAX + block], chunk in
 * chain order; layers: per model chunk, middle layers only. */
void work_count_blocks(const struct work *work, const uint32_t *layers, uint32_t *out);

/* Block of a middle part by keep mode, for callers that place layers; NO_INDEX if there is none. */
uint32_t work_find_block(const struct work *work, uint32_t part, enum work_keep keep);

/* --- sites ------------------------------------------------------------------------------------ */

/* At least 1. */
static inline uint32_t work_count_sites(const struct work *work)
{
    return work->sites.count == 0 ? 1 : work->sites.count;
}

static inline uint32_t work_find_site(const struct work *work, uint32_t stage)
{
    return work->sites.of_stage == NULL ? 0 : work->sites.of_stage[stage];
}

/* Kinds of device of a site, at least 1. */
static inline uint32_t work_count_kinds(const struct work *work, uint32_t site)
{
    return work->sites.count == 0 ? 1 : work->sites.items[site].kind_count;
}

/* Index of the i-th among the cluster's accelerators. */
static inline uint32_t work_find_kind(const struct work *work, uint32_t site, uint32_t i)
{
    return work->sites.count == 0 ? 0 : work->sites.items[site].kinds[i];
}

/* Ranks of a stage, its lanes; the place of one, and the lane of a place. */
static inline uint32_t work_count_lanes(const struct work *work)
{
    return (uint32_t)plan_count_devices(work->plan) / work->shape.stages;
}

static inline uint32_t work_find_place(const struct work *work, uint32_t stage, uint32_t lane)
{
    const uint32_t stride = work->sites.stride;
    return (lane / stride * work->shape.stages + stage) * stride + lane % stride;
}

static inline uint32_t work_find_lane(const struct work *work, uint32_t place)
{
    const uint32_t stride = work->sites.stride;
    return place / (stride * work->shape.stages) * stride + place % stride;
}

/* Of a message between the ranks of a stage, or of all: what the other groups of the nest send at
 * the same time, where the cluster is a graph of links. Messages of a boundary are counted
 * there. */
struct rank_crowd work_find_crowd(const struct work *work, const struct work_message *message);

/* Base of the group, inside a stage of the site, that stands for those with its i-th kind: where
 * the first device of that kind is. */
static inline uint32_t work_find_base(const struct work *work, uint32_t site, uint32_t i,
                                      const struct rank_group *group)
{
    return work->sites.count == 0 ? 0
                                  : rank_group_find_base(group, work->sites.items[site].places[i]);
}

#endif
