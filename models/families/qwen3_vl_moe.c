/* Qwen3-VL with experts. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_vl_moe;

const struct hf_family hf_family_qwen3_vl_moe = {
    .types = {"qwen3_vl_moe", "qwen3_vl_moe_text"},
    .architectures = {"Qwen3VLMoeForConditionalGeneration"},
    .shape =
        {.gated = true, .activation = "silu", .qk_norm = true, .kv_heads = 16, .head_dim = 128},
    .sees = hf_vision_see_qwen3,
    .rules = {hf_rule_bias, hf_rule_stepped_experts},
};
