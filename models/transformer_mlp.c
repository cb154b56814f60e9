/* The feed-forward half of a layer: one block, or experts beside an optional shared one. */
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

#include "base/text.h"

/* A gated activation's domain is its input, which is twice as wide as its output. */
#define GATED_FORWARD_BYTES (GATE_FORWARD_BYTES / 2.0)
#define GATED_BACKWARD_BYTES (GATE_BACKWARD_BYTES / 2.0)
/* Rows moved back, and the expert outputs read for the gradient of the routing weights. */
#define COMBINE_BACKWARD_BYTES 6.0

/* A feed-forward block: fc1, activation, fc2. All axes as names. */
struct block {
    const char *prefix; /* of the ops' names */
    const char *width;  /* the axis between the two matrices */
    const char *rows;   /* axes of one row of the block's input but hidden */
    const char *group;  /* leading axis of the weights, NULL for none */
    double routed_frac;
};

static uint32_t push_fc1(struct transformer_graph *graph, const struct block *block, uint32_t input)
{
    return transformer_push_linear(graph,
                                   &(struct transformer_linear){
                                       .name = text_build(graph->arena, "%sfc1", block->prefix),
                                       .from = "hidden",
                                       .to = block->width,
                                       .rows = block->rows,
                                       .group = block->group,
                                       .biased = graph->shape->mlp_bias,
                                       .input = input,
                                       .copies = graph->shape->gated ? 2 : 1,
                                       .routed_frac = block->routed_frac,
                                   });
}

static uint32_t push_activation(struct transformer_graph *graph, const struct block *block,
                                uint32_t input)
{
    const bool gated = graph->shape->gated;
    const char *axes = text_build(graph->arena, "%s %s", block->rows, block->width);
    const uint32_t output = transformer_push_stream(
        graph, &(struct transformer_stream){
                   .name = text_build(graph->arena, "%sactivation", block->prefix),
                   .domain = axes,
                   .output = axes,
                   .inputs = {input},
                   .input_count = 1,
                   .copies = 1,
                   .routed_frac = block->routed_frac,
                   .forward_bytes = gated ? GATED_FORWARD_BYTES : ACTIVATION_FORWARD_BYTES,
                   .backward_bytes = gated ? GATED_BACKWARD_BYTES : ACTIVATION_BACKWARD_BYTES,
               });
    transformer_push_keep(&graph->model->ops[graph->model->op_count - 1], input);
    return output;
}

static uint32_t push_fc2(struct transformer_graph *graph, const struct block *block, uint32_t input)
{
    return transformer_push_linear(graph,
                                   &(struct transformer_linear){
                                       .name = text_build(graph->arena, "%sfc2", block->prefix),
                                       .from = block->width,
                                       .to = "hidden",
                                       .rows = block->rows,
                                       .group = block->group,
                                       .biased = graph->shape->mlp_bias,
                                       .input = input,
                                       .copies = 1,
                                       .routed_frac = block->routed_frac,
                                   });
}

static uint32_t push_block(struct transformer_graph *graph, const struct block *block,
                           uint32_t input)
{
    const uint32_t wide = push_fc1(graph, block, input);
    return push_fc2(graph, block, push_activation(graph, block, wide));
}

struct transformer_branch transformer_push_mlp(struct transformer_graph *graph, uint32_t input)
{
    const struct block block = {.prefix = "", .width = "ffn", .rows = "batch seq"};
    return (struct transformer_branch){push_block(graph, &block, input), NO_INDEX};
}

/* The router scores each expert in fp32. "routes" has the size of "experts" but is another axis,
 * which nothing cuts: every rank scores all experts for its own tokens, wherever the experts
 * live. */
static uint32_t push_router(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = "router",
                                              .from = "hidden",
                                              .to = "routes",
                                              .biased = graph->shape->moe.router_bias,
                                              .input = input,
                                              .copies = 1,
                                              .class = TENSOR_STATISTIC,
                                          });
}

