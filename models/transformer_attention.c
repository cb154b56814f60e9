/* Attention with heads of its own: the first half of a layer, or its look at an encoder's output.
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
#include "models/transformer_traffic.h"

#define QUERY_AXES "batch seq heads head_dim"
/* Of K and V only K is normed or rotated: half the elements of the tensor. */
#define KEY_SHARE 0.5

static uint32_t push_query(struct transformer_graph *graph, const char *name, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "hidden",
                                              .to = "heads head_dim",
                                              .biased = graph->shape->qkv_bias,
                                              .input = input,
                                              .copies = 1,
                                          });
}

/* joined: one kernel with Q, which reads the same tensor. */
static uint32_t push_key_value(struct transformer_graph *graph, const char *name, uint32_t input,
                               bool joined)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "hidden",
                                              .to = "kv_heads head_dim",
                                              .biased = graph->shape->qkv_bias,
                                              .input = input,
                                              .copies = 2,
                                              .joined = joined,
                                          });
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
    const bool wide = graph->shape->qk_norm_wide;
    const uint32_t raw_q = *q;
    struct op *op = transformer_push_map(graph, "q_norm", QUERY_AXES, q, NORM_FORWARD_BYTES,
                                         NORM_BACKWARD_BYTES);
    transformer_push_weight(graph, op, "gain", wide ? "heads head_dim" : "head_dim", 1);
    transformer_push_keep(op, raw_q);
    op = push_on_key(graph, "k_norm", kv, NORM_FORWARD_BYTES, NORM_BACKWARD_BYTES);
    transformer_push_weight(graph, op, "gain", wide ? "kv_heads head_dim" : "head_dim", 1);
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
 * (5 a s^2 b, arXiv 2205.05198 section 4.1); all queries and keys, since it computes the masked
 * half too. Flash attention draws its mask again. */
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

/* Which of the pairs of query and key count. */
static void set_density(const struct transformer_graph *graph, bool reads_memory, struct op *op)
{
    const bool all = reads_memory || graph->encodes || graph->shape->bidirectional;
    op->density = graph->mixer == 'w'   ? DENSITY_WINDOW
                  : graph->mixer == 'c' ? DENSITY_BLOCK
                  : all                 ? DENSITY_FULL
                                        : DENSITY_CAUSAL;
    op->window =
        op->density == DENSITY_WINDOW || op->density == DENSITY_BLOCK ? graph->shape->window : 0;
}

uint32_t transformer_push_core(struct transformer_graph *graph, const struct transformer_core *core)
{
    struct op *op = transformer_push_op(graph, core->name, OP_ATTENTION, core->domain);
    const uint32_t operands[] = {core->q, core->k, core->v};
    for (uint32_t i = 0; i < 3 && operands[i] != NO_INDEX; i++) {
        op->mirrored |= i > 0 ? 1u << i : 0u;
        op->inputs[op->input_count++] = operands[i];
        transformer_push_keep(op, operands[i]);
    }
    /* Where V is apart, K and V were made from latents, and those are what stays. */
    graph->model->tensors[core->k].cached = core->v == NO_INDEX;
    if (graph->shape->sinks) {
        transformer_push_weight(graph, op, "sinks", "heads", 1);
    }
    op->output = transformer_push_tensor(graph, core->name, core->output, TENSOR_ACTIVATION);
    transformer_push_keep(op, op->output); /* flash attention's backward reads it again */
    set_density(graph, core->reads_memory, op);
    push_kept_inside(graph, op);
    return op->output;
}

static uint32_t push_output(struct transformer_graph *graph, const char *name, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "heads head_dim",
                                              .to = "hidden",
                                              .biased = graph->shape->attention_output_bias,
                                              .input = input,
                                              .copies = 1,
                                          });
}

/* What comes out of attention times the sigmoid of a projection of what went in. */
static uint32_t push_gate(struct transformer_graph *graph, uint32_t gate, uint32_t input)
{
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "attention_gate",
                                           .domain = QUERY_AXES,
                                           .output = QUERY_AXES,
                                           .inputs = {input, gate},
                                           .input_count = 2,
                                           .copies = 1,
                                           .forward_bytes = GATE_FORWARD_BYTES,
                                           .backward_bytes = GATE_BACKWARD_BYTES,
                                       });
    struct op *op = &graph->model->ops[graph->model->op_count - 1];
    transformer_push_keep(op, input);
    transformer_push_keep(op, gate);
    return output;
}

static uint32_t push_gate_projection(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = "gate",
                                              .from = "hidden",
                                              .to = "heads head_dim",
                                              .input = input,
                                              .copies = 1,
                                              .joined = true,
                                          });
}

struct transformer_branch transformer_push_attention(struct transformer_graph *graph,
                                                     uint32_t input)
{
    const struct transformer *shape = graph->shape;
    uint32_t q = push_query(graph, "q", input);
    uint32_t kv = push_key_value(graph, "kv", input, true);
    const uint32_t gate = shape->attention_gate ? push_gate_projection(graph, input) : NO_INDEX;
    if (shape->qk_norm || shape->qk_norm_wide) {
        push_query_key_norm(graph, &q, &kv);
    }
    if (shape->positions == POSITION_ROPE) {
        /* The backward of a rotation is a rotation: nothing to keep. */
        transformer_push_map(graph, "q_rope", QUERY_AXES, &q, ROPE_BYTES, ROPE_BYTES);
        push_on_key(graph, "k_rope", &kv, ROPE_BYTES, ROPE_BYTES);
    }
    uint32_t output = transformer_push_core(
        graph, &(struct transformer_core){.name = "attention",
                                          .domain = "batch seq keys heads kv_heads head_dim",
                                          .output = QUERY_AXES,
                                          .q = q,
                                          .k = kv,
                                          .v = NO_INDEX});
    output = gate != NO_INDEX ? push_gate(graph, gate, output) : output;
    return (struct transformer_branch){push_output(graph, "attention_output", output), NO_INDEX};
}

/* Queries from the stream, keys and values from what the encoder left: its positions are those of
 * "keys". */
struct transformer_branch transformer_push_cross_attention(struct transformer_graph *graph,
                                                           uint32_t input)
{
    const uint32_t q = push_query(graph, "cross_q", input);
    const uint32_t kv = push_key_value(graph, "cross_kv", graph->memory, false);
    const uint32_t output = transformer_push_core(
        graph, &(struct transformer_core){.name = "cross_attention",
                                          .domain = "batch seq keys heads kv_heads head_dim",
                                          .output = QUERY_AXES,
                                          .q = q,
                                          .k = kv,
                                          .v = NO_INDEX,
                                          .reads_memory = true});
    return (struct transformer_branch){push_output(graph, "cross_attention_output", output),
                                       NO_INDEX};
}
