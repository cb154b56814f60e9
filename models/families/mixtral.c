/* Mixtral: experts of the stated width in every layer. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_mixtral;

const struct hf_family hf_family_mixtral = {
    .types = {"mixtral"},
    .architectures = {"MixtralForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .kv_heads = 8},
    .rules = {hf_rule_window, hf_rule_experts},
};
