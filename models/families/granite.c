/* Granite: LLaMA with scaled embeddings and residuals. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_granite;

const struct hf_family hf_family_granite = {
    .types = {"granite"},
    .architectures = {"GraniteForCausalLM"},
    .shape = {.gated = true, .activation = "silu"},
    .rules = {hf_rule_bias, hf_rule_no_experts},
};
