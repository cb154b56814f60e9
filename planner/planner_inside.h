/* What the files of the search share; nobody else includes it. */
#ifndef SHARDPLAN_PLANNER_PLANNER_INSIDE_H
#define SHARDPLAN_PLANNER_PLANNER_INSIDE_H

#include "base/heap.h"
#include "planner/planner.h"

/* A bound is a sum in another order than the value it bounds: give rounding its due before
 * cutting. */
#define ROUNDING (1.0 - 1e-9)

/* No partition of the layers over stages x chunks is done sooner, whatever the schedule. */
struct pipeline_terms {
    double layer_s, first_s, last_s;    /* forward + backward of the mean layer; extras of the end
                                         * stages */
    double layer_pass_s[2], first_pass_s[2];    /* [splits] what of that a micro-batch passes before
                                                 * or after others */
    double least_pass_s[2];             /* the same of one layer of the kind with least of it */
    double layer_round_s[2], ends_round_s[2];   /* [splits] what of that, both end parts together,
                                                 * one micro-batch takes there and back */
    double send_s;                      /* from stage to stage, half of there and back */
    double again_s;                     /* what a layer in its recomputed form takes more */
    uint32_t again_layers;              /* layers per chunk in that form */
    uint32_t layers, stages, chunks, micro_batches;
    bool splits;                        /* weight gradients may come last */
    bool uneven;                        /* chunks of a stage may differ by more than one layer */
    const double *stage_lags;           /* [stage] all above takes at least so many times as long
                                         * there; NULL: as long everywhere */
    double lost_frac;                   /* or, where only that is known: of the stages' speed
                                         * together, against all being fastest */
};

/* Seconds of one layer of a part for one micro-batch; weight_s: part of backward_s. */
struct part_times {
    double forward_s, backward_s, weight_s;
};

/* Those already asked for. */
struct times_table {
    struct times_entry **buckets;
    uint32_t bucket_count, count;
};

/* Degrees, folds, variants. */
struct mesh {
    uint32_t degrees[DIM_MAX];      /* per dim_table entry; folds too; 1: off */
    uint8_t variants[DIM_MAX];
    uint32_t order_count, first_order;
    const uint32_t *orders;         /* their numbers */
    uint64_t replicas;
};

/* A mesh with a micro-batch. */
struct mesh_node {
    struct mesh *mesh;              /* shared by all its micro-batches */
    uint32_t micro_batch;
    uint32_t index;                 /* place in the enumeration: the tie-break */
    uint64_t leaf_count;            /* per order */
    double bound_s;
    double floor_bytes;             /* some stage has at least that; 0: not known yet */
    bool timed;                     /* the bound knows of messages */
    bool unfit;                     /* the floor is too much */
};

/* In blocks that stay where they are. */
#define NODE_BLOCK 1024u
struct mesh_nodes {
    struct mesh_node **blocks;
    uint32_t count, block_capacity;
};

/* Ways of using one policy: option 0 is not to use it (or, pinned, exactly the pinned uses); the
 * others one use each. */
struct policy_options {
    const struct policy_use *uses;      /* of options 1 .. */
    const bool *leaner;                 /* of options 1 ..: never more memory than the option
                                         * before */
    uint32_t count;                     /* options, >= 1 */
    const struct policy_use *pinned;    /* of option 0 */
    uint32_t pinned_count;
};

/* Numbers of the combinations in which all policies agree, ascending, and the place of each number
 * among them (NO_INDEX: they do not). */
struct agreeing {
    uint32_t *numbers, *places;                 /* of alternatives */
    uint32_t *class_numbers, *class_places;
    uint32_t *keepings, *keeping_counts;        /* [class place]: how many keepings go with it;
                                                 * [class place * all keepings + i]: which */
};

/* All ways under a mesh and a shape, shared between nodes that allow the same; an alternative is
 * a number below count: their place among the combinations that agree, in mixed radix over the
 * policies. Alternatives are of one *class* when
 * they differ only in policies that only keep: their blocks have the same prices. Within a class
 * an alternative is a *keeping*. */
struct alternatives {
    unsigned long long key;
    struct policy_options options[PLANNER_POLICY_MAX];
    uint32_t count, class_count, keeping_count;     /* keeping_count: of those classes that have
                                                     * most */
    const struct agreeing *agreeing; /* NULL: any options go together, and an alternative is its
                                      * number in mixed radix */
    unsigned long long *class_digests;              /* of the uses that the class has */
    struct alternatives *next;
};

/* A schedule shape under a node. */
struct form {
    const struct schedule *schedule;
    uint32_t chunks;
};

