/* LLaMA, and models that use its classes. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_llama;

const struct hf_family hf_family_llama = {
    .types = {"llama", "smollm3"},
    .architectures = {"LlamaForCausalLM", "LLaMAForCausalLM", "SmolLM3ForCausalLM"},
    .shape = {.gated = true, .activation = "silu"},
    .rules = {hf_rule_bias, hf_rule_no_window, hf_rule_no_experts},
};
