/* What is computed: a chain of parts, each a list of ops over named axes.
 *
 * Data structure, from the outside in:
 *   model  -> chain of part runs   "embedding x1, dense x3, moe x58, head x1": equal layers are one
 *   part
 *   part   -> ops in execution order, from the residual stream to the residual stream
 *   op     -> a contraction over named axes: domain = axes of its operands, weights and output
 *   together.
 *             forward contracts domain \ output, input gradient domain \ input, weight gradient
 *             domain \ weight: this one rule yields every reduction of every parallel dimension.
 *   tensor -> a set of axes; activations are produced by one op and read by others of the same
 *   part.
 * Nothing here knows how the work is split or how long it takes. */
#ifndef SHARDPLAN_MODELS_MODEL_H
#define SHARDPLAN_MODELS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/text.h"

#define AXIS_MAX 32
#define OP_INPUT_MAX 3
#define OP_WEIGHT_MAX 2
#define OP_KEEP_MAX 8
#define NO_INDEX UINT32_MAX

/* An axis set is a bit per axis index. */
typedef uint32_t axis_set;

struct axis {
    const char *name;       /* "batch", "seq", "heads", "ffn", "vocab", ... or a model file's own */
    uint64_t size;          /* positions; 0: the training setup says (batch, seq and their
                             * images) */
    uint32_t image_of;      /* axis whose positions these are too ("keys" of "seq"), else NO_INDEX.
                             * With a size of its own it is a grouping: "kv_heads" of "heads", each
                             * serving heads / kv_heads */
    bool padded;            /* a cut may round the size up (vocabulary); others must divide */
};

enum tensor_class {
    TENSOR_ACTIVATION,      /* compute dtype */
    TENSOR_STATISTIC,       /* fp32: log-sum-exp, router logits, loss terms */
    TENSOR_MASK,            /* one byte each: dropout */
    TENSOR_INDEX,           /* int64: token ids */
    TENSOR_WEIGHT,
    TENSOR_CLASS_COUNT
};

enum attention_kind { ATTENTION_ANY, ATTENTION_FLASH, ATTENTION_PLAIN, ATTENTION_KIND_COUNT };

struct tensor {
    const char *name;
    enum tensor_class class;
    axis_set axes;
    uint32_t copies;            /* elements per point of the axes (3 loss terms, 2 of K and V), >=
                                 * 1 */
    double density;             /* share of the points that exist (top_k / experts for routed
                                 * tokens), else 1 */
    enum attention_kind only;   /* exists only under that kind of attention, ATTENTION_ANY:
                                 * always */
    uint32_t tied_to;           /* weight that is the same memory elsewhere in the model, else
                                 * NO_INDEX */
    bool recomputable;          /* inside the attention core: dropped by selective recomputation */
    bool remade;                /* made from a latent for the attention core: dropped by
                                 * recomputation of the up-projections */
    bool frozen;                /* a weight that is not trained: no gradient, no optimiser state */
    bool cached;                /* kept per token while a sequence is generated: K and V, or
                                 * the latent that they are made from */
};

enum op_kind {
    OP_CONTRACT,    /* matrix multiply, grouped where an axis is in operand, weight and output */
    OP_ATTENTION,   /* softmax(Q K^T) V over queries "seq" and "keys"; flash or plain by setup */
    OP_STREAM,      /* bandwidth bound: norm, activation, rope, residual, permute, softmax and
                     * loss */
    OP_LOOKUP,      /* gather of rows forward, scatter-add backward */
    OP_KERNEL,      /* FLOPs and bytes as stated: scans, stencils, whatever is no single
                     * contraction */
    OP_KIND_COUNT
};

enum density_kind {
    DENSITY_FULL,
    DENSITY_CAUSAL,
    DENSITY_WINDOW,
    DENSITY_ROUTED,
    DENSITY_BLOCK,  /* causal within blocks of `window` positions */
    DENSITY_KIND_COUNT
};