/* Legal shapes for a number of stages and micro-batches. */
struct forms {
    uint32_t stages, micro_batches, count;
    uint32_t most_chunks;       /* of any of them */
    bool splits;                /* any of them does */
    struct form *items;
    struct forms *next;
};

struct leaf {
    uint32_t node, order;           /* order: number of the permutation */
    struct form form;
    const struct alternatives *alternatives;
    uint32_t alternative;
    uint64_t index;                 /* place in the enumeration within node and order */
    double step_s;
    uint32_t *layers;
};

/* Leaves that are at least as slow as bound_s, however their layers are placed. */
struct pending_leaves {
    struct pending_leaf {
        struct leaf leaf;
        double bound_s;
    } *items;
    uint32_t count, capacity;
};

/* Meshes tried, and what was wrong with those that came to nothing. */
struct space_faults {
    uint64_t meshes, mesh, axes, batch, shapes;
};

/* Devices in the order of the places; count 0: as they are numbered. */
struct device_order {
    struct slice_range *slices;
    uint32_t count;
};

#define TABLE_BUCKETS 4096

struct search {
    const struct problem *problem;
    const struct estimator *estimator;
    const struct planner_options *options;
    struct arena *arena;            /* of the run */
    struct arena scratch;           /* rewound after each order */
    struct mesh_nodes nodes;
    struct heap frontier;
    struct device_order *device_orders;
    uint32_t device_order_count;
    uint64_t *device_divisors, *batch_divisors;     /* ascending */
    uint32_t device_divisor_count, batch_divisor_count;
    struct alternatives *alternatives[TABLE_BUCKETS];
    struct use_list *use_lists;     /* all that alternatives have */
    struct forms *forms[TABLE_BUCKETS];
    struct work_kernels *kernels;   /* all of the model's */
    uint32_t kernels_count;
    uint32_t *part_dims;            /* per part of the model: dims that can cut one of its ops */
    struct work_moves *moves;   /* all of the model's */
    uint32_t moves_count;
    struct times_table kernel_times, moves_times, part_times;
    struct work *room;              /* for programs that are priced and forgotten */
    struct arena stream_arena;      /* of the streams below; emptied between nodes when it grows */
    struct stream_entry *streams[TABLE_BUCKETS];
    struct leaf *best;              /* fastest first, options->top of them at most */
    uint32_t best_count;
    struct leaf *probes;            /* distinct leaves tried beforehand, fastest first, options->top
                                     * of them */
    uint32_t probe_count;
    struct leaf least_over;         /* layers NULL: none yet */
    double least_over_bytes;
    struct certificate certificate;
    uint32_t layers;                /* of the model's middle */
    struct space_faults faults;
    struct pending_leaves pending;
    double open_s;                  /* leaves not looked into in full take at least that; 0: none
                                     * are */
    bool stopped;                   /* out of budget */
    bool fits_only;                 /* what lacks least is not asked for */
};

/* --- planner.c -------------------------------------------------------------------------------- */
void planner_open(struct search *search, const struct problem *problem,
                  const struct estimator *estimator, const struct planner_options *options,
                  struct arena *arena);
void planner_close(struct search *search);

/* --- space.c: what there is ------------------------------------------------------------------- */
void space_enumerate(struct search *search);
/* A plan with the node's mesh in the order-th rank order; uses and layers empty. Memory from the
 * arena. */
struct plan *space_plan(const struct search *search, const struct mesh_node *node, uint32_t order,
                        struct arena *arena);
struct mesh_node *space_find_node(const struct search *search, uint32_t index);
/* Rank orders that the runtime gives, that differ in which levels of the cluster some dim
 * crosses: numbers of permutations, ascending; the first of those that are alike stands for
 * them. Where kinds of device are mixed, all that the runtime gives, with every order of the
 * devices where there are several stages; no more than this. */
#define SPACE_ORDER_MAX 720
/* An order's number is SPACE_ORDER_MAX times that of the devices' order, and that of the
 * permutation. */

uint32_t space_count_stages(const struct mesh_node *node);

/* --- space_devices.c -------------------------------------------------------------------------- */
#define SPACE_DEVICES_MAX 25u
void space_list_devices(struct search *search);
/* Devices that a plan uses. */
uint32_t space_count_devices(const struct search *search);

/* --- space_forms.c, space_uses.c -------------------------------------------------------------- */
/* Schedules that the runtime has, which are not searched since nobody asks for them. */
uint32_t space_schedules_left(const struct search *search);
const struct forms *space_forms(struct search *search, const struct mesh_node *node);
const struct alternatives *space_alternatives(struct search *search, const struct mesh_node *node,
                                              const struct form *form);
