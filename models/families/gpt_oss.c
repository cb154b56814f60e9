/* gpt-oss: a window in every second layer, sinks, biases in experts and router. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_gpt_oss;

const struct hf_family hf_family_gpt_oss = {
    .types = {"gpt_oss"},
    .architectures = {"GptOssForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .kv_heads = 8,
              .head_dim = 64,
              .window = 128,
              .sinks = true,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true,
              .moe = {.experts = 128, .top_k = 4, .router_bias = true}},
    .full_layers = 2,
    .rules = {hf_rule_window_pattern, hf_rule_experts},
};
