/* Short ways to push the tensors and ops that a transformer is made of. */
#include "models/transformer_graph.h"

#include <string.h>

#include "base/text.h"
#include "models/transformer_traffic.h"

#define BRANCH_BYTES 2.0 /* one more stream to read */
/* Dropout fused into the sum writes a one-byte mask forward; backward it reads a gradient and the
 * mask and writes the branch's own gradient. */
#define DROPOUT_FORWARD_BYTES 1.0
#define DROPOUT_BACKWARD_BYTES 5.0
/* A lookup reads a row and writes it; backward it reads the gradient and adds to an fp32 row, which
 * is read and written: 2 + 8. */
#define LOOKUP_FORWARD_BYTES 4.0
#define LOOKUP_BACKWARD_BYTES 10.0

static uint32_t find_named(const struct model *model, const char *prefix, const char *name,
                           size_t length)
{
    const size_t before = strlen(prefix);
    for (uint32_t i = 0; i < model->axis_count; i++) {
        const char *axis = model->axes[i].name;
        if (strncmp(axis, prefix, before) == 0 && strncmp(axis + before, name, length) == 0 &&
            axis[before + length] == '\0') {
            return i;
        }
    }
    return NO_INDEX;
}

static uint32_t axis_of(const struct transformer_graph *graph, const char *name, size_t length)
{
    uint32_t axis = NO_INDEX;
    if (graph->prefix != NULL) {
        axis = find_named(graph->model, graph->prefix, name, length);
    }
    axis = axis != NO_INDEX ? axis : find_named(graph->model, "", name, length);
    if (axis == NO_INDEX) {
        BUG("the transformer has no axis '%.*s'", (int)length, name);
    }
    return axis;
}

axis_set transformer_axes(const struct transformer_graph *graph, const char *names)
{
    axis_set axes = 0;
    for (names += strspn(names, " "); *names != '\0'; names += strspn(names, " ")) {
        const size_t length = strcspn(names, " ");
        axes |= (axis_set)1 << axis_of(graph, names, length);
        names += length;
    }
    return axes;
}

uint32_t transformer_push_tensor(struct transformer_graph *graph, const char *name,
                                 const char *axes, enum tensor_class class)
{
    struct model *model = graph->model;
    if (model->tensor_count == GRAPH_TENSOR_MAX) {
        BUG("more than %d tensors", GRAPH_TENSOR_MAX);
    }
    model->tensors[model->tensor_count] = (struct tensor){
        .name = name,
        .class = class,
        .axes = transformer_axes(graph, axes),
        .copies = 1,
        .density = 1.0,
        .tied_to = NO_INDEX,
    };
    return model->tensor_count++;
}

struct op *transformer_push_op(struct transformer_graph *graph, const char *name, enum op_kind kind,
                               const char *domain)
{
    struct model *model = graph->model;
    if (model->op_count == GRAPH_OP_MAX) {
        BUG("more than %d ops", GRAPH_OP_MAX);
    }
    struct op *op = &model->ops[model->op_count++];
    *op = (struct op){.name = name, .kind = kind, .domain = transformer_axes(graph, domain)};
    return op;
}

void transformer_push_keep(struct op *op, uint32_t tensor)
{
    if (op->keep_count == OP_KEEP_MAX) {
        BUG("op '%s' keeps more than %d tensors", op->name, OP_KEEP_MAX);
    }
    op->keeps[op->keep_count++] = tensor;
}

void transformer_push_weight(struct transformer_graph *graph, struct op *op, const char *name,
                             const char *axes, uint32_t copies)
{
    if (op->weight_count == OP_WEIGHT_MAX) {
        BUG("op '%s' has more than %d weights", op->name, OP_WEIGHT_MAX);
    }
    const uint32_t weight = transformer_push_tensor(
        graph, text_build(graph->arena, "%s_%s", op->name, name), axes, TENSOR_WEIGHT);
    graph->model->tensors[weight].copies = copies;
    op->weights[op->weight_count++] = weight;
}

static void route(struct transformer_graph *graph, struct op *op, double routed_frac)
{
    if (routed_frac > 0.0) {
        op->density = DENSITY_ROUTED;
        op->routed_frac = routed_frac;
        graph->model->tensors[op->output].density = routed_frac;
    }
}

static const char *join(const struct transformer_graph *graph, const char *a, const char *b,
                        const char *c)
{
    return text_build(graph->arena, "%s %s %s", a, b, c);
}

