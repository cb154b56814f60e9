/* DeepSeek-V2: latent attention, shared experts, dense first layers. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_deepseek_v2;

const struct hf_family hf_family_deepseek_v2 = {
    .types = {"deepseek_v2"},
    .architectures = {"DeepseekV2ForCausalLM"},
    .shape = {.gated = true, .activation = "silu"},
    .rules = {hf_rule_bias, hf_rule_latents, hf_rule_deepseek_experts},
};
