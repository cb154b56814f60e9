/* Phi-1 and Phi-2: attention and MLP side by side on one norm, biases everywhere. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_phi;

static bool read_norms(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"qk_layernorm", NULL};
    (void)out;
    return hf_key_refuse_set(config, keys, "layer norms on Q and K are not modelled");
}

const struct hf_family hf_family_phi = {
    .types = {"phi", "phi-msft"},
    .architectures = {"PhiForCausalLM", "MixFormerSequentialForCausalLM"},
    .shape = {.layers = 24,
              .hidden = 2048,
              .heads = 32,
              .ffn = 8192,
              .vocab = 51200,
              .activation = "gelu",
              .form = LAYER_PARALLEL,
              .head_bias = true,
              .norm = NORM_LAYER,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true},
    .wide_ffn = true,
    .rules = {read_norms},
};
