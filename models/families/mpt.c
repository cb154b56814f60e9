/* MPT: ALiBi, layer norms without bias, tied embeddings. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_mpt;

static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const ratio_keys[] = {"expansion_ratio", NULL};
    const struct json_value attention = json_find(config->object, "attn_config");
    bool plain = true, alibi = true;
    uint32_t ratio = 4;
    bool good = hf_key_read_flag(config, "no_bias", &plain);
    good &= !hf_key_is_set(config->object, ratio_keys[0]) ||
            hf_key_read_count(config, ratio_keys, 1024, &ratio);
    good &= !json_is_object(attention) ||
            json_read_bool_or(attention, "alibi", alibi, &alibi, config->diag);
    if (good && (!plain || !alibi || hf_key_is_set(attention, "qk_ln"))) {
        return hf_key_refuse(config, plain ? "attn_config" : "no_bias",
                             "only ALiBi without biases and without norms on Q and K is modelled");
    }
    out->ffn = out->hidden > UINT32_MAX / ratio ? UINT32_MAX : out->hidden * ratio;
    return good;
}

const struct hf_family hf_family_mpt = {
    .types = {"mpt"},
    .architectures = {"MPTForCausalLM", "MptForCausalLM"},
    .shape = {.activation = "gelu",
              .norm = NORM_LAYER_PLAIN,
              .positions = POSITION_ALIBI,
              .tied_embeddings = true,
              .layers = 24,
              .hidden = 2048,
              .heads = 16,
              .vocab = 50368},
    .wide_ffn = true,
    .rules = {read_rest},
};
