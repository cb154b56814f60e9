/* Qwen 2 and 2.5: biases on Q, K and V that the file does not mention. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen2;

const struct hf_family hf_family_qwen2 = {
    .types = {"qwen2"},
    .architectures = {"Qwen2ForCausalLM"},
    .shape =
        {.gated = true, .activation = "silu", .qkv_bias = true, .kv_heads = 32, .window = 4096},
    .full_layers = 28,
    .rules = {hf_rule_switched_window, hf_rule_no_experts},
};
