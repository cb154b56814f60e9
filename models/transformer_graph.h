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
#define GRAPH_OP_MAX 96
#define GRAPH_TENSOR_MAX 256
#define GRAPH_PART_MAX 4

struct transformer_graph {
    const struct transformer *shape;
    struct arena *arena;
    struct model *model;
};

/* A matrix multiply; its weight, bias and output get names made of its own. */
struct transformer_linear {
    const char *name;
    const char *domain, *weight, *bias, *output; /* axes; bias NULL: none */
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
/* Norm over the hidden axis of the residual stream. */
uint32_t transformer_push_norm(struct transformer_graph *graph, const char *name, uint32_t input);
/* stream + branch (+ branch), with dropout on the branches where the model has it. extra: NO_INDEX
 * or a second branch. */
uint32_t transformer_push_residual(struct transformer_graph *graph, const char *name,
                                   uint32_t stream, uint32_t branch, uint32_t extra);

/* The two halves of a layer, from the residual stream to the residual stream. */
uint32_t transformer_push_attention(struct transformer_graph *graph, uint32_t stream);
uint32_t transformer_push_mlp(struct transformer_graph *graph, uint32_t stream);
uint32_t transformer_push_experts(struct transformer_graph *graph, uint32_t stream);

#endif
