/* Qwen2-VL: Qwen 2 behind a tower with positions by rotation. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen2_vl;

static bool see(const struct hf_config *config, struct json_value vision, struct transformer *out)
{
    struct transformer tower = {.layers = 32,
                                .hidden = 1280,
                                .heads = 16,
                                .ffn = 5120,
                                .activation = "gelu",
                                .norm = NORM_LAYER,
                                .qkv_bias = true,
                                .attention_output_bias = true,
                                .mlp_bias = true};
    return hf_vision_see_qwen(config, vision, &tower, out);
}

const struct hf_family hf_family_qwen2_vl = {
    .types = {"qwen2_vl", "qwen2_vl_text"},
    .architectures = {"Qwen2VLForConditionalGeneration"},
    .shape =
        {.gated = true, .activation = "silu", .qkv_bias = true, .kv_heads = 32, .window = 32768},
    .full_layers = 80,
    .sees = see,
    .rules = {hf_rule_switched_window, hf_rule_no_experts},
};
