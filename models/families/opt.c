/* OPT: GPT-like with ReLU and a position table of two more rows than positions. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_opt;

#define POSITION_OFFSET 2

static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const width_keys[] = {"word_embed_proj_dim", NULL};
    uint32_t width = out->hidden;
    bool before = true, bias = true;
    bool good = hf_key_read_count_or(config, width_keys, 0, &width);
    good &= hf_key_read_flag(config, "do_layer_norm_before", &before);
    good &= hf_key_read_flag(config, "enable_bias", &bias);
    good &= json_read_double_or(config->object, "dropout", 0.0, 1.0, out->dropout_frac,
                                &out->dropout_frac, config->diag);
    if (good && width != 0 && width != out->hidden) {
        good = hf_key_refuse(config, width_keys[0],
                             "an embedding of another width than the layers is not modelled");
    }
    if (good && !(before && bias)) {
        good = hf_key_refuse(config, before ? "enable_bias" : "do_layer_norm_before",
                             "only true is modelled");
    }
    out->max_positions += POSITION_OFFSET;
    return good;
}

const struct hf_family hf_family_opt = {
    .types = {"opt"},
    .architectures = {"OPTForCausalLM"},
    .shape = {.layers = 12,
              .hidden = 768,
              .heads = 12,
              .ffn = 3072,
              .vocab = 50272,
              .activation = "relu",
              .norm = NORM_LAYER,
              .positions = POSITION_LEARNED,
              .max_positions = 2048,
              .tied_embeddings = true,
              .qkv_bias = true,
              .attention_output_bias = true,
              .mlp_bias = true,
              .dropout_frac = 0.1},
    .rules = {read_rest},
};
