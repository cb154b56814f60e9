/* A scan in attention's place: a state that each token updates and reads (Mamba, Mamba-2, gated
 * delta rule).
 *
 * Axes: x and z "scan_heads scan_dim"; B and C (K and Q of the delta rule) "scan_groups
 * scan_state", a grouping under scan_heads; one time step per head (and a second number, the delta
 * rule's beta).
 * The kernel's domain has "keys": the tokens before each token, through the state. So a rank that
 * holds a piece of the sequence is charged for fetching what is before it; variants that trade
 * heads for tokens are exact.
 *
 * FLOPs per token of the kernels, counted from their published block algorithms, P = head_dim,
 * N = state, Q = chunk, H heads, G groups (each multiplication with its addition 2; half of the
 * Q x Q block is masked):
 *   Mamba-2  scores C B^T: Q N per group; times X: Q P per head; state in and out: 4 N P per head
 *            (arXiv 2405.21060 section 6)
 *   delta    K K^T and Q K^T: 2 Q N per head; the triangular inverse: Q^2 / 3 per head; its
 *            products with K and V: Q (N + P), outputs Q P; state in, out and corrected: 6 N P per
 *            head (arXiv 2412.06464 section 3.3)
 *   Mamba    9 N per channel (the scan's own count in its reference implementation)
 * Backward computes each product's two gradients and the forward states again: 2.5 times. */
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

/* x in, y out; B, C, time steps and states between chunks are an order smaller (derived). */
#define SCAN_FORWARD_BYTES 4.0
#define SCAN_BACKWARD_BYTES 10.0
#define SCAN_BACKWARD_FLOPS 2.5
#define MAMBA1_FLOPS 9.0

#define HEAD_AXES "scan_heads scan_dim"
#define X_AXES "batch seq " HEAD_AXES
#define GROUP_AXES "scan_groups scan_state"

static uint32_t push_in(struct transformer_graph *graph, const char *name, const char *axes,
                        uint32_t copies, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "hidden",
                                              .to = axes,
                                              .biased = graph->shape->scan.bias,
                                              .input = input,
                                              .copies = copies,
                                              .joined = true,
                                          });
}

static void set_state(const struct transformer_graph *graph, struct op *op, const char *axes,
                      uint32_t copies)
{
    op->state =
        copies == 0 ? 0 : transformer_axes(graph, text_build(graph->arena, "batch %s", axes));
    op->state_copies = copies;
}

/* A few taps per channel, and a bias but for the delta rule. */
static void push_conv(struct transformer_graph *graph, const char *name, const char *axes,
                      uint32_t copies, uint32_t *tensor)
{
    const struct transformer_scan *scan = &graph->shape->scan;
    const uint32_t input = *tensor;
    struct op *op =
        transformer_push_map(graph, name, text_build(graph->arena, "batch seq %s", axes), tensor,
                             ACTIVATION_FORWARD_BYTES, ACTIVATION_BACKWARD_BYTES);
    graph->model->tensors[op->output].copies = copies;
    transformer_push_weight(graph, op, "taps", axes, copies * scan->conv);
    set_state(graph, op, axes, copies * (scan->conv - 1)); /* inputs that later taps meet */
    if (scan->kind != SCAN_DELTA) {
        transformer_push_weight(graph, op, "bias", axes, copies);
    }
    transformer_push_keep(op, input);
}

static double flops_per_output(const struct transformer_scan *scan)
{
    const double n = scan->state, p = scan->head_dim, q = scan->chunk;
    switch (scan->kind) {
    case SCAN_MAMBA2: return q * n * scan->groups / (scan->heads * p) + q + 4.0 * n;
    case SCAN_DELTA: return (2.0 * q * n + q * q / 3.0 + q * (n + p)) / p + q + 6.0 * n;
    case SCAN_MAMBA1: return MAMBA1_FLOPS * n;
    case SCAN_KIND_COUNT: break;
    }
    BUG("no scan %d", (int)scan->kind);
}

/* Decay, skip and offset of the time step per head; a decay per state for Mamba, no skip for the
 * delta rule. */
static void push_scan_weights(struct transformer_graph *graph, struct op *op)
{
    const enum scan_kind kind = graph->shape->scan.kind;
    if (kind == SCAN_MAMBA1) {
        transformer_push_weight(graph, op, "decay", "scan_heads scan_state", 1);
        transformer_push_weight(graph, op, "skip", "scan_heads", 1);
    } else {
        transformer_push_weight(graph, op, "decay", "scan_heads", kind == SCAN_DELTA ? 2 : 3);
    }
}