/* Does the first need at least as much memory as the second on every stage, for sure? */
bool space_is_fatter(const struct alternatives *alternatives, uint32_t alternative, uint32_t than);
uint32_t space_find_class(const struct alternatives *alternatives, uint32_t alternative);
uint32_t space_count_keepings(const struct alternatives *alternatives, uint32_t class);
uint32_t space_find_alternative(const struct alternatives *alternatives, uint32_t class,
                                uint32_t keeping);
/* The uses of a class alone, of no policy that only keeps; their number. */
uint32_t space_class_uses(const struct alternatives *alternatives, uint32_t class,
                          struct arena *arena, struct policy_use **out);
/* The uses of an alternative in arena memory; their number. */
uint32_t space_uses(const struct alternatives *alternatives, uint32_t alternative,
                    struct arena *arena, struct policy_use **out);

/* --- pipeline_bound.c ------------------------------------------------------------------------- */
/* Of layers that keep everything: no use of a policy makes them shorter. times: per part of the
 * model. layers, chunks, splits, again, send_s are left to the caller. */
struct pipeline_terms pipeline_terms_find(const struct model *model,
                                          const struct part_times *times);
/* The terms' send_s of a program whose messages to the next stage take that long: half of there and
 * back, where nothing may come back. */
double pipeline_find_send_s(const struct work *work, double send_s);
double pipeline_bound_s(const struct pipeline_terms *terms);
/* Is the bound above the step time? Much cheaper than the bound itself. */
bool pipeline_exceeds(const struct pipeline_terms *terms, double step_s);

/* --- pipeline_again.c ------------------------------------------------------------------------- */
/* Of unlike layers, what the program's form of layers adds to their terms where a step is to take
 * no longer than that; least: pieces as for the terms. */
void pipeline_add_again(struct pipeline_terms *terms, const struct work *work,
                        const struct piece *least, uint32_t chunks, double step_s);

/* --- pipeline_sites.c ------------------------------------------------------------------------- */
/* Of every block the shortest times on any site; the pieces themselves where there is one. */
const struct piece *pipeline_fastest(const struct work *work, const struct piece *pieces,
                                     struct arena *arena);
/* As pipeline_terms_find: of stages on several sites (least: from pipeline_fastest), stages and
 * micro-batches too; of stages whatever their place, times: [kind of device * WORK_BLOCK_MAX +
 * part]. */
struct pipeline_terms pipeline_terms_of_sites(const struct work *work, const struct piece *pieces,
                                              const struct piece *least, struct arena *arena);
struct pipeline_terms pipeline_terms_of_kinds(const struct problem *problem,
                                              const struct part_times *times, double *kind_lags);
/* Of stages, from those of kinds: the slowest device of a stage lags most. */
const double *pipeline_find_lags(const struct work_sites *sites, const double *kind_lags,
                                 uint32_t stages, struct arena *arena);

/* --- part_times.c ----------------------------------------------------------------------------- */
void part_times_open(struct search *search);
/* Of a layer's kernels alone on that kind of device, before any policy: no rank order and no use
 * of a policy makes a layer shorter. */
void part_times_kernels(struct search *search, const struct mesh_node *node, uint32_t kind,
                        struct part_times out[WORK_BLOCK_MAX]);
/* No more than with all messages: kernels and those messages that few dims decide. Of one kind of
 * device. */
void part_times_sure(struct search *search, const struct mesh_node *node, const struct plan *plan,
                     struct part_times out[WORK_BLOCK_MAX]);
/* With the messages that the plan's mesh asks for, before any policy; of one kind of device. */
void part_times_whole(struct search *search, const struct plan *plan,
                      struct part_times out[WORK_BLOCK_MAX]);

/* --- node.c ----------------------------------------------------------------------------------- */
struct variant;

/* A rank order of a node before any policy. */
struct order_work {
    const struct mesh_node *node;
    uint32_t order;
    struct plan *plan;
    struct work *started;
    const struct piece *pieces;     /* of the started program's blocks on all sites; NULL: not
                                     * priced */
    struct pipeline_terms terms;    /* of them */
    struct variant *variants;
};

/* Rank orders of a node that are left. */
struct orders {
    struct order_work *items;
    uint32_t count;
};

/* By compute alone. */
void node_bound(struct search *search, struct mesh_node *node);
/* The same with messages, of the best rank order. False: none is fast enough. */
bool node_time(struct search *search, struct mesh_node *node);
/* In scratch memory. */
struct order_work node_start(struct search *search, const struct mesh_node *node, uint32_t order);
/* In scratch memory, when not done yet. */
void node_price(struct search *search, struct order_work *order);
/* May a shape be fast enough, given the terms of its blocks? Before anything but layers without
 * policies is priced, may the shape of the node that has the least bubble? */
