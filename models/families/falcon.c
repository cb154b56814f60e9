/* Falcon, under its three names: multi-query attention beside the MLP. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_falcon;

/* The newer decoder has groups of heads and a norm for each half; the older one key head or as many
 * as heads, and one norm where the halves are side by side. "RefinedWeb" (40B) is the newer one. */
static bool read_form(const struct hf_config *config, struct transformer *out)
{
    static const char *const kv_keys[] = {"num_kv_heads", "n_head_kv", NULL};
    bool newer = hf_key_equals(config->object, "model_type", "RefinedWeb"), shared = true;
    bool parallel = true, bias = false, alibi = false;
    bool good = hf_key_read_flag(config, "new_decoder_architecture", &newer);
    good &= hf_key_read_flag(config, "multi_query", &shared);
    good &= hf_key_read_flag(config, "parallel_attn", &parallel);
    good &= hf_key_read_flag(config, "bias", &bias);
    good &= hf_key_read_flag(config, "alibi", &alibi);
    uint32_t groups = out->heads;
    good &= hf_key_read_count_or(config, kv_keys, 0, &groups);
    out->kv_heads = newer ? (groups > 0 ? groups : out->heads) : shared ? 1 : out->heads;
    out->form = newer ? LAYER_PARALLEL_TWO : parallel ? LAYER_PARALLEL : LAYER_PRE_NORM;
    out->positions = alibi ? POSITION_ALIBI : POSITION_ROPE;
    out->qkv_bias = out->attention_output_bias = out->mlp_bias = bias;
    return good;
}

const struct hf_family hf_family_falcon = {
    .types = {"falcon", "RefinedWebModel", "RefinedWeb"},
    .architectures = {"FalconForCausalLM", "RWForCausalLM"},
    .shape = {.layers = 32,
              .hidden = 4544,
              .heads = 71,
              .vocab = 65024,
              .activation = "gelu",
              .norm = NORM_LAYER,
              .tied_embeddings = true},
    .wide_ffn = true,
    .rules = {read_form},
};
