/* Qwen 3 with experts. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_moe;

const struct hf_family hf_family_qwen3_moe = {
    .types = {"qwen3_moe"},
    .architectures = {"Qwen3MoeForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .qk_norm = true, .kv_heads = 4, .window = 4096},
    .rules = {hf_rule_bias, hf_rule_switched_window, hf_rule_stepped_experts},
};
