/* The first Qwen: two halves of the stated width are gate and up; biases on Q, K and V. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_qwen;

/* Its MLP splits "intermediate_size" between gate and up. */
static bool halve_ffn(const struct hf_config *config, struct transformer *out)
{
    if (out->ffn % 2 != 0) {
        return hf_key_refuse(config, "intermediate_size", "is the sum of two equal widths: even");
    }
    out->ffn /= 2;
    return true;
}

const struct hf_family hf_family_qwen = {
    .types = {"qwen"},
    .architectures = {"QWenLMHeadModel"},
    .shape = {.gated = true, .activation = "silu", .qkv_bias = true},
    .rules = {halve_ffn},
};