bool node_form_passes(const struct search *search, const struct pipeline_terms *of,
                      const struct form *form);
bool node_passes(struct search *search, const struct mesh_node *node, uint32_t order);

/* --- frontier.c ------------------------------------------------------------------------------- */
/* Bounds the node; the frontier has room for all. */
void frontier_push_node(struct search *search, struct mesh_node *node);
/* The next node with a rank order that may be fast enough, with its bound of messages; those that
 * are not are accounted for. NULL: no more. Where nothing is pruned, all by their compute. */
struct mesh_node *frontier_pop_node(struct search *search);

/* --- variant.c -------------------------------------------------------------------------------- */
/* A rank order under one class. */
struct variant {
    unsigned long long digest;      /* of the uses */
    struct order_work *order;
    struct plan plan;
    struct work *work;              /* memory lowered; lists too when priced */
    double resident_bytes;
    const struct piece *pieces;     /* on all sites; NULL: not priced */
    const struct piece *least;      /* of them, on any site */
    struct load load;               /* messages alone */
    struct pipeline_terms terms;
    struct variant *next;
};

/* Made in scratch memory when first asked for, so not under a mark that goes before the order. The
 * order must stay where it is. */
struct variant *variant_find(struct search *search, struct order_work *order,
                             const struct alternatives *alternatives, uint32_t class);
/* The same holds. */
void variant_price(struct search *search, struct variant *variant);
/* Sets shape and forms of layers to those of a leaf of the class, until the next call. */
void variant_keep(struct search *search, struct variant *variant, const struct leaf *leaf);
/* The fullest stage has at least that, as it is kept now: when a stage begins its first backward,
 * it holds a micro-batch of all its chunks. */
double variant_floor_bytes(const struct variant *variant);
/* The same however it is kept. */
double variant_least_bytes(const struct variant *variant);
/* False: whatever its layers keep, a stage has no room, and that is no news. */
bool variant_may_fit(const struct search *search, const struct variant *variant);

/* --- form.c, probe.c -------------------------------------------------------------------------- */
/* Judges or prunes all leaves of the shape in these orders; leaf.index: of its first
 * alternative. */
void form_search(struct search *search, struct orders *orders, const struct form *form,
                 struct leaf leaf);
/* Judges a few leaves without any account of it, so that much may be pruned before the search
 * proper. */
void probe_node(struct search *search, struct mesh_node *node);
/* Of a started order: what its node holds at least, whether that is too much. */
void probe_floor(struct search *search, struct mesh_node *node, struct order_work *order);
/* Nothing fitted so far: a first idea of the least that plans lack. */
void probe_shortage(struct search *search);

/* --- leaf.c: one leaf judged on a priced variant ---------------------------------------------- */
/* Equal times: the one that the enumeration names first, so that the order of visits does not
 * matter. */
bool leaf_is_before(const struct leaf *a, const struct leaf *b);
/* Its plan, layers not placed. */
struct plan *leaf_plan(struct search *search, const struct leaf *leaf, struct arena *arena);
/* Memory does not depend on the rank order: most layers per stage, once for all orders. False
 * when memory allows no partition at all; then the least over is remembered. */
bool leaf_caps(struct search *search, struct variant *variant, const struct leaf *leaf,
               uint32_t *caps);
/* caps NULL: as if memory were no limit. */
void leaf_judge(struct search *search, struct variant *variant, const struct leaf *leaf,
                const uint32_t *caps);
/* Of unlike layers, whose place depends on times too. False: memory allows no partition, whatever
 * the times. */
bool leaf_judge_unlike(struct search *search, struct variant *variant, const struct leaf *leaf);
/* Without any account of it. False: does not fit, or is slower than what was found so far. */
bool leaf_probe(struct search *search, struct variant *variant, const struct leaf *leaf);

/* --- layout.c --------------------------------------------------------------------------------- */
/* What memory allows: limited false: no limit; caps: most layers per stage, NULL: ask for it. Of
 * unlike layers, step_s: slower steps are of no interest; 0: all are. */
struct layout_room {
    bool limited;
    const uint32_t *caps;
    double step_s;
};

enum layout_verdict {
    LAYOUT_FOUND,
    LAYOUT_NO_ROOM,     /* memory allows none and is asked for */
    LAYOUT_TOO_SLOW,    /* none that memory allows is as fast as asked for, if it allows any */
};