uint32_t transformer_push_linear(struct transformer_graph *graph,
                                 const struct transformer_linear *linear)
{
    const char *rows = linear->rows != NULL ? linear->rows : "batch seq";
    const char *group = linear->group != NULL ? linear->group : "";
    struct op *op = transformer_push_op(graph, linear->name, OP_CONTRACT,
                                        join(graph, rows, linear->from, linear->to));
    op->inputs[op->input_count++] = linear->input;
    transformer_push_keep(op, linear->input);
    transformer_push_weight(graph, op, "weight", join(graph, group, linear->from, linear->to),
                            linear->copies);
    if (linear->biased) {
        transformer_push_weight(graph, op, "bias", join(graph, group, linear->to, ""),
                                linear->copies);
    }
    op->output = transformer_push_tensor(graph, linear->name, join(graph, rows, linear->to, ""),
                                         linear->class);
    graph->model->tensors[op->output].copies = linear->copies;
    op->joined = linear->joined;
    route(graph, op, linear->routed_frac);
    return op->output;
}

uint32_t transformer_push_stream(struct transformer_graph *graph,
                                 const struct transformer_stream *stream)
{
    struct op *op = transformer_push_op(graph, stream->name, OP_STREAM, stream->domain);
    memcpy(op->inputs, stream->inputs, sizeof op->inputs);
    op->input_count = stream->input_count;
    op->output = transformer_push_tensor(graph, stream->name, stream->output, TENSOR_ACTIVATION);
    graph->model->tensors[op->output].copies = stream->copies;
    op->forward_bytes = stream->forward_bytes;
    op->backward_bytes = stream->backward_bytes;
    route(graph, op, stream->routed_frac);
    return op->output;
}

/* The axis is in the domain of a norm, since it sums over it: no dim that cuts it could leave
 * the op alone. All kinds cost the same traffic; the mean and deviation per token are too small to
 * count. */
uint32_t transformer_push_norm_over(struct transformer_graph *graph, const char *name,
                                    const char *rows, const char *axis, uint32_t input)
{
    const char *axes = text_build(graph->arena, "%s %s", rows, axis);
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = name,
                                           .domain = axes,
                                           .output = axes,
                                           .inputs = {input},
                                           .input_count = 1,
                                           .copies = 1,
                                           .forward_bytes = NORM_FORWARD_BYTES,
                                           .backward_bytes = NORM_BACKWARD_BYTES,
                                       });
    struct op *op = &graph->model->ops[graph->model->op_count - 1];
    transformer_push_weight(graph, op, "gain", axis, 1);
    if (graph->shape->norm == NORM_LAYER) {
        transformer_push_weight(graph, op, "bias", axis, 1);
    }
    transformer_push_keep(op, input);
    return output;
}

uint32_t transformer_push_norm(struct transformer_graph *graph, const char *name, uint32_t input)
{
    return transformer_push_norm_over(graph, name, "batch seq", "hidden", input);
}

struct op *transformer_push_map(struct transformer_graph *graph, const char *name, const char *axes,
                                uint32_t *tensor, double forward_bytes, double backward_bytes)
{
    *tensor = transformer_push_stream(graph, &(struct transformer_stream){
                                                 .name = name,
                                                 .domain = axes,
                                                 .output = axes,
                                                 .inputs = {*tensor},
                                                 .input_count = 1,
                                                 .copies = 1,
                                                 .forward_bytes = forward_bytes,
                                                 .backward_bytes = backward_bytes,
                                             });
    return &graph->model->ops[graph->model->op_count - 1];
}

uint32_t transformer_push_residual(struct transformer_graph *graph, const char *name,
                                   uint32_t stream, uint32_t branch, uint32_t extra)
{
    const bool drops = graph->shape->dropout_frac > 0.0;
    const bool third = extra != NO_INDEX;
    const uint32_t output = transformer_push_stream(
        graph, &(struct transformer_stream){
                   .name = name,
                   .domain = "batch seq hidden",
                   .output = "batch seq hidden",
                   .inputs = {stream, branch, third ? extra : 0},
                   .input_count = third ? 3 : 2,
                   .copies = 1,
                   .forward_bytes = SUM_BYTES + (third ? BRANCH_BYTES : 0.0) +
                                    (drops ? DROPOUT_FORWARD_BYTES : 0.0),
                   .backward_bytes = SUM_BYTES + (drops ? DROPOUT_BACKWARD_BYTES : 0.0),
               });
    if (drops) {
        struct op *op = &graph->model->ops[graph->model->op_count - 1];
        transformer_push_keep(op, transformer_push_tensor(graph,
                                                          text_build(graph->arena, "%s_mask", name),
                                                          "batch seq hidden", TENSOR_MASK));
    }
    return output;
}

struct op *transformer_push_lookup(struct transformer_graph *graph, const char *name,
                                   const char *rows, uint32_t input)
{
    const char *domain = text_build(graph->arena, "batch seq %s hidden", rows);
    struct op *op = transformer_push_op(graph, name, OP_LOOKUP, domain);
    op->inputs[op->input_count++] = input;
    op->forward_bytes = LOOKUP_FORWARD_BYTES;
    op->backward_bytes = LOOKUP_BACKWARD_BYTES;
    transformer_push_weight(graph, op, "table", text_build(graph->arena, "%s hidden", rows), 1);
    op->output = transformer_push_tensor(graph, name, "batch seq hidden", TENSOR_ACTIVATION);
    return op;
}
