/* Qwen 3.5: the layers of Qwen3-Next, dense or with experts, behind a vision tower. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen3_5;

const struct hf_family hf_family_qwen3_5 = {
    .types = {"qwen3_5", "qwen3_5_text"},
    .architectures = {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qk_norm = true,
              .attention_gate = true,
              .kv_heads = 2,
              .head_dim = 256},
    .sees = hf_vision_see_qwen3,
    .rules = {hf_rule_bias, hf_rule_gate, hf_rule_linear_attention},
};
