/* What one training step is: batch, sequence, number formats, optimiser, runtime. */
#ifndef SHARDPLAN_PLAN_SETUP_H
#define SHARDPLAN_PLAN_SETUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "models/model.h"
#include "plan/task.h"
#include "topologies/cluster.h"

#define RUNTIME_LIST_MAX 16
#define RUNTIME_DEFAULT "any"   /* the data file of the union of what is known */
#define RUNTIME_ORDER_MAX 4
#define RUNTIME_NEED_MAX 4

/* A rank order that a framework gives its ranks: dims by name, innermost first; of degree 1 they
 * may stand anywhere. Where `equal` names two dims, only with degrees that are the same. */
struct runtime_order {
    const char *dims[RUNTIME_LIST_MAX];     /* NULL-terminated */
    const char *equal[2];
};

/* Of a model with that axis, `dim` above 1 asks for `fold`. */
struct runtime_need {
    const char *axis, *dim, *fold;
};

/* A definition of a model that a framework ships: its own name for it, that of the zoo. */
struct runtime_model {
    const char *name, *model;
};

#define RUNTIME_OFFLOAD_MAX 8

/* Tensors that it keeps in the host's memory together, and where it does so. */
struct runtime_offload {
    const char *tensors[RUNTIME_LIST_MAX];  /* as policy 'offload' calls them */
    uint32_t zero_levels;           /* bit z set: with sharding of level z; 0: with any */
    bool one_stage, no_recompute;   /* only without a pipeline, without recomputation */
    bool recompute_only;            /* only beside it */
    bool sharded_only;              /* not with a single copy, which is as good as sharded else */
};

#define RUNTIME_BAND_SHARE 0.8

/* How far measured steps lie from their predictions: of `rows` published steps RUNTIME_BAND_SHARE
 * have a time over the predicted one, less one, between these. No rows: none was measured. */
struct runtime_band {
    double low_frac, high_frac;
    uint32_t rows;
};

