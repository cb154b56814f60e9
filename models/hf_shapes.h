/* What families of the Hugging Face library that descend from one another have in common: members
 * of their shapes, which each goes on with its own. */
#ifndef SHARDPLAN_MODELS_HF_SHAPES_H
#define SHARDPLAN_MODELS_HF_SHAPES_H

#include "models/hf_family.h"

/* An encoder with norms behind the sums and a head for masked tokens. */
#define BERT_SHAPE \
    .activation = "gelu", .norm = NORM_LAYER, .positions = POSITION_LEARNED, .max_positions = 512, \
    .tied_embeddings = true, .form = LAYER_POST_NORM, .head = HEAD_MASKED, .bidirectional = true, \
    .embedding_norm = true, .head_bias = true, .qkv_bias = true, .attention_output_bias = true, \
    .mlp_bias = true, .dropout_frac = 0.1, .layers = 12, .hidden = 768, .heads = 12, .ffn = 3072

/* A decoder with learned positions, biases and dropout everywhere. */
#define GPT2_SHAPE \
    .activation = "gelu", .norm = NORM_LAYER, .positions = POSITION_LEARNED, \
    .max_positions = 1024, .tied_embeddings = true, .qkv_bias = true, \
    .attention_output_bias = true, .mlp_bias = true, .dropout_frac = 0.1

#define GLM_SHAPE \
    .gated = true, .activation = "silu", .layers = 40, .hidden = 4096, .heads = 32, \
    .kv_heads = 2, .head_dim = 128, .ffn = 13696, .vocab = 151552

/* Norms on both sides of each half; windows of 4096 tokens, where the family says. */
#define GEMMA2_SHAPE \
    .gated = true, .activation = "gelu", .tied_embeddings = true, .layers = 26, .hidden = 2304, \
    .heads = 8, .kv_heads = 4, .head_dim = 256, .ffn = 9216, .form = LAYER_SANDWICH, .window = 4096

/* A tower of plain encoder layers over patches (ViT, CLIP, SigLIP). */
#define VIT_SHAPE \
    .activation = "gelu", .norm = NORM_LAYER, .positions = POSITION_LEARNED, .qkv_bias = true, \
    .attention_output_bias = true, .mlp_bias = true

#endif
