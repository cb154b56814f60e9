/* StableLM 2 and StableLM 3B: LLaMA with layer norms. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_stablelm;

static bool read_rest(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"qk_layernorm", NULL};
    bool parallel = false;
    const bool biased = hf_key_read_flag(config, "use_qkv_bias", &out->qkv_bias);
    const bool good = hf_key_read_flag(config, "use_parallel_residual", &parallel) && biased;
    out->form = parallel ? LAYER_PARALLEL : LAYER_PRE_NORM;
    return good && hf_key_refuse_set(config, keys, "layer norms per head are not modelled");
}

const struct hf_family hf_family_stablelm = {
    .types = {"stablelm"},
    .architectures = {"StableLmForCausalLM"},
    .shape = {.gated = true, .activation = "silu", .norm = NORM_LAYER},
    .rules = {read_rest},
};
