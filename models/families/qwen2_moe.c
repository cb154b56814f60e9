/* Qwen1.5-MoE and Qwen2-MoE: a gated shared expert beside the others. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen2_moe;

const struct hf_family hf_family_qwen2_moe = {
    .types = {"qwen2_moe"},
    .architectures = {"Qwen2MoeForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qkv_bias = true,
              .kv_heads = 16,
              .window = 4096,
              .moe = {.shared_gate = true}},
    .full_layers = 28,
    .rules = {hf_rule_switched_window, hf_rule_stepped_experts},
};
