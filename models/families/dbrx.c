/* DBRX: experts and attention in objects of their own. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_dbrx;

static bool read_parts(const struct hf_config *config, struct transformer *out)
{
    const struct json_value attention = json_find(config->object, "attn_config");
    const struct json_value ffn = json_find(config->object, "ffn_config");
    bool good =
        json_read_u32_or(attention, "kv_n_heads", 1, UINT32_MAX, 1, &out->kv_heads, config->diag);
    good &=
        json_read_u32_or(ffn, "moe_num_experts", 1, UINT32_MAX, 4, &out->moe.experts, config->diag);
    good &= json_read_u32_or(ffn, "moe_top_k", 1, UINT32_MAX, 1, &out->moe.top_k, config->diag);
    good &=
        json_read_u32_or(ffn, "ffn_hidden_size", 1, UINT32_MAX, 3584, &out->moe.ffn, config->diag);
    out->ffn = out->moe.ffn;
    return good;
}

const struct hf_family hf_family_dbrx = {
    .types = {"dbrx"},
    .architectures = {"DbrxForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .layers = 24,
              .hidden = 2048,
              .heads = 16,
              .ffn = 3584,
              .vocab = 32000,
              .norm = NORM_LAYER_PLAIN},
    .rules = {read_parts},
};
