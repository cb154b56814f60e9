/* ChatGLM 2, 3 and GLM-4 9B: groups of heads under names of their own. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_chatglm;

/* The first ChatGLM has none of these keys, and other layers. */
static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const groups_keys[] = {"multi_query_group_num", NULL};
    bool rms = true, post = true, shared = false, bias = false;
    if (json_is_null(json_find(config->object, "multi_query_attention"))) {
        return hf_key_refuse(config, "multi_query_attention",
                             "absent: the layers of the first ChatGLM are not modelled");
    }
    bool good = hf_key_read_flag(config, "multi_query_attention", &shared);
    good &= hf_key_read_flag(config, "add_qkv_bias", &out->qkv_bias);
    good &= hf_key_read_flag(config, "add_bias_linear", &bias);
    good &= hf_key_read_flag(config, "rmsnorm", &rms);
    good &= hf_key_read_flag(config, "post_layer_norm", &post);
    out->mlp_bias = out->attention_output_bias = bias;
    out->norm = rms ? NORM_RMS : NORM_LAYER;
    if (good && !post) {
        return hf_key_refuse(config, "post_layer_norm", "only true is modelled");
    }
    return good && (!shared || hf_key_read_count(config, groups_keys, UINT32_MAX, &out->kv_heads));
}

const struct hf_family hf_family_chatglm = {
    .types = {"chatglm"},
    .architectures = {"ChatGLMModel", "ChatGLMForConditionalGeneration"},
    .shape = {.gated = true, .activation = "silu", .qkv_bias = true},
    .rules = {read_rest},
};
