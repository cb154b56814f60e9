/* Mamba: layers that scan and nothing else. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_mamba;

/* Of a count with the name "auto" for one derived from the width. */
#define WIDTH_PER_RANK 16

static bool read_scan(const struct hf_config *config, struct transformer *out)
{
    static const char *const inner_keys[] = {"intermediate_size", "d_inner", NULL};
    static const char *const rank_keys[] = {"time_step_rank", NULL};
    static const char *const expand_keys[] = {"expand", NULL}, *const state_keys[] = {"state_size",
                                                                                      NULL};
    static const char *const conv_keys[] = {"conv_kernel", NULL};
    uint32_t expand = 2;
    bool good = hf_key_read_count_or(config, expand_keys, 2, &expand);
    good &= hf_key_read_count_or(config, state_keys, 16, &out->scan.state);
    good &= hf_key_read_count_or(config, conv_keys, 4, &out->scan.conv);
    good &= hf_key_read_flag(config, "use_bias", &out->scan.bias);
    if (good && (uint64_t)expand * out->hidden > UINT32_MAX) {
        return hf_key_refuse(config, "expand", "wider than a width can be");
    }
    good &= hf_key_is_set(config->object, inner_keys[0])
                ? hf_key_read_count(config, inner_keys, UINT32_MAX, &out->scan.heads)
                : true;
    out->scan.heads = out->scan.heads == 0 ? expand * out->hidden : out->scan.heads;
    out->scan.rank = (out->hidden + WIDTH_PER_RANK - 1) / WIDTH_PER_RANK;
    if (json_is_number(json_find(config->object, rank_keys[0]))) {
        good &= hf_key_read_count(config, rank_keys, UINT32_MAX, &out->scan.rank);
    }
    if (hf_key_is_set(config->object, "use_conv_bias") ||
        json_is_null(json_find(config->object, "use_conv_bias"))) {
        return good;
    }
    return hf_key_refuse(config, "use_conv_bias", "only true is modelled");
}

const struct hf_family hf_family_mamba = {
    .types = {"mamba"},
    .architectures = {"MambaForCausalLM"},
    .shape = {.activation = "silu",
              .positions = POSITION_NONE,
              .tied_embeddings = true,
              .layers = 32,
              .hidden = 768,
              .vocab = 50280,
              .mixers = "s",
              .mlps = "n",
              .scan = {.kind = SCAN_MAMBA1, .head_dim = 1, .chunk = 1}},
    .rules = {read_scan},
};
