/* Qwen 3: norms on Q and K, heads of their own width. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3;

const struct hf_family hf_family_qwen3 = {
    .types = {"qwen3"},
    .architectures = {"Qwen3ForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qk_norm = true,
              .kv_heads = 32,
              .head_dim = 128,
              .window = 4096},
    .full_layers = 28,
    .rules = {hf_rule_bias, hf_rule_switched_window, hf_rule_no_experts},
};
