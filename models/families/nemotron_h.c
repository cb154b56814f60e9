/* Nemotron-H: each letter of a pattern is a layer of its own: M scans, * attends, - and E feed. */
#include "models/hf_family.h"

#include <string.h>

#include "base/text.h"

extern const struct hf_family hf_family_nemotron_h;

static bool read_pattern(const struct hf_config *config, struct transformer *out)
{
    const char *pattern = NULL;
    if (!json_read_string(config->object, "hybrid_override_pattern", config->arena, &pattern,
                          config->diag)) {
        return false;
    }
    if (strlen(pattern) != out->layers || strspn(pattern, "M*-E") != out->layers) {
        return hf_key_refuse(config, "hybrid_override_pattern",
                             text_build(config->diag->arena,
                                        "must be a letter of \"M*-E\" for each of %u layers",
                                        out->layers));
    }
    for (uint32_t i = 0; i < out->layers; i++) {
        config->mixers[i] = pattern[i] == 'M' ? 's' : pattern[i] == '*' ? 'a' : 'n';
        config->mlps[i] = pattern[i] == '-' ? 'd' : pattern[i] == 'E' ? 'e' : 'n';
    }
    return true;
}

static bool read_scan(const struct hf_config *config, struct transformer *out)
{
    const struct {
        const char *keys[2];
        uint32_t *out, fallback;
    } sizes[] = {
        {{"mamba_num_heads", NULL}, &out->scan.heads, 128},
        {{"mamba_head_dim", NULL}, &out->scan.head_dim, 64},
        {{"n_groups", NULL}, &out->scan.groups, 8},
        {{"ssm_state_size", NULL}, &out->scan.state, 128},
        {{"conv_kernel", NULL}, &out->scan.conv, 4},
        {{"chunk_size", NULL}, &out->scan.chunk, 128},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        good &= hf_key_read_count_or(config, sizes[i].keys, sizes[i].fallback, sizes[i].out);
    }
    good &= hf_key_read_flag(config, "mamba_proj_bias", &out->scan.bias);
    if (strchr(config->mixers, 's') == NULL) {
        out->scan = (struct transformer_scan){.heads = 0};
    }
    return good;
}

static bool read_experts(const struct hf_config *config, struct transformer *out)
{
    static const char *const shared_keys[] = {"moe_shared_expert_intermediate_size", NULL};
    static const char *const latent_keys[] = {"moe_latent_size", NULL};
    if (strchr(config->mlps, 'e') == NULL) {
        return true;
    }
    struct hf_config own = *config; /* the pattern says which layers have them */
    own.mlps = ARENA_PUSH(config->arena, char, (size_t)out->layers + 1);
    out->moe.router_bias = true;
    return hf_key_refuse_set(config, latent_keys,
                             "experts on a latent of the stream are not modelled") &&
           hf_rule_deepseek_experts(&own, out) &&
           hf_key_read_count_or(config, shared_keys, 0, &out->moe.shared_ffn);
}

const struct hf_family hf_family_nemotron_h = {
    .types = {"nemotron_h"},
    .architectures = {"NemotronHForCausalLM"},
    .shape = {.activation = "relu2", .positions = POSITION_NONE, .layers = 52, .kv_heads = 8},
    .rules = {hf_rule_bias, read_pattern, read_scan, read_experts},
};
