/* GPT-2: two matrices, layer norms, learned positions, dropout, tied embeddings. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_gpt2;

const struct hf_family hf_family_gpt2 = {
    .types = {"gpt2"},
    .architectures = {"GPT2LMHeadModel", "GPT2Model"},
    .shape = {.activation = "gelu",
              .norm = NORM_LAYER,
              .positions = POSITION_LEARNED,
              .max_positions = 1024,
              .tied_embeddings = true,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true,
              .dropout_frac = 0.1},
    .wide_ffn = true,
    .rules = {hf_rule_dropout, hf_rule_no_experts},
};
