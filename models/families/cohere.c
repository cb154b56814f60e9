/* Command R: attention and MLP side by side on one norm without bias. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_cohere;

static bool check_norms(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"use_qk_norm", NULL};
    (void)out;
    return hf_key_refuse_set(config, keys, "layer norms on Q and K are not modelled");
}

const struct hf_family hf_family_cohere = {
    .types = {"cohere"},
    .architectures = {"CohereForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .norm = NORM_LAYER_PLAIN,
              .tied_embeddings = true,
              .form = LAYER_PARALLEL,
              .layers = 40,
              .hidden = 8192,
              .heads = 64,
              .ffn = 22528,
              .vocab = 256000},
    .rules = {hf_rule_bias, check_norms},
};
