/* Gemma: heads wider than the model divided by their number, tied embeddings. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_gemma;

const struct hf_family hf_family_gemma = {
    .types = {"gemma"},
    .architectures = {"GemmaForCausalLM"},
    .shape = {.gated = true,
              .activation = "gelu",
              .tied_embeddings = true,
              .layers = 28,
              .hidden = 3072,
              .heads = 16,
              .kv_heads = 16,
              .head_dim = 256,
              .ffn = 24576,
              .vocab = 256000},
    .rules = {hf_rule_bias, hf_rule_no_experts},
};
