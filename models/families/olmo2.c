/* OLMo 2: norms on the branches, on all heads of Q and K together. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_olmo2;

const struct hf_family hf_family_olmo2 = {
    .types = {"olmo2"},
    .architectures = {"Olmo2ForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .qk_norm_wide = true, .form = LAYER_BRANCH_NORM},
    .rules = {hf_rule_bias},
};
