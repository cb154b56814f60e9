/* A vision tower: patches through a transformer of its own, merged into tokens of the text stream.
 *
 * Its axes carry the prefix "vision_"; patches are its "seq". Its first part opens the chain, its
 * layers are runs of the chain like any, so a pipeline may cut between them; what its end leaves is
 * projected in the embedding part, where the text begins. */
#include <string.h>

#include "base/text.h"
#include "models/transformer_graph.h"
#include "models/transformer_traffic.h"

#define PREFIX "vision_"
/* A table of positions added: all pictures share it, so the stream alone counts. */
#define TABLE_BYTES 4.0

static struct op *last_op(const struct transformer_graph *graph)
{
    return &graph->model->ops[graph->model->op_count - 1];
}

/* Pixels times a matrix, plus a table of positions. */
static void push_patches(struct transformer_graph *graph, const struct transformer_vision *vision)
{
    struct part *part = transformer_open_part(graph, "patches");
    const uint32_t pixels = transformer_push_tensor(
        graph, "pixels", "batch vision_seq vision_inputs", TENSOR_ACTIVATION);
    uint32_t output = transformer_push_linear(graph, &(struct transformer_linear){
                                                         .name = "patch_embedding",
                                                         .from = "vision_inputs",
                                                         .to = "hidden",
                                                         .biased = vision->patch_bias,
                                                         .input = pixels,
                                                         .copies = 1,
                                                     });
    if (graph->shape->positions == POSITION_LEARNED) {
        transformer_push_map(graph, "patch_positions", "batch seq hidden", &output, TABLE_BYTES,
                             TABLE_BYTES);
        transformer_push_weight(graph, last_op(graph), "table", "positions hidden", 1);
    }
    if (graph->shape->embedding_norm) {
        output = transformer_push_norm(graph, "patch_norm", output);
    }
    transformer_close_part(graph, part, output);
}

void transformer_push_tower(struct transformer_graph *graph)
{
    const struct transformer_vision *vision = &graph->shape->vision;
    struct transformer_graph tower = *graph;
    tower.shape = vision->tower;
    tower.prefix = PREFIX;
    tower.mixer = 'a';
    push_patches(&tower, vision);
    transformer_push_run(graph->model, graph->model->part_count - 1, 1);
    struct part *part = transformer_open_part(&tower, "vision");
    part->input = transformer_push_tensor(&tower, "stream", "batch seq hidden", TENSOR_ACTIVATION);
    transformer_close_part(&tower, part, transformer_push_layer(&tower, 'd', part->input));
    transformer_push_run(graph->model, graph->model->part_count - 1, vision->tower->layers);
}

/* Neighbouring patches side by side, or their mean: one row per token. */
static uint32_t push_merge(struct transformer_graph *graph, const struct transformer_vision *vision,
                           uint32_t input)
{
    const uint32_t output =
        transformer_push_stream(graph, &(struct transformer_stream){
                                           .name = "merge_patches",
                                           .domain = "batch vision_tokens vision_merged",
                                           .output = "batch vision_tokens vision_merged",
                                           .inputs = {input},
                                           .input_count = 1,
                                           .copies = 1 + vision->taps,
                                           .forward_bytes = MOVE_BYTES,
                                           .backward_bytes = MOVE_BYTES,
                                       });
    if (vision->projector_norm) {
        transformer_push_weight(graph, last_op(graph), "gain", "vision_hidden", 1);
    }
    if (vision->projector_norm && vision->tower->norm == NORM_LAYER && !vision->pools) {
        transformer_push_weight(graph, last_op(graph), "bias", "vision_hidden", 1);
    }
    transformer_push_keep(last_op(graph), input);
    return output;
}

/* Each tap has a norm over the merged width. */
static uint32_t push_tap_norms(struct transformer_graph *graph,
                               const struct transformer_vision *vision, uint32_t input)
{
    const uint32_t before = input;
    transformer_push_map(graph, "tap_norm", "batch vision_tokens vision_merged", &input,
                         ACTIVATION_FORWARD_BYTES, ACTIVATION_BACKWARD_BYTES);
    graph->model->tensors[input].copies = 1 + vision->taps;
    transformer_push_weight(graph, last_op(graph), "gain", "vision_merged", vision->taps);
    if (vision->tower->norm == NORM_LAYER) {
        transformer_push_weight(graph, last_op(graph), "bias", "vision_merged", vision->taps);
    }
    transformer_push_keep(last_op(graph), before);
    return input;
}

static uint32_t push_matrix(struct transformer_graph *graph,
                            const struct transformer_vision *vision, const char *from,
                            const char *to, uint32_t input)
{
    return transformer_push_linear(graph, &(struct transformer_linear){
                                              .name = text_build(graph->arena, "%s_projection", to),
                                              .from = from,
                                              .to = to,
                                              .rows = "batch vision_tokens",
                                              .biased = vision->projector_bias,
                                              .input = input,
                                              .copies = 1 + vision->taps,
                                          });
}

/* A matrix to that width, if it has one, and an activation. */
static uint32_t push_width(struct transformer_graph *graph, const struct transformer_vision *vision,
                           const char **from, const char *to, uint32_t input)
{
    uint32_t wide = push_matrix(graph, vision, *from, to, input);
    const uint32_t before = wide;
    transformer_push_map(graph, text_build(graph->arena, "%s_activation", to),
                         text_build(graph->arena, "batch vision_tokens %s", to), &wide,
                         ACTIVATION_FORWARD_BYTES, ACTIVATION_BACKWARD_BYTES);
    graph->model->tensors[wide].copies = 1 + vision->taps;
    transformer_push_keep(last_op(graph), before);
    *from = to;
    return wide;
}

uint32_t transformer_push_projector(struct transformer_graph *graph, uint32_t input)
{
    const struct transformer_vision *vision = &graph->shape->vision;
    const char *from = "vision_merged";
    if (vision->final_norm) {
        struct transformer_graph tower = *graph;
        tower.shape = vision->tower;
        tower.prefix = PREFIX;
        input = transformer_push_norm(&tower, "vision_norm", input);
    }
    uint32_t rows = push_merge(graph, vision, input);
    rows = vision->taps > 0 ? push_tap_norms(graph, vision, rows) : rows;
    if (vision->projector_inner > 0) {
        rows = push_width(graph, vision, &from, "projector_inner", rows);
    }
    if (vision->projector_ffn > 0) {
        rows = push_width(graph, vision, &from, "projector", rows);
    }
    return push_matrix(graph, vision, from, "hidden", rows);
}
