/* The axes of a transformer: only those that it has, so nothing can cut the experts of a dense
 * one. */
#include "models/transformer_graph.h"

static void push_axis(struct model *model, const char *name, uint64_t size)
{
    if (model->axis_count == AXIS_MAX) {
        BUG("more than %d axes", AXIS_MAX);
    }
    model->axes[model->axis_count++] =
        (struct axis){.name = name, .size = size, .image_of = NO_INDEX};
}

/* Of the axis before. */
static void push_image(struct model *model, const char *name, uint64_t size)
{
    push_axis(model, name, size);
    model->axes[model->axis_count - 1].image_of = model->axis_count - 2;
}

static void push_present(struct model *model, const char *name, uint64_t size)
{
    if (size > 0) {
        push_axis(model, name, size);
    }
}

static void push_attention(struct model *model, const struct transformer *shape)
{
    const struct transformer_mla *mla = &shape->mla;
    if (shape->heads == 0) {
        return;
    }
    push_axis(model, "heads", shape->heads);
    if (mla->kv_rank == 0) {
        push_image(model, "kv_heads", shape->kv_heads);
        push_axis(model, "head_dim", shape->head_dim);
        return;
    }
    push_present(model, "q_rank", mla->q_rank);
    push_axis(model, "kv_rank", mla->kv_rank);
    push_axis(model, "nope_dim", mla->nope_dim);
    push_axis(model, "rope_dim", mla->rope_dim);
    push_axis(model, "qk_dim", (uint64_t)mla->nope_dim + mla->rope_dim);
    push_axis(model, "value_dim", mla->value_dim);
    if (shape->decodes) {
        push_axis(model, "latent_dim", (uint64_t)mla->kv_rank + mla->rope_dim);
    }
}

static void push_experts(struct model *model, const struct transformer_moe *moe)
{
    if (moe->experts == 0) {
        return;
    }
    push_axis(model, "routes", moe->experts);
    push_axis(model, "experts", moe->experts);
    push_axis(model, "expert_ffn", moe->ffn);
    push_present(model, "shared_ffn", moe->shared_ffn);
}

static void push_scan(struct model *model, const struct transformer_scan *scan)
{
    if (scan->heads == 0) {
        return;
    }
    push_axis(model, "scan_heads", scan->heads);
    if (scan->kind != SCAN_MAMBA1) {
        push_image(model, "scan_groups", scan->groups);
    }
    push_axis(model, "scan_dim", scan->head_dim);
    push_axis(model, "scan_state", scan->state);
    push_present(model, "scan_rank", scan->rank);
}

static void push_vision(struct model *model, const struct transformer_vision *vision)
{
    const struct transformer *tower = vision->tower;
    if (tower == NULL) {
        return;
    }
    push_axis(model, "vision_seq", vision->patches);
    push_image(model, "vision_keys", 0);
    push_axis(model, "vision_inputs", vision->patch_inputs);
    push_axis(model, "vision_hidden", tower->hidden);
    push_axis(model, "vision_heads", tower->heads);
    push_image(model, "vision_kv_heads", tower->kv_heads);
    push_axis(model, "vision_head_dim", tower->head_dim);
    push_axis(model, "vision_ffn", tower->ffn);
    if (tower->positions == POSITION_LEARNED) {
        push_axis(model, "vision_positions", tower->max_positions);
    }
    push_axis(model, "vision_tokens", vision->patches / vision->merge);
    push_axis(model, "vision_merged",
              (uint64_t)tower->hidden * (vision->pools ? 1 : vision->merge));
    push_present(model, "projector_inner", vision->projector_inner);
    push_present(model, "projector", vision->projector_ffn);
}

void transformer_push_axes(struct model *model, const struct transformer *shape)
{
    push_axis(model, "batch", 0);
    push_axis(model, "seq", 0);
    push_image(model, "keys", 0);
    push_axis(model, "hidden", shape->hidden);
    push_attention(model, shape);
    push_present(model, "ffn", shape->ffn);
    push_axis(model, "vocab", shape->vocab);
    model->axes[model->axis_count - 1].padded = true;
    if (shape->positions == POSITION_LEARNED) {
        push_axis(model, "positions", shape->max_positions);
    }
    push_experts(model, &shape->moe);
    push_scan(model, &shape->scan);
    push_present(model, "token_types", shape->token_types);
    if (shape->pooler || shape->head == HEAD_MASKED) {
        push_axis(model, "transform", shape->hidden);
    }
    if (shape->mtp_layers > 0) {
        push_axis(model, "mtp_pair", 2 * (uint64_t)shape->hidden);
    }
    push_vision(model, &shape->vision);
}