/* What a training framework does, accepts and costs; one data file each in prices/runtimes/. */
struct runtime {
    const char *name;               /* as its data file says; "any" when none was named: the
                                     * union of what is known */
    const char *family;             /* of the file that it is like, else its own name: constants
                                     * that are fitted belong to a family */
    const char *summary;
    const char *devices[RUNTIME_LIST_MAX];      /* that it runs on, by vendor and kind: "AMD gpu";
                                     * empty: any */
    const char *schedules[RUNTIME_LIST_MAX];    /* accepted names, NULL-terminated; empty: all */
    const char *dims[RUNTIME_LIST_MAX];
    const char *variants[RUNTIME_LIST_MAX];     /* accepted dim variants by name; empty: all */
    struct runtime_order orders[RUNTIME_ORDER_MAX];
    uint32_t order_count;           /* 0: ranks in any order */
    bool other_orders;              /* plans may have others too; a search tries only those above */
    struct runtime_need needs[RUNTIME_NEED_MAX];
    uint32_t need_count;
    const char *recompute[RUNTIME_LIST_MAX];    /* accepted kinds of recomputation: "selective",
                                     * "full", "first-layers" (full, of the first so many of a
                                     * chunk); empty: all */
    struct runtime_offload offloads[RUNTIME_OFFLOAD_MAX];
    uint32_t offload_count;         /* 0: it moves nothing to the host */
    const char *exclusive[RUNTIME_LIST_MAX];    /* dims of which one at most is above 1 */
    bool chunks_on_one_stage;       /* several chunks without a pipeline */
    bool deals_by_flops;            /* it deals layers to stages itself, by multiply-adds */
    bool even_layers;               /* every stage has as many layers */
    bool unsharded_alone;           /* replicas with whole states only where nothing else is
                                     * parallel */
    const struct runtime_model *models;     /* definitions that it ships */
    uint32_t model_count;
    uint32_t zero_levels;           /* bit z set: optimiser sharding level z accepted */
    bool zero_pipeline_only_first;  /* levels 2 and 3 refuse pipeline stages > 1 */
    bool overlaps_gradient_reduce;  /* gradient reduction under the backward of later layers */
    bool overlaps_parameter_gather; /* sharded parameters gathered under the first forward */
    bool overlaps_send;             /* pipeline sends do not block the sender's compute */
    bool overlaps_send_of_chunks;   /* ... but where a stage has one chunk they do */
    bool scatters_sends;            /* between stages each rank that holds a copy sends a part, the
                                     * receivers gather them */
    bool hides_regather;            /* gathers repeated in backward run under the input-gradient
                                     * matmul */
    uint32_t gradient_bytes;        /* per parameter, as accumulated (4: fp32 main gradients) */
    uint32_t gradient_copy_bytes;   /* per parameter beside them: as the backward writes them */
    bool widens_gradients;          /* a gradient is brought to the width of what it is added to
                                     * before, one weight at a time */
    bool holds_partials;            /* partial sums stay taken after their reduction is launched:
                                     * the host is a forward ahead of the device */
    uint32_t master_bytes;          /* fp32 copy of parameters, 0 when parameters are fp32
                                     * already */
    bool sums_once_in_pipeline;     /* with several stages gradients stay whole until the last
                                     * micro-batch, whatever the level */
    bool keeps_fp32_shards;         /* parameters are fp32 shards, master_bytes the part of them
                                     * beyond the format of compute: where only states are shared
                                     * out, shards stay whole beside the gathered copy */
    uint32_t vocab_multiple;        /* vocabulary padded to this times the degree that cuts it */
    double op_overhead_s;           /* host time per op or message: a stretch of work is never
                                     * shorter than what its launches take */
    double op_gap_s;                /* device time lost per op: gaps, small kernels that the program
                                     * does not list */
    double attention_frac;          /* rate of its fused attention over that of the device's best,
                                     * in (0, 1] */
    bool portable_attention;        /* its fused attention is not written for the device's own
                                     * matrix instructions */
    double quantise_bytes;          /* memory traffic per element that is brought to fp8 or fp4 */
    double stream_factor;           /* memory traffic of its bandwidth-bound ops over that of fused
                                     * ones, >= 1 */
    double dispatch_overhead_s;     /* host time, beyond op_overhead, where rows change their order
                                     * by a choice made on the device (experts): many launches, a
                                     * wait for counts */
    bool overlaps_exchange;         /* exchanges of rows between experts run under the compute of
                                     * another micro-batch */
    bool sends_rows_once;           /* a row goes once to each node, or to each rank of one node,
                                     * however many of its experts are there */
    bool saves_narrow;              /* matmuls in fp8 or fp4 keep their input in that format for the
                                     * backward */
    bool fuses_accumulation;        /* weight gradients are added to those of earlier micro-batches
                                     * by the matmul itself */
    bool fuses_loss;                /* one kernel from logits to loss: the gradient overwrites the
                                     * logits, no fp32 copy */
    bool weighs_inside;             /* routing weights are applied before the experts' last matmul,
                                     * whose result need not be kept */
    bool overlaps_tensor;           /* messages inside a layer run beside the matmuls they feed */
    double tensor_exposed_frac;     /* share of them that is not hidden then */
    double overlap_loss_frac;       /* share of the shorter of compute and hidden communication that
                                     * running both at once costs */
    double step_overhead_s;         /* per training step: data, loss, logging */
    double saved_factor;            /* activations that its backward keeps over those that it needs,
                                     * >= 1 */
    double allocator_frac;          /* share of memory lost to fragmentation */
    double cached_frac;             /* share of what comes and goes that its allocator keeps besides
                                     * and gives back before it refuses */
    uint64_t context_bytes;         /* CUDA context, library workspaces */
    uint64_t gather_bucket_bytes;   /* most that a gather of updated parameters has beside them */
    uint64_t communicator_bytes;    /* buffers per communicator group that a device belongs to */
    struct runtime_band band;
    const char *frameworks[RUNTIME_LIST_MAX];   /* words by which tables of measured runs call it;
                                                 * "A & B": both words; NULL-terminated */
    const char *source;
};

/* NAME from prices/runtimes/ of the data folder. */
bool runtime_read(const char *name, struct diag_place place, struct arena *arena,
                  struct runtime *out, struct diag *diag);

/* Every field but the texts, so that a saved plan notices a runtime file that changed. */
unsigned long long runtime_digest(const struct runtime *runtime);
/* True too where the file names no devices, or nothing is known of the kind. */
bool runtime_runs_on(const struct runtime *runtime, const struct accelerator *kind);
/* Is that schedule, dim, variant accepted? A NULL variant name is. */
bool runtime_accepts_schedule(const struct runtime *runtime, const char *schedule);
/* By name: a runtime without a list accepts all and lists none. */
bool runtime_lists_schedule(const struct runtime *runtime, const char *schedule);
bool runtime_accepts_dim(const struct runtime *runtime, const char *dim);
/* Where a dim stands in the rank order when nobody says: place in the runtime's first order;
 * without orders, or not in it, `otherwise`. Small is innermost. */
uint32_t runtime_find_place(const struct runtime *runtime, const char *dim, uint32_t otherwise);
/* Does a stage of that many chunks go on only when what it sends has arrived? */
bool runtime_send_blocks(const struct runtime *runtime, uint32_t chunks);
bool runtime_accepts_variant(const struct runtime *runtime, const char *variant);
bool runtime_accepts_recompute(const struct runtime *runtime, const char *kind);
/* Its row with exactly those tensors, in any order, or NULL. */
const struct runtime_offload *runtime_find_offload(const struct runtime *runtime,
                                                   const char *const *tensors, uint32_t count);

