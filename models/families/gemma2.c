/* Gemma 2: four norms per layer, a window in every second one. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_gemma2;

const struct hf_family hf_family_gemma2 = {
    .types = {"gemma2"},
    .architectures = {"Gemma2ForCausalLM"},
    .shape = {.gated = true,
              .activation = "gelu",
              .tied_embeddings = true,
              .layers = 26,
              .hidden = 2304,
              .heads = 8,
              .kv_heads = 4,
              .head_dim = 256,
              .ffn = 9216,
              .vocab = 256000,
              .form = LAYER_SANDWICH,
              .window = 4096},
    .full_layers = 2,
    .rules = {hf_rule_bias, hf_rule_window_pattern},
};
