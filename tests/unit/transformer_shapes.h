/* Two small transformers that the tests of the op graph are about. */
#ifndef SHARDPLAN_TESTS_UNIT_TRANSFORMER_SHAPES_H
#define SHARDPLAN_TESTS_UNIT_TRANSFORMER_SHAPES_H

#include <string.h>

#include "models/model.h"
#include "models/transformer.h"
#include "tests/fresh.h"

static const struct transformer gpt = {
    .architecture = "native",
    .layers = 4,
    .hidden = 512,
    .heads = 8,
    .kv_heads = 8,
    .head_dim = 64,
    .ffn = 2048,
    .vocab = 1000,
    .activation = "gelu",
    .norm = NORM_LAYER,
    .positions = POSITION_LEARNED,
    .max_positions = 256,
    .tied_embeddings = true,
    .qkv_bias = true,
    .attention_output_bias = true,
    .mlp_bias = true,
    .dropout_frac = 0.1,
    .moe = {.every = 1},
};
/* Heads times their width is not the hidden width, and keys have fewer heads. */
static const struct transformer llama = {
    .architecture = "native",
    .layers = 6,
    .hidden = 512,
    .heads = 12,
    .kv_heads = 4,
    .head_dim = 64,
    .ffn = 1376,
    .vocab = 32000,
    .gated = true,
    .activation = "silu",
    .max_positions = 4096,
    .moe = {.every = 1},
};

static inline struct transformer with_experts(uint32_t shared_ffn, uint32_t first_dense,
                                              uint32_t every)
{
    struct transformer shape = llama;
    shape.moe = (struct transformer_moe){.experts = 8,
                                         .top_k = 2,
                                         .ffn = 704,
                                         .shared_ffn = shared_ffn,
                                         .first_dense = first_dense,
                                         .every = every};
    return shape;
}

static inline struct model build(struct transformer shape)
{
    struct model model;
    begin();
    ck_assert(transformer_check(&shape, NULL, &diag));
    ck_assert(transformer_build(&shape, "m", &arena, &model, &diag));
    ck_assert(model_check(&model, &diag));
    return model;
}

static inline const struct part *find_part(const struct model *model, const char *name)
{
    for (uint32_t i = 0; i < model->part_count; i++) {
        if (strcmp(model->parts[i].name, name) == 0) {
            return &model->parts[i];
        }
    }
    ck_abort_msg("no part '%s'", name);
}

#endif
