/* Mistral: a window in every layer where the file states one. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_mistral;

const struct hf_family hf_family_mistral = {
    .types = {"mistral", "ministral"},
    .architectures = {"MistralForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .kv_heads = 8, .window = 4096},
    .rules = {hf_rule_window, hf_rule_no_experts},
};
