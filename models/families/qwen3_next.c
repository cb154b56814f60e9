/* Qwen3-Next: three layers of the gated delta rule to one of gated attention, experts in all. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_next;

const struct hf_family hf_family_qwen3_next = {
    .types = {"qwen3_next"},
    .architectures = {"Qwen3NextForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qk_norm = true,
              .attention_gate = true,
              .kv_heads = 2,
              .head_dim = 256,
              .moe = {.shared_gate = true}},
    .rules = {hf_rule_bias, hf_rule_linear_attention, hf_rule_stepped_experts},
};
