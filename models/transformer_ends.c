/* The two ends of the chain: tokens to stream, stream to loss. */
#include <string.h>

#include "base/text.h"
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

/* Dropout alone reads an element and writes it with a one-byte mask; backward the same. */
#define DROPOUT_BYTES 5.0
/* The loss per logit, not fused: a cast to the fp32 copy (read 2, write 4), then the maximum and
 * the sum of exponentials over that copy. 12 in all is assumed, the upper end of 8 to 12 for chains
 * of such kernels. Backward reads the copy and writes a 2-byte gradient. */
#define LOSS_FORWARD_BYTES 12.0
#define LOSS_BACKWARD_BYTES 6.0
/* fp32 numbers per token that a loss over a cut vocabulary exchanges: maximum, sum of exponentials,
 * logit of the target. */
#define LOSS_TERMS 3
#define SENTENCE_CLASSES 2 /* logits of "is the next sentence" */

static struct op *last_op(const struct transformer_graph *graph)
{
    return &graph->model->ops[graph->model->op_count - 1];
}

/* --- tokens to stream ------------------------------------------------------------------------- */

static uint32_t push_dropout(struct transformer_graph *graph, uint32_t input)
{
    transformer_push_map(graph, "embedding_dropout", "batch seq hidden", &input, DROPOUT_BYTES,
                         DROPOUT_BYTES);
    transformer_push_keep(last_op(graph), transformer_push_tensor(graph, "embedding_mask",
                                                                  "batch seq hidden", TENSOR_MASK));
    return input;
}

/* Numbers without an op of their own: biases by relative position, small beside everything. They
 * ride on the embedding; T5 has a table per stack. */
static void push_relative(struct transformer_graph *graph, struct op *op)
{
    const uint32_t stacks = graph->shape->encoder_layers > 0 ? 2 : 1;
    transformer_push_weight(graph, op, "relative_bias", "",
                            stacks * graph->shape->relative_buckets * graph->shape->heads);
}

/* The lookup sums over "vocab": each row of the table that a rank lacks contributes nothing there.
 * Learned positions and token types are added by further lookups into the same stream, whose tables
 * nothing cuts. Behind a vision tower its tokens take their places in the stream. */
void transformer_push_embedding(struct transformer_graph *graph)
{
    const struct transformer *shape = graph->shape;
    struct part *part = transformer_open_part(graph, "embedding");
    uint32_t images = NO_INDEX;
    if (shape->vision.tower != NULL) {
        part->input = transformer_push_tensor(graph, "vision_stream",
                                              "batch vision_seq vision_hidden", TENSOR_ACTIVATION);
        images = transformer_push_projector(graph, part->input);
    }
    const uint32_t tokens = transformer_push_tensor(graph, "tokens", "batch seq", TENSOR_INDEX);
    struct op *op = transformer_push_lookup(graph, "embedding", "vocab", tokens);
    transformer_push_keep(op, tokens);
    if (shape->positions == POSITION_RELATIVE) {
        push_relative(graph, op);
    }
    uint32_t output = op->output;
    if (shape->positions == POSITION_LEARNED) {
        output = transformer_push_lookup(graph, "positions", "positions", output)->output;
    }
    if (shape->token_types > 0) {
        output = transformer_push_lookup(graph, "token_types", "token_types", output)->output;
    }
    if (images != NO_INDEX) {
        transformer_push_map(graph, "insert_images", "batch seq hidden", &output, MOVE_BYTES,
                             MOVE_BYTES);
        op = last_op(graph);
        op->inputs[op->input_count++] = images;
    }
    if (shape->embedding_norm) {
        output = transformer_push_norm(graph, "embedding_norm", output);
    }
    if (shape->dropout_frac > 0.0) {
        output = push_dropout(graph, output);
    }
    transformer_close_part(graph, part, output);
}

/* --- stream to loss --------------------------------------------------------------------------- */

/* The loss sums over "vocab" in fp32 and keeps the logits twice: as the head wrote them, and the
 * fp32 copy that its softmax runs on. */
