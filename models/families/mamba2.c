/* Mamba-2: heads that share B and C in groups. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_mamba2;

static bool read_scan(const struct hf_config *config, struct transformer *out)
{
    const struct {
        const char *keys[2];
        uint32_t *out, fallback;
    } sizes[] = {
        {{"num_heads", NULL}, &out->scan.heads, 128}, {{"head_dim", NULL}, &out->scan.head_dim, 64},
        {{"n_groups", NULL}, &out->scan.groups, 8},   {{"state_size", NULL}, &out->scan.state, 128},
        {{"conv_kernel", NULL}, &out->scan.conv, 4},  {{"chunk_size", NULL}, &out->scan.chunk, 256},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        good &= hf_key_read_count_or(config, sizes[i].keys, sizes[i].fallback, sizes[i].out);
    }
    return good & hf_key_read_flag(config, "use_bias", &out->scan.bias);
}

const struct hf_family hf_family_mamba2 = {
    .types = {"mamba2"},
    .architectures = {"Mamba2ForCausalLM"},
    .shape = {.activation = "silu",
              .positions = POSITION_NONE,
              .layers = 64,
              .hidden = 4096,
              .vocab = 32768,
              .mixers = "s",
              .mlps = "n"},
    .rules = {read_scan},
};