/* Softmax, choice of the best, and the permutation of tokens by expert. Its domain has no
 * "experts": it runs where the tokens are, and what it writes is cut by experts only when its
 * reader asks for that (a reshard, the all-to-all of expert parallelism). Keeps the scores; the
 * permuted rows are kept by their reader. */
static uint32_t push_dispatch(struct transformer_graph *graph, uint32_t input, uint32_t scores,
                              double frac)
{
    const uint32_t output = transformer_push_stream(graph, &(struct transformer_stream){
                                                               .name = "dispatch",
                                                               .domain = "batch seq hidden",
                                                               .output = "batch seq experts hidden",
                                                               .inputs = {input, scores},
                                                               .input_count = 2,
                                                               .copies = 1,
                                                               .forward_bytes = MOVE_BYTES,
                                                               .backward_bytes = MOVE_BYTES,
                                                           });
    graph->model->tensors[output].density = frac;
    transformer_push_keep(&graph->model->ops[graph->model->op_count - 1], scores);
    return output;
}

/* The weighted sum of each token's experts. Without "experts" in its domain it wants all of a
 * token's expert outputs whole, where the token is: the way back of the reshard, rather than a
 * partial sum over ranks. Keeps the outputs: the gradient of the routing weights needs them. */
static uint32_t push_combine(struct transformer_graph *graph, uint32_t input, uint32_t scores)
{
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "combine",
                                           .domain = "batch seq hidden",
                                           .output = "batch seq hidden",
                                           .inputs = {input, scores},
                                           .input_count = 2,
                                           .copies = 1,
                                           .forward_bytes = MOVE_BYTES,
                                           .backward_bytes = COMBINE_BACKWARD_BYTES,
                                       });
    transformer_push_keep(&graph->model->ops[graph->model->op_count - 1], input);
    return output;
}

/* Sigmoid of one score per token times what the shared expert gives; the score's matrix is a single
 * row. */
static uint32_t push_shared_gate(struct transformer_graph *graph, uint32_t input, uint32_t shared)
{
    const uint32_t score = transformer_push_linear(graph, &(struct transformer_linear){
                                                              .name = "shared_gate",
                                                              .from = "hidden",
                                                              .to = "",
                                                              .input = input,
                                                              .copies = 1,
                                                          });
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "shared_scale",
                                           .domain = "batch seq hidden",
                                           .output = "batch seq hidden",
                                           .inputs = {shared, score},
                                           .input_count = 2,
                                           .copies = 1,
                                           .forward_bytes = MOVE_BYTES,
                                           .backward_bytes = COMBINE_BACKWARD_BYTES,
                                       });
    struct op *op = &graph->model->ops[graph->model->op_count - 1];
    transformer_push_keep(op, shared);
    transformer_push_keep(op, score);
    return output;
}

static uint32_t push_shared(struct transformer_graph *graph, uint32_t input)
{
    const struct block block = {.prefix = "shared_", .width = "shared_ffn", .rows = "batch seq"};
    if (graph->shape->moe.shared_ffn == 0) {
        return NO_INDEX;
    }
    const uint32_t shared = push_block(graph, &block, input);
    return graph->shape->moe.shared_gate ? push_shared_gate(graph, input, shared) : shared;
}

/* "batch seq experts" with density top_k / experts is the set of (token, chosen expert) pairs, so
 * an even load is the model; an uneven one is for who runs it. */
struct transformer_branch transformer_push_experts(struct transformer_graph *graph, uint32_t input)
{
    const struct transformer_moe *moe = &graph->shape->moe;
    const double frac = (double)moe->top_k / (double)moe->experts;
    const uint32_t scores = push_router(graph, input);
    const struct block routed = {.prefix = "experts_",
                                 .width = "expert_ffn",
                                 .rows = "batch seq experts",
                                 .group = "experts",
                                 .routed_frac = frac};
    const uint32_t outputs = push_block(graph, &routed, push_dispatch(graph, input, scores, frac));
    const uint32_t combined = push_combine(graph, outputs, scores);
    return (struct transformer_branch){combined, push_shared(graph, input)};
}
