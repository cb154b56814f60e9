/* What the files that build a transformer's parts share: short ways to push tensors and ops.
 * Sets of axes are written as their names: "batch seq hidden". */
#ifndef SHARDPLAN_MODELS_TRANSFORMER_GRAPH_H
#define SHARDPLAN_MODELS_TRANSFORMER_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "models/model.h"
#include "models/transformer.h"

/* Room for every part that a transformer can have; exceeding it is our bug. */
#define GRAPH_OP_MAX 384
#define GRAPH_TENSOR_MAX 1024
#define GRAPH_PART_MAX 9

struct transformer_graph {
    const struct transformer *shape;    /* of the stack being built: the model, or its tower */
    struct arena *arena;
    struct model *model;
    const char *prefix; /* axes of that stack are called so ("vision_seq"), where there are such */
    char mixer;         /* letter of the layer being built */
    bool encodes;       /* the layer being built belongs to an encoder: all keys for each query */
    uint32_t memory;    /* output of the encoder that the layer attends to, NO_INDEX: none */
};

/* A matrix multiply; its weight, bias and output get names made of its own. From the axes `from`
 * of each row to the axes `to` ("": a number per row). */
struct transformer_linear {
    const char *name;
    const char *from, *to;
    const char *rows;   /* axes of the rows; NULL: "batch seq" */
    const char *group;  /* those of them that have weights of their own ("experts"); NULL: none */
    bool biased;
    uint32_t input;
    uint32_t copies;         /* equal matrices side by side: 2 for K and V, gate and up */
    enum tensor_class class; /* of the output */
    double routed_frac; /* share of the points of the experts axis that exist; 0: no such axis */
    bool joined;
};

/* A bandwidth-bound op. bytes as in struct op. */
struct transformer_stream {
    const char *name;
    const char *domain, *output; /* axes */
    uint32_t inputs[OP_INPUT_MAX], input_count;
    uint32_t copies;    /* of the output */
    double routed_frac; /* as above */
    double forward_bytes, backward_bytes;
};

axis_set transformer_axes(const struct transformer_graph *graph, const char *names);
/* Density 1, one copy. */
uint32_t transformer_push_tensor(struct transformer_graph *graph, const char *name,
                                 const char *axes, enum tensor_class class);
/* The new op; its operands are added by the two below. */
struct op *transformer_push_op(struct transformer_graph *graph, const char *name, enum op_kind kind,
                               const char *domain);
void transformer_push_keep(struct op *op, uint32_t tensor);
void transformer_push_weight(struct transformer_graph *graph, struct op *op, const char *name,
                             const char *axes, uint32_t copies);

/* Each gives its output tensor. A linear keeps its input, a norm too. */
uint32_t transformer_push_linear(struct transformer_graph *graph,
                                 const struct transformer_linear *linear);
uint32_t transformer_push_stream(struct transformer_graph *graph,
                                 const struct transformer_stream *stream);
/* Norm over the given axis of a tensor. transformer_push_norm: over hidden of the stream. */
uint32_t transformer_push_norm_over(struct transformer_graph *graph, const char *name,
                                    const char *rows, const char *axis, uint32_t input);
uint32_t transformer_push_norm(struct transformer_graph *graph, const char *name, uint32_t input);
/* An elementwise op: as many elements in as out. */
struct op *transformer_push_map(struct transformer_graph *graph, const char *name, const char *axes,
                                uint32_t *tensor, double forward_bytes, double backward_bytes);
/* stream + branch (+ branch), with dropout on the branches where the model has it. extra: NO_INDEX
 * or a second branch. */
uint32_t transformer_push_residual(struct transformer_graph *graph, const char *name,
                                   uint32_t stream, uint32_t branch, uint32_t extra);
/* What ops have read of a table of rows, such as token ids. */
struct op *transformer_push_lookup(struct transformer_graph *graph, const char *name,
                                   const char *rows, uint32_t input);

/* What a half of a layer adds to the stream; extra: a second addend, NO_INDEX: none. */
struct transformer_branch {
    uint32_t output, extra;
};

/* The halves of a layer without their norms and sums: from what they read to what they add. */
struct transformer_branch transformer_push_attention(struct transformer_graph *graph,
                                                     uint32_t input);
struct transformer_branch transformer_push_cross_attention(struct transformer_graph *graph,
                                                           uint32_t input);
struct transformer_branch transformer_push_latent_attention(struct transformer_graph *graph,
                                                            uint32_t input);
struct transformer_branch transformer_push_scan(struct transformer_graph *graph, uint32_t input);
struct transformer_branch transformer_push_mlp(struct transformer_graph *graph, uint32_t input);
struct transformer_branch transformer_push_experts(struct transformer_graph *graph, uint32_t input);

/* The attention op itself with what its backward keeps, between q and the keys: k, and v where that
 * is a tensor of its own (else NO_INDEX: k holds both). */
struct transformer_core {
    const char *name, *domain, *output;
    uint32_t q, k, v;
    bool reads_memory;      /* keys are another stack's positions: all of them count */
};
uint32_t transformer_push_core(struct transformer_graph *graph,
                               const struct transformer_core *core);

/* A whole layer of the current mixer and that mlp letter, from the residual stream to the residual
 * stream. */
uint32_t transformer_push_layer(struct transformer_graph *graph, char mlp, uint32_t stream);

/* The ends of the chain, as parts of their own. */
struct part *transformer_open_part(struct transformer_graph *graph, const char *name);
void transformer_close_part(const struct transformer_graph *graph, struct part *part,
                            uint32_t output);
void transformer_push_embedding(struct transformer_graph *graph);
void transformer_push_head(struct transformer_graph *graph);
/* Parts and runs of the vision tower, before the embedding. */
void transformer_push_tower(struct transformer_graph *graph);
void transformer_push_run(struct model *model, uint32_t part, uint32_t count);
/* What the tower left becomes tokens of the stream: inside the embedding part. Gives the tokens. */
uint32_t transformer_push_projector(struct transformer_graph *graph, uint32_t input);

/* Axes of the whole model, tower included. */
void transformer_push_axes(struct model *model, const struct transformer *shape);

#endif