static uint32_t push_loss(struct transformer_graph *graph, const char *name, uint32_t logits)
{
    struct op *op = transformer_push_op(graph, name, OP_STREAM, "batch seq vocab");
    op->inputs[op->input_count++] = logits;
    op->forward_bytes = LOSS_FORWARD_BYTES;
    op->backward_bytes = LOSS_BACKWARD_BYTES;
    op->output = transformer_push_tensor(graph, name, "batch seq", TENSOR_STATISTIC);
    graph->model->tensors[op->output].copies = LOSS_TERMS;
    transformer_push_keep(op, logits);
    transformer_push_keep(op,
                          transformer_push_tensor(graph, text_build(graph->arena, "%s_fp32", name),
                                                  "batch seq vocab", TENSOR_STATISTIC));
    return op->output;
}

static const struct op *find_op(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->op_count; i++) {
        if (strcmp(model->ops[i].name, name) == 0) {
            return &model->ops[i];
        }
    }
    BUG("no op '%s'", name);
}

static uint32_t push_logits(struct transformer_graph *graph, const char *name, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = name,
                                              .from = "hidden",
                                              .to = "vocab",
                                              .biased = graph->shape->head_bias,
                                              .input = input,
                                              .copies = 1,
                                          });
}

static void tie(struct transformer_graph *graph, uint32_t weight, const char *op)
{
    graph->model->tensors[weight].tied_to = find_op(graph->model, op)->weights[0];
}

/* A matrix on the stream: domain and weight need a second axis of the same size. */
static uint32_t push_square(struct transformer_graph *graph, const char *name, uint32_t input,
                            bool activated)
{
    uint32_t output = transformer_push_linear(graph, &(struct transformer_linear){
                                                         .name = name,
                                                         .from = "hidden",
                                                         .to = "transform",
                                                         .biased = true,
                                                         .input = input,
                                                         .copies = 1,
                                                     });
    if (activated) {
        const uint32_t before = output;
        transformer_push_map(graph, text_build(graph->arena, "%s_activation", name),
                             "batch seq transform", &output, ACTIVATION_FORWARD_BYTES,
                             ACTIVATION_BACKWARD_BYTES);
        transformer_push_keep(last_op(graph), before);
    }
    return output;
}

/* Dense, activation, norm, as masked-token heads have before their logits. The last op writes the
 * hidden axis again. */
static uint32_t push_masked(struct transformer_graph *graph, uint32_t input)
{
    const uint32_t wide = push_square(graph, "masked_dense", input, true);
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "masked_norm",
                                           .domain = "batch seq hidden",
                                           .output = "batch seq hidden",
                                           .inputs = {wide},
                                           .input_count = 1,
                                           .copies = 1,
                                           .forward_bytes = ACTIVATION_FORWARD_BYTES,
                                           .backward_bytes = ACTIVATION_BACKWARD_BYTES,
                                       });
    struct op *op = last_op(graph);
    transformer_push_weight(graph, op, "gain", "hidden", 1);
    transformer_push_weight(graph, op, "bias", "hidden", 1);
    transformer_push_keep(op, wide);
    return output;
}

/* On the first token of a sequence alone: parameters, next to no work. Its weights ride on an op
 * over the batch. */
static void push_pooler(struct transformer_graph *graph, uint32_t input)
{
    const struct transformer_stream stream = {
        .name = "pooler",
        .domain = "batch transform",
        .output = "batch transform",
        .inputs = {input},
        .input_count = 1,
        .copies = 1,
        .forward_bytes = ACTIVATION_FORWARD_BYTES,
        .backward_bytes = ACTIVATION_BACKWARD_BYTES,
    };
    const uint32_t pooled = transformer_push_stream(graph, &stream);
    transformer_push_weight(graph, last_op(graph), "weight", "hidden transform", 1);
    transformer_push_weight(graph, last_op(graph), "bias", "transform", 1);
    if (graph->shape->next_sentence) {
        struct transformer_stream classes = stream;
        classes.name = "next_sentence";
        classes.output = "batch";
        classes.inputs[0] = pooled;
        transformer_push_stream(graph, &classes);
        transformer_push_weight(graph, last_op(graph), "weight", "transform", SENTENCE_CLASSES);
        transformer_push_weight(graph, last_op(graph), "bias", "", SENTENCE_CLASSES);
    }
}

