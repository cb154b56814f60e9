/* GLM-4 in the library: half of each head rotated, biases on Q, K and V. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_glm;

const struct hf_family hf_family_glm = {
    .types = {"glm"},
    .architectures = {"GlmForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 40,
              .hidden = 4096,
              .heads = 32,
              .kv_heads = 2,
              .head_dim = 128,
              .ffn = 13696,
              .vocab = 151552,
              .qkv_bias = true},
    .rules = {hf_rule_qkv_bias},
};
