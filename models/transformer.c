/* A transformer as parts of ops: embedding, layers of each kind, head. */
#include "models/transformer.h"

#include <string.h>

#include "base/text.h"
#include "models/model_inside.h"
#include "models/transformer_graph.h"

/* --- parts ------------------------------------------------------------------------------------ */

/* Opens a part; the ops pushed until transformer_close_part belong to it. */
struct part *transformer_open_part(struct transformer_graph *graph, const char *name)
{
    struct model *model = graph->model;
    if (model->part_count == GRAPH_PART_MAX) {
        BUG("more than %d parts", GRAPH_PART_MAX);
    }
    struct part *part = &model->parts[model->part_count++];
    *part = (struct part){
        .name = name, .first_op = model->op_count, .input = NO_INDEX, .carried = NO_INDEX};
    return part;
}

void transformer_close_part(const struct transformer_graph *graph, struct part *part,
                            uint32_t output)
{
    part->op_count = graph->model->op_count - part->first_op;
    part->output = output;
}

void transformer_push_run(struct model *model, uint32_t part, uint32_t count)
{
    if (model->run_count > 0 && model->chain[model->run_count - 1].part == part) {
        model->chain[model->run_count - 1].count += count;
        return;
    }
    model->chain[model->run_count++] = (struct part_run){.part = part, .count = count};
}

/* "decoder", "moe", "window_moe", "scan", ...: a mixer is named where layers differ in theirs. */
static const char *name_of(const struct transformer_graph *graph, char mlp)
{
    const struct transformer *shape = graph->shape;
    const char *mixer = graph->mixer == 'w'   ? "window"
                        : graph->mixer == 'c' ? "block"
                        : graph->mixer == 's' ? "scan"
                                              : "";
    if (shape->mixers == NULL || graph->encodes) {
        mixer = "";
    }
    const bool encodes = graph->encodes || shape->bidirectional;
    const char *base = mlp == 'e' ? "moe" : encodes ? "encoder" : "decoder";
    if (mlp == 'n') {
        return graph->mixer == 'a' ? "attention" : mixer;
    }
    if (graph->mixer == 'n') {
        return mlp == 'e' ? "experts" : "mlp";
    }
    return mixer[0] == '\0' ? base : text_build(graph->arena, "%s_%s", mixer, base);
}

static void push_layer(struct transformer_graph *graph, char mlp)
{
    struct part *part = transformer_open_part(graph, name_of(graph, mlp));
    part->input = transformer_push_tensor(graph, "stream", "batch seq hidden", TENSOR_ACTIVATION);
    if (graph->memory != NO_INDEX) {
        graph->memory =
            transformer_push_tensor(graph, "memory", "batch seq hidden", TENSOR_ACTIVATION);
        part->carried = graph->memory;
    }
    transformer_close_part(graph, part, transformer_push_layer(graph, mlp, part->input));
}

/* --- the chain -------------------------------------------------------------------------------- */

/* Equal layers are one part, dense ones first, in the order in which kinds appear. */
struct layer_kinds {
    char mixer[GRAPH_PART_MAX], mlp[GRAPH_PART_MAX];
    uint32_t part[GRAPH_PART_MAX];
    uint32_t count;
};

static uint32_t find_kind(const struct layer_kinds *kinds, char mixer, char mlp)
{
    uint32_t i = 0;
    while (i < kinds->count && (kinds->mixer[i] != mixer || kinds->mlp[i] != mlp)) {
        i++;
    }
    return i;
}

static void find_kinds(const struct transformer *shape, bool with_experts,
                       struct layer_kinds *kinds)
{
    for (uint32_t layer = 0; layer < shape->layers; layer++) {
        const char mixer = transformer_mixer(shape, layer), mlp = transformer_mlp(shape, layer);
        const uint32_t kind = find_kind(kinds, mixer, mlp);
        if ((mlp == 'e') == with_experts && kind == kinds->count) {
            kinds->mixer[kind] = mixer;
            kinds->mlp[kind] = mlp;
            kinds->count++;
        }
    }
}