static uint32_t push_kernel(struct transformer_graph *graph, uint32_t x, uint32_t bc, uint32_t step)
{
    const struct transformer_scan *scan = &graph->shape->scan;
    const bool grouped = scan->kind != SCAN_MAMBA1;
    struct op *op =
        transformer_push_op(graph, "scan", OP_KERNEL,
                            grouped ? "batch seq keys scan_heads scan_groups scan_dim scan_state"
                                    : "batch seq keys scan_heads scan_dim scan_state");
    const uint32_t operands[] = {x, bc, step};
    for (uint32_t i = 0; i < 3; i++) {
        op->mirrored |= 1u << i;
        op->inputs[op->input_count++] = operands[i];
        transformer_push_keep(op, operands[i]);
    }
    op->output = transformer_push_tensor(graph, "scan", X_AXES, TENSOR_ACTIVATION);
    op->forward_bytes = SCAN_FORWARD_BYTES;
    op->backward_bytes = SCAN_BACKWARD_BYTES;
    op->forward_flops = flops_per_output(scan);
    op->backward_flops = SCAN_BACKWARD_FLOPS * op->forward_flops;
    push_scan_weights(graph, op);
    set_state(graph, op, HEAD_AXES " scan_state", 1);
    return op->output;
}

/* Mamba gates without a norm; the delta rule's norm has one gain for all heads. */
static uint32_t push_gated_norm(struct transformer_graph *graph, uint32_t y, uint32_t z)
{
    const enum scan_kind kind = graph->shape->scan.kind;
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "scan_gated_norm",
                                           .domain = X_AXES,
                                           .output = X_AXES,
                                           .inputs = {y, z},
                                           .input_count = 2,
                                           .copies = 1,
                                           .forward_bytes = GATE_FORWARD_BYTES,
                                           .backward_bytes = GATE_BACKWARD_BYTES,
                                       });
    struct op *op = &graph->model->ops[graph->model->op_count - 1];
    if (kind != SCAN_MAMBA1) {
        transformer_push_weight(graph, op, "gain", kind == SCAN_DELTA ? "scan_dim" : HEAD_AXES, 1);
    }
    transformer_push_keep(op, y);
    transformer_push_keep(op, z);
    return output;
}

static uint32_t push_out(struct transformer_graph *graph, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = "scan_output",
                                              .from = HEAD_AXES,
                                              .to = "hidden",
                                              .biased = graph->shape->scan.bias,
                                              .input = input,
                                              .copies = 1,
                                          });
}

/* Mamba makes time step, B and C from x, the time step through a narrow projection. */
static uint32_t push_from_x(struct transformer_graph *graph, const char *name, const char *to,
                            uint32_t copies, uint32_t x)
{
    uint32_t output = transformer_push_linear(graph, &(struct transformer_linear){
                                                         .name = name,
                                                         .from = HEAD_AXES,
                                                         .to = to,
                                                         .input = x,
                                                         .copies = copies,
                                                     });
    if (graph->shape->scan.inner_norms) {
        const uint32_t input = output;
        struct op *op = transformer_push_map(graph, text_build(graph->arena, "%s_norm", name),
                                             text_build(graph->arena, "batch seq %s", to), &output,
                                             ACTIVATION_FORWARD_BYTES, ACTIVATION_BACKWARD_BYTES);
        graph->model->tensors[op->output].copies = copies;
        transformer_push_weight(graph, op, "gain", to, copies);
        transformer_push_keep(op, input);
    }
    return output;
}

static uint32_t push_step(struct transformer_graph *graph, uint32_t narrow)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = "scan_step",
                                              .from = "scan_rank",
                                              .to = "scan_heads",
                                              .biased = true,
                                              .input = narrow,
                                              .copies = 1,
                                          });
}

struct transformer_branch transformer_push_scan(struct transformer_graph *graph, uint32_t input)
{
    const enum scan_kind kind = graph->shape->scan.kind;
    const uint32_t z = push_in(graph, "scan_z", HEAD_AXES, 1, input);
    graph->model->ops[graph->model->op_count - 1].joined = false;
    uint32_t x = push_in(graph, "scan_x", HEAD_AXES, 1, input), bc, step;
    if (kind == SCAN_MAMBA1) {
        push_conv(graph, "scan_conv", HEAD_AXES, 1, &x);
        step = push_step(graph, push_from_x(graph, "scan_narrow", "scan_rank", 1, x));
        bc = push_from_x(graph, "scan_bc", "scan_state", 2, x);
    } else {
        bc = push_in(graph, "scan_bc", GROUP_AXES, 2, input);
        step = push_in(graph, "scan_step", "scan_heads", kind == SCAN_DELTA ? 2 : 1, input);
        push_conv(graph, "scan_conv", HEAD_AXES, 1, &x);
        push_conv(graph, "scan_bc_conv", GROUP_AXES, 2, &bc);
    }
    const uint32_t y = push_kernel(graph, x, bc, step);
    return (struct transformer_branch){push_out(graph, push_gated_norm(graph, y, z)), NO_INDEX};
}
