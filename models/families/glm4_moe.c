/* GLM-4.5: experts beside a shared one behind dense first layers. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_glm4_moe;

static bool read_norms(const struct hf_config *config, struct transformer *out)
{
    return hf_key_read_flag(config, "use_qk_norm", &out->qk_norm);
}

const struct hf_family hf_family_glm4_moe = {
    .types = {"glm4_moe"},
    .architectures = {"Glm4MoeForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .kv_heads = 8, .moe = {.router_bias = true}},
    .rules = {hf_rule_qkv_bias, read_norms, hf_rule_deepseek_experts, hf_rule_further_tokens},
};
