/* BLOOM: ALiBi, a norm behind the embedding, biases everywhere. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_bloom;

static bool check_form(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"apply_residual_connection_post_layernorm", NULL};
    (void)out;
    return hf_key_refuse_set(config, keys, "a residual behind the norm is not modelled");
}

const struct hf_family hf_family_bloom = {
    .types = {"bloom"},
    .architectures = {"BloomForCausalLM", "BloomModel"},
    .shape = {.layers = 2,
              .hidden = 64,
              .heads = 8,
              .vocab = 250880,
              .activation = "gelu",
              .norm = NORM_LAYER,
              .positions = POSITION_ALIBI,
              .tied_embeddings = true,
              .embedding_norm = true,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true},
    .wide_ffn = true,
    .rules = {check_form},
};
