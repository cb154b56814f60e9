/* GPT-NeoX and Pythia: attention and MLP side by side, a norm each. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_gpt_neox;

static bool read_form(const struct hf_config *config, struct transformer *out)
{
    bool parallel = true, bias = true;
    const bool read = hf_key_read_flag(config, "use_parallel_residual", &parallel);
    const bool good = hf_key_read_flag(config, "attention_bias", &bias) && read;
    out->form = parallel ? LAYER_PARALLEL_TWO : LAYER_PRE_NORM;
    out->qkv_bias = bias;
    out->attention_output_bias = bias;
    return good;
}

const struct hf_family hf_family_gpt_neox = {
    .types = {"gpt_neox"},
    .architectures = {"GPTNeoXForCausalLM"},
    .shape = {.layers = 44,
              .hidden = 6144,
              .heads = 64,
              .ffn = 24576,
              .vocab = 50432,
              .activation = "gelu",
              .norm = NORM_LAYER,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true,
              .form = LAYER_PARALLEL_TWO},
    .rules = {read_form},
};
