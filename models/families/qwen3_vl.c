/* Qwen3-VL: Qwen 3 behind a tower whose inner layers are tapped. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_vl;

const struct hf_family hf_family_qwen3_vl = {
    .types = {"qwen3_vl", "qwen3_vl_text"},
    .architectures = {"Qwen3VLForConditionalGeneration"},
    .shape =
        {.gated = true, .activation = "silu", .qk_norm = true, .kv_heads = 32, .head_dim = 128},
    .sees = hf_vision_see_qwen3,
    .rules = {hf_rule_bias, hf_rule_no_experts},
};
