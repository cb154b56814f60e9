/* StarCoder 2: biases, layer norms, two matrices, a window. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_starcoder2;

static bool read_bias(const struct hf_config *config, struct transformer *out)
{
    bool bias = true;
    const bool good = hf_key_read_flag(config, "use_bias", &bias);
    out->qkv_bias = out->attention_output_bias = out->mlp_bias = bias;
    return good;
}

const struct hf_family hf_family_starcoder2 = {
    .types = {"starcoder2"},
    .architectures = {"Starcoder2ForCausalLM"},
    .shape = {.activation = "gelu", .norm = NORM_LAYER, .tied_embeddings = true, .kv_heads = 2},
    .rules = {read_bias, hf_rule_window},
};
