/* Qwen 3.5 with experts. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_5_moe;

const struct hf_family hf_family_qwen3_5_moe = {
    .types = {"qwen3_5_moe", "qwen3_5_moe_text"},
    .architectures = {"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qk_norm = true,
              .attention_gate = true,
              .kv_heads = 2,
              .head_dim = 256,
              .moe = {.shared_gate = true}},
    .sees = hf_vision_see_qwen3,
    .rules = {hf_rule_bias, hf_rule_gate, hf_rule_linear_attention, hf_rule_stepped_experts},
};
