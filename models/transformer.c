/* A transformer as parts of ops: embedding, decoder layers dense or with experts, head. */
#include "models/transformer.h"

#include <string.h>

#include "base/text.h"
#include "models/model_inside.h"
#include "models/transformer_graph.h"

/* A lookup reads a row and writes it; backward it reads the gradient and adds to an fp32 row, which
 * is read and written (hardware_costs 5.5: 2 e forward, 2 + 8 backward). */
#define LOOKUP_FORWARD_BYTES 4.0
#define LOOKUP_BACKWARD_BYTES 10.0
/* Dropout alone reads an element and writes it with a one-byte mask; backward the same
 * (hardware_costs 5.5). */
#define DROPOUT_BYTES 5.0
/* The loss per logit, not fused: a cast to the fp32 copy (read 2, write 4), then the maximum and
 * the sum of exponentials over that copy; 12 is the upper end of hardware_costs 5.5. Backward reads
 * the copy and writes a 2-byte gradient. */
#define LOSS_FORWARD_BYTES 12.0
#define LOSS_BACKWARD_BYTES 6.0
/* fp32 numbers per token that a loss over a cut vocabulary exchanges: maximum, sum of exponentials,
 * logit of the target (hardware_costs 5.5). */
#define LOSS_TERMS 3

static void push_axis(struct model *model, const char *name, uint64_t size)
{
    model->axes[model->axis_count++] =
        (struct axis){.name = name, .size = size, .image_of = NO_INDEX};
}

static void push_image(struct model *model, const char *name, uint64_t size)
{
    push_axis(model, name, size);
    model->axes[model->axis_count - 1].image_of = model->axis_count - 2;
}

/* Only axes that the model has: nothing can cut the experts of a dense one. */
static void push_axes(struct model *model, const struct transformer *shape)
{
    const struct transformer_moe *moe = &shape->moe;
    push_axis(model, "batch", 0);
    push_axis(model, "seq", 0);
    push_image(model, "keys", 0);
    push_axis(model, "hidden", shape->hidden);
    push_axis(model, "heads", shape->heads);
    push_image(model, "kv_heads", shape->kv_heads);
    push_axis(model, "head_dim", shape->head_dim);
    push_axis(model, "ffn", shape->ffn);
    push_axis(model, "vocab", shape->vocab);
    model->axes[model->axis_count - 1].padded = true;
    if (shape->positions == POSITION_LEARNED) {
        push_axis(model, "positions", shape->max_positions);
    }
    if (moe->experts > 0) {
        push_axis(model, "routes", moe->experts);
        push_axis(model, "experts", moe->experts);
        push_axis(model, "expert_ffn", moe->ffn);
    }
    if (moe->experts > 0 && moe->shared_ffn > 0) {
        push_axis(model, "shared_ffn", moe->shared_ffn);
    }
}

/* Opens a part; the ops pushed until close_part belong to it. */
static struct part *open_part(struct transformer_graph *graph, const char *name)
{
    struct model *model = graph->model;
    if (model->part_count == GRAPH_PART_MAX) {
        BUG("more than %d parts", GRAPH_PART_MAX);
    }
    struct part *part = &model->parts[model->part_count++];
    *part = (struct part){.name = name, .first_op = model->op_count, .input = NO_INDEX};
    return part;
}

static void close_part(const struct transformer_graph *graph, struct part *part, uint32_t output)
{
    part->op_count = graph->model->op_count - part->first_op;
    part->output = output;
}

static uint32_t push_stream_in(struct transformer_graph *graph)
{
    return transformer_push_tensor(graph, "stream", "batch seq hidden", TENSOR_ACTIVATION);
}

static struct op *push_lookup(struct transformer_graph *graph, const char *name, const char *rows,
                              uint32_t input)
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

static uint32_t push_dropout(struct transformer_graph *graph, uint32_t input)
{
    const uint32_t output = transformer_push_stream(graph, &(struct transformer_stream){
                                                               .name = "embedding_dropout",
                                                               .domain = "batch seq hidden",
                                                               .output = "batch seq hidden",
                                                               .inputs = {input},
                                                               .input_count = 1,
                                                               .copies = 1,
                                                               .forward_bytes = DROPOUT_BYTES,
                                                               .backward_bytes = DROPOUT_BYTES,
                                                           });
    transformer_push_keep(
        &graph->model->ops[graph->model->op_count - 1],
        transformer_push_tensor(graph, "embedding_mask", "batch seq hidden", TENSOR_MASK));
    return output;
}

/* The lookup sums over "vocab": each row of the table that a rank lacks contributes nothing there.
 * Learned positions are added by a second lookup into the same stream, whose table nothing cuts. */
static void push_embedding(struct transformer_graph *graph)
{
    struct part *part = open_part(graph, "embedding");
    const uint32_t tokens = transformer_push_tensor(graph, "tokens", "batch seq", TENSOR_INDEX);
    struct op *op = push_lookup(graph, "embedding", "vocab", tokens);
    transformer_push_keep(op, tokens);
    uint32_t output = op->output;
    if (graph->shape->positions == POSITION_LEARNED) {
        output = push_lookup(graph, "positions", "positions", output)->output;
    }
    if (graph->shape->dropout_frac > 0.0) {
        output = push_dropout(graph, output);
    }
    close_part(graph, part, output);
}

