/* Qwen2.5-VL: gated layers in the tower, most with attention within windows. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen2_5_vl;

static bool see(const struct hf_config *config, struct json_value vision, struct transformer *out)
{
    struct transformer tower = {.layers = 32,
                                .hidden = 1280,
                                .heads = 16,
                                .ffn = 3420,
                                .gated = true,
                                .activation = "silu",
                                .qkv_bias = true,
                                .attention_output_bias = true,
                                .mlp_bias = true};
    hf_key_warn(config, "vision_config",
                "windows of the tower's attention are not modelled: counted over all patches");
    return hf_vision_see_qwen(config, vision, &tower, out);
}

const struct hf_family hf_family_qwen2_5_vl = {
    .types = {"qwen2_5_vl", "qwen2_5_vl_text"},
    .architectures = {"Qwen2_5_VLForConditionalGeneration"},
    .shape =
        {.gated = true, .activation = "silu", .qkv_bias = true, .kv_heads = 32, .window = 32768},
    .full_layers = 80,
    .sees = see,
    .rules = {hf_rule_switched_window, hf_rule_no_experts},
};
