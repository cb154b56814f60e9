/* Phi-3 and Phi-4: LLaMA with joined matrices. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_phi3;

const struct hf_family hf_family_phi3 = {
    .types = {"phi3", "phi4"},
    .architectures = {"Phi3ForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 32,
              .hidden = 3072,
              .heads = 32,
              .ffn = 8192,
              .vocab = 32064},
    .rules = {hf_rule_window},
};
