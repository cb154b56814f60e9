/* Phi-3.5-MoE: experts, layer norms and biases, one on the logits too. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_phimoe;

static bool read_head(const struct hf_config *config, struct transformer *out)
{
    return hf_key_read_flag(config, "lm_head_bias", &out->head_bias);
}

const struct hf_family hf_family_phimoe = {
    .types = {"phimoe"},
    .architectures = {"PhiMoEForCausalLM", "PhimoeForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .norm = NORM_LAYER,
              .kv_heads = 8,
              .moe = {.experts = 16, .top_k = 2}},
    .rules = {hf_rule_bias, read_head, hf_rule_window, hf_rule_experts},
};
