/* Jamba: Mamba layers with one of attention in eight, experts in every second. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_jamba;

#define WIDTH_PER_RANK 16

static bool read_scan(const struct hf_config *config, struct transformer *out)
{
    static const char *const expand_keys[] = {"mamba_expand", NULL};
    static const char *const state_keys[] = {"mamba_d_state", NULL};
    static const char *const conv_keys[] = {"mamba_d_conv", NULL};
    static const char *const rank_keys[] = {"mamba_dt_rank", NULL};
    uint32_t expand = 2;
    bool good = hf_key_read_count_or(config, expand_keys, 2, &expand);
    good &= hf_key_read_count_or(config, state_keys, 16, &out->scan.state);
    good &= hf_key_read_count_or(config, conv_keys, 4, &out->scan.conv);
    good &= hf_key_read_flag(config, "mamba_proj_bias", &out->scan.bias);
    if (good && (uint64_t)expand * out->hidden > UINT32_MAX) {
        return hf_key_refuse(config, "mamba_expand", "wider than a width can be");
    }
    out->scan.heads = expand * out->hidden;
    out->scan.rank = (out->hidden + WIDTH_PER_RANK - 1) / WIDTH_PER_RANK;
    if (json_is_number(json_find(config->object, rank_keys[0]))) {
        good &= hf_key_read_count(config, rank_keys, UINT32_MAX, &out->scan.rank);
    }
    return good;
}

static bool read_period(const struct hf_config *config, const char *period_key,
                        const char *offset_key, uint32_t out[2])
{
    const bool period = json_read_u32_or(config->object, period_key, 1, HF_LAYERS_MAX, out[0],
                                         &out[0], config->diag);
    return json_read_u32_or(config->object, offset_key, 0, HF_LAYERS_MAX, out[1], &out[1],
                            config->diag) &&
           period;
}

static bool read_order(const struct hf_config *config, struct transformer *out)
{
    uint32_t attention[2] = {8, 4}, expert[2] = {2, 1};
    if (!read_period(config, "attn_layer_period", "attn_layer_offset", attention) ||
        !read_period(config, "expert_layer_period", "expert_layer_offset", expert)) {
        return false;
    }
    for (uint32_t i = 0; i < out->layers; i++) {
        config->mixers[i] = i % attention[0] == attention[1] ? 'a' : 's';
        config->mlps[i] = i % expert[0] == expert[1] ? 'e' : 'd';
    }
    return true;
}

/* One expert is none. */
static bool read_experts(const struct hf_config *config, struct transformer *out)
{
    const bool good = hf_rule_experts(config, out);
    if (good && out->moe.experts == 1) {
        out->moe.experts = 0;
        for (uint32_t i = 0; i < out->layers; i++) {
            config->mlps[i] = 'd';
        }
    }
    return good;
}

const struct hf_family hf_family_jamba = {
    .types = {"jamba"},
    .architectures = {"JambaForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .positions = POSITION_NONE,
              .layers = 32,
              .hidden = 4096,
              .heads = 32,
              .kv_heads = 8,
              .ffn = 14336,
              .vocab = 65536,
              .moe = {.experts = 16, .top_k = 2},
              .scan = {.kind = SCAN_MAMBA1, .head_dim = 1, .chunk = 1, .inner_norms = true}},
    .rules = {read_scan, read_order, read_experts},
};
