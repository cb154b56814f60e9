/* DeepSeek-V3 and those built like it: a correction per expert in the router. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_deepseek_v3;

const struct hf_family hf_family_deepseek_v3 = {
    .types = {"deepseek_v3", "kimi_k2"},
    .architectures = {"DeepseekV3ForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .moe = {.router_bias = true}},
    .rules = {hf_rule_bias, hf_rule_latents, hf_rule_deepseek_experts, hf_rule_further_tokens},
};