struct optimizer {
    const char *name;               /* "adam" */
    const char *summary;
    uint32_t state_bytes;           /* per parameter, without the fp32 master copy */
    bool in_place;                  /* works on the parameters themselves: no master copy, gradients
                                     * of their format */
    double update_bytes;            /* memory traffic per parameter of one fused update, master copy
                                     * and gradient included (derived in plan/optimizer.c) */
    uint32_t forwards;              /* > 0: so many forwards of perturbed weights and no backward;
                                     * the update is made of their losses, which alone travel */
    uint32_t matrix_steps;          /* > 0: the update of a matrix is made orthogonal by so many
                                     * Newton-Schulz steps; tables and vectors follow `rest` */
    const struct optimizer *rest;
};
const struct optimizer *optimizer_find(const char *name);
/* The first that needs forwards alone. */
const struct optimizer *optimizer_find_forwards(void);
const char *const *optimizer_names(void);
/* That which updates a weight: itself, or its `rest` for what is no matrix. */
const struct optimizer *optimizer_of(const struct optimizer *optimizer, bool is_matrix);

/* Sequences of a step, tokens of a sequence: more are refused where they are read. */
#define SETUP_BATCH_MAX (UINT64_C(1) << 40)
#define SETUP_LENGTH_MAX (UINT64_C(1) << 40)
#define SETUP_EXPERT_LOAD_MAX 65536.0

/* What one iteration is measured as. */
enum setup_mode {
    SETUP_STEP,                     /* makespan of one step */
    SETUP_THROUGHPUT,               /* steady state */
    SETUP_ROUNDS,                   /* rounds with a barrier, local steps between */
    SETUP_ARRIVALS,                 /* requests that come over time */
    SETUP_MODE_COUNT
};

/* That share of the sequences has that length; the longest is seq_length. */
struct length_share {
    uint64_t length;
    double frac;
};

/* A stretch of training with a batch of its own; policies select it by name. */
struct training_phase {
    const char *name;
    uint64_t steps;
    uint64_t global_batch;          /* 0: the setup's */
};

/* What is done with sequences that are shorter than seq_length. */
enum packing {
    PACKING_PAD,                    /* filled up: they cost as much as the longest */
    PACKING_PACK,                   /* put side by side until a row has seq_length tokens, each
                                     * attending to itself; global_batch counts rows */
    PACKING_COUNT
};

struct setup {
    uint64_t global_batch;          /* sequences per step */
    uint64_t seq_length;            /* tokens */
    enum dtype dtype;               /* of matrix multiplies */
    const struct optimizer *optimizer;
    const struct runtime *runtime;
    enum attention_kind attention;  /* flash or plain */
    struct task task;               /* what is done with the model; others than the costed are
                                     * refused by name */
    uint64_t prompt_length, output_length;  /* tasks that do not train: tokens of a request; the
                                             * longest sequence is seq_length, global_batch the
                                             * requests at once. Else 0 */
    enum dtype cache_dtype;         /* of keys and values that are kept */
    enum setup_mode mode;
    double memory_headroom_frac;    /* of device memory kept free */
    uint32_t spare_devices;         /* devices that a plan may leave idle */
    const struct length_share *lengths;     /* length_count 0: all sequences are seq_length long */
    uint32_t length_count;
    enum packing packing;           /* of the lengths */
    double expert_load;             /* tokens of the busiest expert rank over the mean, >= 1;
                                     * 0: not stated, 1 */
    const struct training_phase *phases;    /* phase_count 0: one phase */
    uint32_t phase_count;
};

/* Positions of the axis "seq" in one step, and of its images (the keys that queries meet): all
 * tokens of a sequence, but in decoding one, which meets those that are there on average. */
uint64_t setup_count_positions(const struct setup *setup, bool images);
/* Does anything come back through the layers: gradients? */
bool setup_has_backward(const struct setup *setup);
/* Share of the tokens of a step that are in sequences of that length, index into lengths. */
double setup_length_frac(const struct setup *setup, uint32_t index);
/* Share of the positions of a step that are tokens, not filling. */
double setup_token_frac(const struct setup *setup);
/* Tokens of a sequence, on average. */
double setup_mean_length(const struct setup *setup);
/* Settles what follows from task, prompt and output length: the optimizer of task "zo", seq_length
 * where it is not given (0), and the runtime's host times. False: lengths that do not fit together
 * (P401). */
bool setup_settle(struct setup *setup, struct arena *arena, struct diag *diag);
/* Absent keys: adam, runtime "any", flash attention, pretraining, one step, no headroom, no
 * spares. */
bool setup_read_json(struct json_value object, struct arena *arena, struct setup *out,
                     struct diag *diag);
bool setup_check(const struct setup *setup, struct diag *diag);
void setup_dump(const struct setup *setup, struct json_writer *out);
/* Of its dump and its runtime; arena is scratch. */
unsigned long long setup_digest(const struct setup *setup, struct arena *arena);
/* Words that setup files and flags accept, NULL-terminated; an index is the enum's value, attention
 * kinds start at ATTENTION_ANY + 1. */
const char *const *setup_mode_names(void);
const char *const *setup_attention_names(void);
const char *const *setup_packing_names(void);

struct problem {
    const struct model *model;
    const struct cluster *cluster;
    const struct setup *setup;
};

#endif