struct op {
    const char *name;
    enum op_kind kind;
    axis_set domain;                        /* union of all axes below, plus those only iterated;
                                             * OP_STREAM leaves out axes that it takes whole
                                             * (dispatch and combine: experts). FLOPs are points x
                                             * density x 2 x copies of weights[0] (CONTRACT). Of
                                             * ATTENTION, 2 for each point of keys and the first
                                             * input's axes (scores), 2 for each of keys and the
                                             * output's (values); groupings not multiplied */
    uint32_t inputs[OP_INPUT_MAX], input_count;     /* activation tensors read */
    uint32_t mirrored;                      /* bit i: input i is read over the images of its axes: K
                                             * and V are produced over "seq" and read over "keys" */
    uint32_t weights[OP_WEIGHT_MAX], weight_count;  /* weights[0] is the matrix or table, weights[1]
                                                     * a bias */
    uint32_t output;                        /* activation tensor written */
    uint32_t keeps[OP_KEEP_MAX], keep_count;        /* tensors its backward reads: saved, each once
                                                     * per part */
    enum density_kind density;              /* of the domain; window width and routed share below */
    uint64_t window;                        /* DENSITY_WINDOW: keys per query; DENSITY_BLOCK:
                                             * block */
    double routed_frac;                     /* DENSITY_ROUTED: top_k / experts */
    double forward_bytes, backward_bytes;   /* OP_STREAM, OP_LOOKUP, OP_KERNEL: traffic per element
                                             * (point and copy) of the output's or input's larger
                                             * one (2-byte activations; source cited where it is
                                             * set) */
    double forward_flops, backward_flops;   /* OP_KERNEL: per element of the output */
    bool joined;                            /* one kernel with the op before it (Q with K and V) */
    axis_set state;                         /* what stays of a sequence while it is generated,
                                             * read and written with every token, of these axes and
                                             * so many copies; 0: nothing but cached tensors */
    uint32_t state_copies;
};

struct part {
    const char *name;           /* "embedding", "decoder", "moe", "head" */
    uint32_t first_op, op_count;
    uint32_t input, output;     /* tensors of the residual stream; input NO_INDEX for the first
                                 * part */
    uint32_t carried;           /* a tensor made by an earlier part that travels along beside the
                                 * stream (an encoder's output), else NO_INDEX */
};

struct part_run {
    uint32_t part, count;
};

struct transformer;

struct model {
    const char *name;
    const char *source;                 /* file or zoo entry it came from */
    struct axis *axes;
    uint32_t axis_count;
    struct tensor *tensors;
    uint32_t tensor_count;
    struct op *ops;
    uint32_t op_count;
    struct part *parts;
    uint32_t part_count;
    struct part_run *chain;
    uint32_t run_count;
    const struct transformer *transformer;  /* the description it was built from, NULL for operator
                                             * graphs */
    unsigned long long digest;              /* of its canonical dump */
    const struct model *base;               /* as it was read, before a task adapted it; NULL:
                                             * itself */
};

/* Reads a Hugging Face config.json or a native model JSON (told apart by "format"), or an entry of
 * the zoo by its name. A file is called by its own "name", else by what precedes ".json",
 * ".config.json" or "/config.json". */
bool model_read(const char *path, struct arena *arena, struct model *out, struct diag *diag);
/* Same from an open document's object (embedded in a plan). `name` is used where the text has
 * none. */
bool model_read_json(struct json_value object, const char *name, struct arena *arena,
                     struct model *out, struct diag *diag);
/* Every belief about the structure: indices in range, domains cover their operands, chain not
 * empty. */
bool model_check(const struct model *model, struct diag *diag);
/* Native JSON that model_read_json reads back to the same model. */
void model_dump(const struct model *model, struct json_writer *out);

uint32_t model_find_axis(const struct model *model, const char *name);     /* NO_INDEX if none */
/* Layers of the chain: sum of the counts of all runs. */
uint32_t model_count_layers(const struct model *model);
/* Has it tensors that are made from latents? */
bool model_has_latents(const struct model *model);
/* Parameters held, tied tensors once. Exact. */
uint64_t model_count_parameters(const struct model *model);
/* Parameters that one token meets: routed experts by their share. */
uint64_t model_count_active_parameters(const struct model *model);
/* Elements of keys and values, or of their latents, that stay per token of a sequence, over all
 * layers; of layers with a window too. States of scans are not in it. */
uint64_t model_count_cache_elements(const struct model *model);
/* Elements of states that stay per sequence, over all layers. */
uint64_t model_count_state_elements(const struct model *model);
uint64_t model_count_part_parameters(const struct model *model, uint32_t part);
/* Forward + backward FLOPs of one token at that sequence length, matrix multiplies and attention
 * only (embedding lookup not counted, head counted). causal false: attention counted in full (PaLM,
 * Megatron model FLOPs); true: masked half left out. */
double model_flops_per_token(const struct model *model, uint64_t seq_length, bool causal);

#endif
