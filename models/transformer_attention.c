/* The attention half of a layer.
 *
 * Axes, and what follows from them by the one rule (a cut axis that a tensor lacks is summed over):
 *   q       batch seq heads    head_dim
 *   kv      batch seq kv_heads head_dim, K and V side by side, read mirrored: over "keys"
 *   output  batch seq heads    head_dim
 * The attention op meets every query with every key, so its domain has both "seq" and "keys":
 * forward and the gradient of q sum over keys, the gradients of K and V over seq. A head meets only
 * the K and V of its own group, so "kv_heads", though in the domain, is a grouping under "heads": a
 * cut of heads cuts K and V alike, nothing is summed over it. */
#include "models/transformer_graph.h"

/* hardware_costs 5.5, per element: norm 4 and 6, rotation 4 both ways. */
#define NORM_FORWARD_BYTES 4.0
#define NORM_BACKWARD_BYTES 6.0
#define ROPE_BYTES 4.0
/* Of K and V only K is normed or rotated: half the elements of the tensor. */
#define KEY_SHARE 0.5

static uint32_t push_query(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(graph,
                                   &(struct transformer_linear){
                                       .name = "q",
                                       .domain = "batch seq hidden heads head_dim",
                                       .weight = "hidden heads head_dim",
                                       .bias = graph->shape->qkv_bias ? "heads head_dim" : NULL,
                                       .output = "batch seq heads head_dim",
                                       .input = input,
                                       .copies = 1,
                                   });
}

static uint32_t push_key_value(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(graph,
                                   &(struct transformer_linear){
                                       .name = "kv",
                                       .domain = "batch seq hidden kv_heads head_dim",
                                       .weight = "hidden kv_heads head_dim",
                                       .bias = graph->shape->qkv_bias ? "kv_heads head_dim" : NULL,
                                       .output = "batch seq kv_heads head_dim",
                                       .input = input,
                                       .copies = 2,
                                       .joined = true,
                                   });
}

/* An elementwise op on q. */
static struct op *push_on_query(struct transformer_graph *graph, const char *name, uint32_t *q,
                                double forward_bytes, double backward_bytes)
{
    *q = transformer_push_stream(graph, &(struct transformer_stream){
                                            .name = name,
                                            .domain = "batch seq heads head_dim",
                                            .output = "batch seq heads head_dim",
                                            .inputs = {*q},
                                            .input_count = 1,
                                            .copies = 1,
                                            .forward_bytes = forward_bytes,
                                            .backward_bytes = backward_bytes,
                                        });
    return &graph->model->ops[graph->model->op_count - 1];
}

/* An elementwise op on the K half of kv, in one kernel with its twin on q. */
static struct op *push_on_key(struct transformer_graph *graph, const char *name, uint32_t *kv,
                              double forward_bytes, double backward_bytes)
{
    *kv = transformer_push_stream(graph, &(struct transformer_stream){
                                             .name = name,
                                             .domain = "batch seq kv_heads head_dim",
                                             .output = "batch seq kv_heads head_dim",
                                             .inputs = {*kv},
                                             .input_count = 1,
                                             .copies = 2,
                                             .forward_bytes = KEY_SHARE * forward_bytes,
                                             .backward_bytes = KEY_SHARE * backward_bytes,
                                         });
    struct op *op = &graph->model->ops[graph->model->op_count - 1];
    op->joined = true;
    return op;
}

/* RMS norm over head_dim. Its backward reads what came in: q, and of kv the K half only, which is a
 * tensor of its own here because V is kept anyway. */
static void push_query_key_norm(struct transformer_graph *graph, uint32_t *q, uint32_t *kv)
{
    const uint32_t raw_q = *q;
    struct op *op = push_on_query(graph, "q_norm", q, NORM_FORWARD_BYTES, NORM_BACKWARD_BYTES);
    transformer_push_weight(graph, op, "gain", "head_dim", 1);
    transformer_push_keep(op, raw_q);
    op = push_on_key(graph, "k_norm", kv, NORM_FORWARD_BYTES, NORM_BACKWARD_BYTES);
    transformer_push_weight(graph, op, "gain", "head_dim", 1);
    transformer_push_keep(op, transformer_push_tensor(graph, "k_unnormed",
                                                      "batch seq kv_heads head_dim",
                                                      TENSOR_ACTIVATION));
}

