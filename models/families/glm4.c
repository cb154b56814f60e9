/* GLM-4 0414: norms before and behind each half. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_glm4;

const struct hf_family hf_family_glm4 = {
    .types = {"glm4"},
    .architectures = {"Glm4ForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 40,
              .hidden = 4096,
              .heads = 32,
              .kv_heads = 2,
              .head_dim = 128,
              .ffn = 13696,
              .vocab = 151552,
              .form = LAYER_SANDWICH},
    .rules = {hf_rule_qkv_bias},
};
