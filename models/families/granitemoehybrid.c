/* Granite 4: layers of Mamba-2 between layers of attention, experts or one shared MLP. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_granitemoehybrid;

static bool read_scan(const struct hf_config *config, struct transformer *out)
{
    static const struct hf_layer_word words[] = {
        {"mamba", 's'}, {"attention", 'a'}, {"full_attention", 'a'}, {NULL, 0}};
    const struct {
        const char *keys[2];
        uint32_t *out, fallback;
    } sizes[] = {
        {{"mamba_n_heads", NULL}, &out->scan.heads, 128},
        {{"mamba_n_groups", NULL}, &out->scan.groups, 1},
        {{"mamba_d_state", NULL}, &out->scan.state, 256},
        {{"mamba_d_conv", NULL}, &out->scan.conv, 4},
        {{"mamba_chunk_size", NULL}, &out->scan.chunk, 256},
        {{"mamba_expand", NULL}, &out->scan.head_dim, 2},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        good &= hf_key_read_count_or(config, sizes[i].keys, sizes[i].fallback, sizes[i].out);
    }
    good &= hf_key_read_flag(config, "mamba_proj_bias", &out->scan.bias);
    if (good && (out->scan.heads == 0 ||
                 (uint64_t)out->scan.head_dim * out->hidden % out->scan.heads != 0)) {
        return hf_key_refuse(config, "mamba_n_heads", "must divide mamba_expand times the width");
    }
    good = good && hf_rule_layer_types(config, out, words);
    out->scan.head_dim =
        good ? (uint32_t)((uint64_t)out->scan.head_dim * out->hidden / out->scan.heads) : 0;
    for (uint32_t i = 0; i < out->layers && good; i++) {
        if (config->mixers[i] == 's') {
            return true;
        }
    }
    out->scan = (struct transformer_scan){.heads = 0}; /* no layer scans */
    return good;
}

/* Without experts the shared MLP is the dense one. */
static bool read_experts(const struct hf_config *config, struct transformer *out)
{
    static const char *const shared_keys[] = {"shared_intermediate_size", NULL};
    uint32_t shared = 0;
    bool good = hf_key_read_count_or(config, shared_keys, 1024, &shared);
    if (good && !hf_key_is_set(config->object, "num_local_experts")) {
        out->ffn = shared;
        return true;
    }
    out->moe.shared_ffn = shared;
    return good && hf_rule_experts(config, out);
}

const struct hf_family hf_family_granitemoehybrid = {
    .types = {"granitemoehybrid"},
    .architectures = {"GraniteMoeHybridForCausalLM"},
    .shape = {.gated = true, .activation = "silu"},
    .rules = {hf_rule_bias, read_scan, read_experts},
};
