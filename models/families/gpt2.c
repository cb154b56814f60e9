/* GPT-2: two matrices, layer norms, learned positions, dropout, tied embeddings. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_gpt2;

const struct hf_family hf_family_gpt2 = {
    .types = {"gpt2"},
    .architectures = {"GPT2LMHeadModel", "GPT2Model"},
    .shape = {GPT2_SHAPE},
    .wide_ffn = true,
    .rules = {hf_rule_dropout, hf_rule_no_experts},
};