/* The loss sums over "vocab" in fp32 and keeps the logits twice: as the head wrote them, and the
 * fp32 copy that its softmax runs on (hardware_costs 6.2). */
static uint32_t push_loss(struct transformer_graph *graph, uint32_t logits)
{
    struct op *op = transformer_push_op(graph, "loss", OP_STREAM, "batch seq vocab");
    op->inputs[op->input_count++] = logits;
    op->forward_bytes = LOSS_FORWARD_BYTES;
    op->backward_bytes = LOSS_BACKWARD_BYTES;
    op->output = transformer_push_tensor(graph, "loss", "batch seq", TENSOR_STATISTIC);
    graph->model->tensors[op->output].copies = LOSS_TERMS;
    transformer_push_keep(op, logits);
    transformer_push_keep(
        op, transformer_push_tensor(graph, "logits_fp32", "batch seq vocab", TENSOR_STATISTIC));
    return op->output;
}

static void push_head(struct transformer_graph *graph)
{
    struct part *part = open_part(graph, "head");
    part->input = push_stream_in(graph);
    const uint32_t normed = transformer_push_norm(graph, "final_norm", part->input);
    const uint32_t logits = transformer_push_linear(graph, &(struct transformer_linear){
                                                               .name = "logits",
                                                               .domain = "batch seq hidden vocab",
                                                               .weight = "hidden vocab",
                                                               .output = "batch seq vocab",
                                                               .input = normed,
                                                               .copies = 1,
                                                           });
    if (graph->shape->tied_embeddings) {
        const struct model *model = graph->model;
        const uint32_t own = model->ops[model->op_count - 1].weights[0];
        model->tensors[own].tied_to = model->ops[0].weights[0];
    }
    close_part(graph, part, push_loss(graph, logits));
}

static void push_layer(struct transformer_graph *graph, const char *name,
                       uint32_t (*push_second)(struct transformer_graph *, uint32_t))
{
    struct part *part = open_part(graph, name);
    part->input = push_stream_in(graph);
    close_part(graph, part, push_second(graph, transformer_push_attention(graph, part->input)));
}

static bool has_experts(const struct transformer *shape, uint32_t layer)
{
    const struct transformer_moe *moe = &shape->moe;
    return moe->experts > 0 && layer >= moe->first_dense &&
           (layer - moe->first_dense + 1) % moe->every == 0;
}

static uint32_t count_with_experts(const struct transformer *shape)
{
    const struct transformer_moe *moe = &shape->moe;
    return moe->experts > 0 ? (shape->layers - moe->first_dense) / moe->every : 0;
}

static void push_run(struct model *model, uint32_t part)
{
    if (model->run_count > 0 && model->chain[model->run_count - 1].part == part) {
        model->chain[model->run_count - 1].count++;
        return;
    }
    model->chain[model->run_count++] = (struct part_run){.part = part, .count = 1};
}

/* Layer by layer; equal neighbours fold into one run. */
static void push_chain(struct transformer_graph *graph)
{
    const struct transformer *shape = graph->shape;
    struct model *model = graph->model;
    const uint32_t with_experts = count_with_experts(shape);
    uint32_t dense = NO_INDEX, mixed = NO_INDEX;
    model->chain = ARENA_PUSH(graph->arena, struct part_run, (size_t)shape->layers + 2);
    push_embedding(graph);
    if (with_experts < shape->layers) {
        dense = model->part_count;
        push_layer(graph, "decoder", transformer_push_mlp);
    }
    if (with_experts > 0) {
        mixed = model->part_count;
        push_layer(graph, "moe", transformer_push_experts);
    }
    push_run(model, 0);
    for (uint32_t layer = 0; layer < shape->layers; layer++) {
        push_run(model, has_experts(shape, layer) ? mixed : dense);
    }
    push_head(graph);
    push_run(model, model->part_count - 1);
}

/* The model outlives what the description was read from. */
static const struct transformer *copy(const struct transformer *transformer, struct arena *arena)
{
    struct transformer *own = ARENA_PUSH(arena, struct transformer, 1);
    *own = *transformer;
    own->architecture = text_build(arena, "%s", transformer->architecture);
    own->activation = text_build(arena, "%s", transformer->activation);
    return own;
}

bool transformer_build(const struct transformer *transformer, const char *name, struct arena *arena,
                       struct model *out, struct diag *diag)
{
    struct model model = {
        .name = text_build(arena, "%s", name),
        .source = text_build(arena, "%s", name),
        .axes = ARENA_PUSH(arena, struct axis, AXIS_MAX),
        .tensors = ARENA_PUSH(arena, struct tensor, GRAPH_TENSOR_MAX),
        .ops = ARENA_PUSH(arena, struct op, GRAPH_OP_MAX),
        .parts = ARENA_PUSH(arena, struct part, GRAPH_PART_MAX),
        .transformer = copy(transformer, arena),
    };
    struct transformer_graph graph = {.shape = model.transformer, .arena = arena, .model = &model};
    push_axes(&model, transformer);
    push_chain(&graph);
    if (model_count_parameters(&model) == UINT64_MAX) {
        return diag_push(
            diag, DIAG_M204, (struct diag_place){0}, NULL,
            "model '%s' has %u layers of width %u and a vocabulary of %u: more than 2^64 "
            "parameters, which nothing could hold",
            name, transformer->layers, transformer->hidden, transformer->vocab);
    }
    model.digest = model_build_digest(&model, arena);
    *out = model;
    return true;
}
