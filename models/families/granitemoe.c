/* Granite with experts, with a shared one or without. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_granitemoe;

static bool read_shared(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"shared_intermediate_size", NULL};
    return hf_key_read_count_or(config, keys, 0, &out->moe.shared_ffn);
}

const struct hf_family hf_family_granitemoe = {
    .types = {"granitemoe", "granitemoeshared"},
    .architectures = {"GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM"},
    .shape = {.gated = true, .activation = "silu"},
    .rules = {hf_rule_bias, hf_rule_experts, read_shared},
};
