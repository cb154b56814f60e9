/* GPT-BigCode (StarCoder): GPT-2 with one key and value head. */
#include "models/hf_shapes.h"

extern const struct hf_family hf_family_gpt_bigcode;

/* "multi_query" is true unless said otherwise. */
static bool share_keys(const struct hf_config *config, struct transformer *out)
{
    bool shared = true;
    const bool good = hf_key_read_flag(config, "multi_query", &shared);
    out->kv_heads = shared ? 1 : out->heads;
    return good;
}

const struct hf_family hf_family_gpt_bigcode = {
    .types = {"gpt_bigcode"},
    .architectures = {"GPTBigCodeForCausalLM", "GPTBigCodeModel"},
    .shape = {GPT2_SHAPE},
    .wide_ffn = true,
    .rules = {share_keys, hf_rule_dropout},
};