/* A kept tensor of the attention core: selective recomputation makes it again. */
static void keep_inside(struct transformer_graph *graph, struct op *op, struct tensor inside)
{
    const uint32_t tensor = transformer_push_tensor(graph, inside.name, "", inside.class);
    struct tensor *pushed = &graph->model->tensors[tensor];
    pushed->axes = inside.axes;
    pushed->only = inside.only;
    pushed->recomputable = true;
    transformer_push_keep(op, tensor);
}

/* Flash attention keeps the log-sum-exp of each query, 4 a s b bytes. Plain attention keeps the
 * softmax, and with dropout the mask and what is left: 2 + 1 + 2 bytes per query and key
 * (hardware_costs 6.2: 5 a s^2 b); all queries and keys, since it computes the masked half too.
 * Flash attention draws its mask again. */
static void push_kept_inside(struct transformer_graph *graph, struct op *op)
{
    const axis_set rows = transformer_axes(graph, "batch seq heads");
    const axis_set scores = transformer_axes(graph, "batch seq keys heads");
    keep_inside(graph, op,
                (struct tensor){.name = "attention_log_sum_exp",
                                .class = TENSOR_STATISTIC,
                                .axes = rows,
                                .only = ATTENTION_FLASH});
    keep_inside(graph, op,
                (struct tensor){.name = "attention_softmax",
                                .class = TENSOR_ACTIVATION,
                                .axes = scores,
                                .only = ATTENTION_PLAIN});
    if (graph->shape->dropout_frac > 0.0) {
        keep_inside(graph, op,
                    (struct tensor){.name = "attention_mask",
                                    .class = TENSOR_MASK,
                                    .axes = scores,
                                    .only = ATTENTION_PLAIN});
        keep_inside(graph, op,
                    (struct tensor){.name = "attention_dropped",
                                    .class = TENSOR_ACTIVATION,
                                    .axes = scores,
                                    .only = ATTENTION_PLAIN});
    }
}

static uint32_t push_core(struct transformer_graph *graph, uint32_t q, uint32_t kv)
{
    struct op *op = transformer_push_op(graph, "attention", OP_ATTENTION,
                                        "batch seq keys heads kv_heads head_dim");
    op->inputs[op->input_count++] = q;
    op->mirrored = 1u << op->input_count;
    op->inputs[op->input_count++] = kv;
    graph->model->tensors[kv].cached = true;
    op->output =
        transformer_push_tensor(graph, "attention", "batch seq heads head_dim", TENSOR_ACTIVATION);
    op->density = graph->shape->window > 0 ? DENSITY_WINDOW : DENSITY_CAUSAL;
    op->window = graph->shape->window;
    transformer_push_keep(op, q);
    transformer_push_keep(op, kv);
    push_kept_inside(graph, op);
    return op->output;
}

static uint32_t push_output(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(
        graph, &(struct transformer_linear){
                   .name = "attention_output",
                   .domain = "batch seq heads head_dim hidden",
                   .weight = "heads head_dim hidden",
                   .bias = graph->shape->attention_output_bias ? "hidden" : NULL,
                   .output = "batch seq hidden",
                   .input = input,
                   .copies = 1,
               });
}

uint32_t transformer_push_attention(struct transformer_graph *graph, uint32_t stream)
{
    const uint32_t normed = transformer_push_norm(graph, "attention_norm", stream);
    uint32_t q = push_query(graph, normed);
    uint32_t kv = push_key_value(graph, normed);
    if (graph->shape->qk_norm) {
        push_query_key_norm(graph, &q, &kv);
    }
    if (graph->shape->positions == POSITION_ROPE) {
        /* The backward of a rotation is a rotation: nothing to keep. */
        push_on_query(graph, "q_rope", &q, ROPE_BYTES, ROPE_BYTES);
        push_on_key(graph, "k_rope", &kv, ROPE_BYTES, ROPE_BYTES);
    }
    const uint32_t branch = push_output(graph, push_core(graph, q, kv));
    return transformer_push_residual(graph, "attention_residual", stream, branch, NO_INDEX);
}