/* --- further tokens --------------------------------------------------------------------------- */

/* The stream beside the embedding of the token after, both normed, through one matrix of twice the
 * width (arXiv 2412.19437, equation 21). */
static uint32_t push_pair(struct transformer_graph *graph, uint32_t stream)
{
    const uint32_t tokens =
        transformer_push_tensor(graph, "next_tokens", "batch seq", TENSOR_INDEX);
    struct op *op = transformer_push_lookup(graph, "mtp_embedding", "vocab", tokens);
    const uint32_t embedded = op->output;
    transformer_push_keep(op, tokens);
    tie(graph, op->weights[0], "embedding");
    const uint32_t left = transformer_push_norm(graph, "mtp_embedding_norm", embedded);
    const uint32_t right = transformer_push_norm(graph, "mtp_stream_norm", stream);
    const uint32_t pair = transformer_push_stream(graph, &(struct transformer_stream){
                                                             .name = "mtp_pair",
                                                             .domain = "batch seq mtp_pair",
                                                             .output = "batch seq mtp_pair",
                                                             .inputs = {left, right},
                                                             .input_count = 2,
                                                             .copies = 1,
                                                             .forward_bytes = MOVE_BYTES,
                                                             .backward_bytes = MOVE_BYTES,
                                                         });
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = "mtp_projection",
                                              .from = "mtp_pair",
                                              .to = "hidden",
                                              .input = pair,
                                              .copies = 1,
                                          });
}

/* Embedding table and output matrix are the main model's own; the last kind of layer is
 * repeated. */
static uint32_t push_further(struct transformer_graph *graph, uint32_t *stream, uint32_t loss)
{
    const struct transformer *shape = graph->shape;
    const char mlp = transformer_mlp(shape, shape->layers - 1);
    graph->mixer = transformer_mixer(shape, shape->layers - 1);
    *stream = transformer_push_layer(graph, mlp, push_pair(graph, *stream));
    const uint32_t logits =
        push_logits(graph, "mtp_logits", transformer_push_norm(graph, "mtp_final_norm", *stream));
    last_op(graph)->weights[0] = find_op(graph->model, "logits")->weights[0];
    const uint32_t own = push_loss(graph, "mtp_loss", logits);
    const uint32_t sum = transformer_push_stream(graph, &(struct transformer_stream){
                                                            .name = "loss_sum",
                                                            .domain = "batch seq",
                                                            .output = "batch seq",
                                                            .inputs = {loss, own},
                                                            .input_count = 2,
                                                            .copies = LOSS_TERMS,
                                                            .forward_bytes = SUM_BYTES,
                                                            .backward_bytes = SUM_BYTES,
                                                        });
    graph->model->tensors[sum].class = TENSOR_STATISTIC;
    return sum;
}

void transformer_push_head(struct transformer_graph *graph)
{
    const struct transformer *shape = graph->shape;
    struct part *part = transformer_open_part(graph, "head");
    part->input = transformer_push_tensor(graph, "stream", "batch seq hidden", TENSOR_ACTIVATION);
    uint32_t stream = part->input;
    if (shape->pooler) {
        push_pooler(graph, stream);
    }
    if (shape->form != LAYER_POST_NORM) {
        stream = transformer_push_norm(graph, "final_norm", stream);
    }
    if (shape->head == HEAD_MASKED) {
        stream = push_masked(graph, stream);
    }
    const uint32_t logits = push_logits(graph, "logits", stream);
    if (shape->tied_embeddings) {
        tie(graph, last_op(graph)->weights[0], "embedding");
    }
    uint32_t loss = push_loss(graph, "loss", logits);
    stream = part->input;
    for (uint32_t i = 0; i < shape->mtp_layers; i++) {
        loss = push_further(graph, &stream, loss);
    }
    transformer_close_part(graph, part, loss);
}