/* Layers by exact partition. load's counts are filled. */
enum layout_verdict layout_partition(const struct search *search, struct load *load,
                                     struct layout_room room, uint32_t *layers, uint32_t *counts,
                                     struct arena *arena);
/* Of like layers on unlike stages, placed by layout_partition: another placement that may be
 * faster. False: there is none. */
bool layout_other(const struct search *search, struct load *load, struct layout_room room,
                  uint32_t *layers, uint32_t *counts, struct arena *arena);
/* Told of a placement that the load's counts and `layers` hold; false: it has seen enough. */
struct layout_visitor {
    bool (*visit)(void *state);
    void *state;
    double most_s;      /* busier stages are of no interest; may fall meanwhile */
    double most_ways;   /* where there are more within that time none is visited */
    bool splits;        /* the schedule may end with weight gradients */
};
/* Every placement with room, whose layers and counts are filled one after another. False: there are
 * too many, or the visitor ended it. */
bool layout_each(const struct search *search, struct load *load, struct layout_room room,
                 const struct layout_visitor *visitor, uint32_t *layers, struct arena *arena);
/* One kind of middle layer? */
bool layout_is_alike(const struct model *model);
/* Of alike layers: most that memory allows per stage; false when they do not suffice. */
bool layout_caps(const struct search *search, struct load *load, uint32_t *counts, uint32_t *caps);

/* --- placement.c ------------------------------------------------------------------------------ */
struct placing {
    const struct search *search;
    struct load *load;
    uint32_t *layers;       /* the placement that the load's counts hold */
    double limit_s;         /* slower ones are of no interest */
    struct arena *arena;
    bool splits;            /* the schedule does */
    uint32_t *best_layers;
    double best_s;          /* 1e300: none fits */
    bool looked;            /* at any of them in full */
    bool open;              /* there are too many: some may be faster */
};
/* layers: as placed by layout_partition. */
void placement_init(const struct search *search, struct load *load, uint32_t *layers,
                    double limit_s, struct arena *arena, struct placing *out);
/* Those that the partition finds in that room; others may be open then. The load's counts are
 * overwritten. */
void placement_try(struct placing *placing, struct layout_room room, uint32_t *counts);
/* Not unlike layers on many chunks. */
bool placement_is_walked(const struct model *model, uint32_t stages, uint32_t chunks);
/* All others in that room, unless there are too many. */
void placement_walk(struct placing *placing, struct layout_room room);

/* --- pending.c -------------------------------------------------------------------------------- */
/* A leaf that was tried in some placements. */
void pending_push(struct search *search, const struct leaf *leaf, uint32_t stages, double bound_s);
/* Not looked at any more. */
void pending_leave(struct search *search);
/* Every placement of those that may still be fast enough. */
void pending_judge(struct search *search);

/* --- stream_cache.c --------------------------------------------------------------------------- */
#define STREAM_ARENA_BYTES (24u << 20)
const struct stream *stream_cache_find(struct search *search, const struct form *form,
                                       const struct schedule_shape *shape);
/* Empties the streams when they have grown over that. */
void stream_cache_trim(struct search *search);

/* --- seed.c ----------------------------------------------------------------------------------- */
#define SEED_NONE_S 1e300
/* What a plan must beat because of the seeds alone. */
double seed_threshold_s(const struct planner_options *options);
/* Gives the seeds their places in an answer. */
void seed_merge(const struct planner_options *options, struct arena *arena,
                struct planner_result *result);

/* --- ranking.c -------------------------------------------------------------------------------- */
/* Step time that a new leaf must beat: that of the last place, known from judged or from probed
 * leaves; 1e300 while there is room. */
double ranking_threshold_s(const struct search *search);
/* Is that more, by more than rounding? */
bool ranking_cuts(const struct search *search, double bound_s);
/* Does that time earn a place among the probes? */
bool ranking_wants_probe(const struct search *search, double step_s);
void ranking_push_probe(struct search *search, const struct leaf *leaf);
/* A search that had to stop shows its probes too. */
void ranking_add_probes(struct search *search);
void ranking_push(struct search *search, const struct leaf *leaf);
/* The same of a leaf that may stand there with slower layers. */
void ranking_improve(struct search *search, const struct leaf *leaf);
/* May a plan with at least that much on some stage lack less than the one that lacks least so
 * far? */
bool ranking_wants_shortage(const struct search *search, double floor_bytes);

/* --- answer.c --------------------------------------------------------------------------------- */
void answer_fill(struct search *search, struct planner_result *out);
/* Of a space without plans: how many meshes broke what. */
void answer_refuse(const struct search *search, struct diag *diag);

#endif