static void push_layers(struct transformer_graph *graph)
{
    const struct transformer *shape = graph->shape;
    struct layer_kinds kinds = {.count = 0};
    find_kinds(shape, false, &kinds);
    find_kinds(shape, true, &kinds);
    for (uint32_t i = 0; i < kinds.count; i++) {
        kinds.part[i] = graph->model->part_count;
        graph->mixer = kinds.mixer[i];
        push_layer(graph, kinds.mlp[i]);
    }
    for (uint32_t layer = 0; layer < shape->layers; layer++) {
        const uint32_t kind =
            find_kind(&kinds, transformer_mixer(shape, layer), transformer_mlp(shape, layer));
        transformer_push_run(graph->model, kinds.part[kind], 1);
    }
}

/* Where the encoder ends and the decoder begins: what is remembered is normed, and the decoder's
 * own tokens become a stream, from the same table. */
static void push_bridge(struct transformer_graph *graph)
{
    struct model *model = graph->model;
    struct part *part = transformer_open_part(graph, "bridge");
    part->input = transformer_push_tensor(graph, "stream", "batch seq hidden", TENSOR_ACTIVATION);
    const uint32_t tokens =
        transformer_push_tensor(graph, "decoder_tokens", "batch seq", TENSOR_INDEX);
    graph->memory = transformer_push_norm(graph, "encoder_norm", part->input);
    transformer_push_keep(&model->ops[model->op_count - 1], graph->memory);
    struct op *op = transformer_push_lookup(graph, "decoder_embedding", "vocab", tokens);
    transformer_push_keep(op, tokens);
    model->tensors[op->weights[0]].tied_to = model->ops[0].weights[0];
    transformer_close_part(graph, part, op->output);
    transformer_push_run(model, model->part_count - 1, 1);
}

static void push_encoder(struct transformer_graph *graph)
{
    if (graph->shape->encoder_layers == 0) {
        return;
    }
    graph->encodes = true;
    graph->mixer = 'a';
    push_layer(graph, 'd');
    transformer_push_run(graph->model, graph->model->part_count - 1, graph->shape->encoder_layers);
    graph->encodes = false;
    push_bridge(graph);
}

/* Layer by layer; equal neighbours fold into one run. */
static void push_chain(struct transformer_graph *graph)
{
    struct model *model = graph->model;
    model->chain =
        ARENA_PUSH(graph->arena, struct part_run, (size_t)graph->shape->layers + GRAPH_PART_MAX);
    if (graph->shape->vision.tower != NULL) {
        transformer_push_tower(graph);
    }
    transformer_push_embedding(graph);
    transformer_push_run(model, model->part_count - 1, 1);
    push_encoder(graph);
    push_layers(graph);
    graph->memory = NO_INDEX;
    transformer_push_head(graph);
    transformer_push_run(model, model->part_count - 1, 1);
}

/* --- the model -------------------------------------------------------------------------------- */

static const char *copy_text(const char *text, struct arena *arena)
{
    return text == NULL ? NULL : text_build(arena, "%s", text);
}

/* The model outlives what the description was read from. */
static const struct transformer *copy(const struct transformer *transformer, struct arena *arena)
{
    struct transformer *own = ARENA_PUSH(arena, struct transformer, 1);
    *own = *transformer;
    own->architecture = copy_text(transformer->architecture, arena);
    own->activation = copy_text(transformer->activation, arena);
    own->mixers = copy_text(transformer->mixers, arena);
    own->mlps = copy_text(transformer->mlps, arena);
    if (transformer->vision.tower != NULL) {
        own->vision.tower = copy(transformer->vision.tower, arena); /* a tower has none itself */
    }
    return own;
}

static bool refuse_size(const struct transformer *transformer, const char *name, struct diag *diag)
{
    return diag_push(diag, DIAG_M204, (struct diag_place){0}, NULL,
                     "model '%s' has %u layers of width %u and a vocabulary of %u: more than 2^64 "
                     "parameters, which nothing could hold",
                     name, transformer->layers, transformer->hidden, transformer->vocab);
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
    struct transformer_graph graph = {
        .shape = model.transformer, .arena = arena, .model = &model, .memory = NO_INDEX};
    transformer_push_axes(&model, model.transformer);
    push_chain(&graph);
    if (model_count_parameters(&model) == UINT64_MAX) {
        return refuse_size(transformer, name, diag);
    }
    model.digest = model_build_digest(&model, arena);
    *out = model;
    return true;
}
