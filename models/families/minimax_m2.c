/* MiniMax-M2: experts of the stated width, a norm over all heads of Q and K. */
#include "models/hf_family.h"

extern const struct hf_family hf_family_minimax_m2;

static bool check_norm(const struct hf_config *config, struct transformer *out)
{
    (void)out;
    return json_is_null(json_find(config->object, "qk_norm_type")) ||
           hf_key_equals(config->object, "qk_norm_type", "per_layer") ||
           hf_key_refuse(config, "qk_norm_type", "only \"per_layer\" is modelled");
}

/* Its class has no such modules. */
static bool check_further(const struct hf_config *config, struct transformer *out)
{
    (void)out;
    if (hf_key_is_true(config->object, "use_mtp")) {
        hf_key_warn(config, "use_mtp", "not counted, as in the library's class");
    }
    return true;
}

const struct hf_family hf_family_minimax_m2 = {
    .types = {"minimax_m2"},
    .architectures = {"MiniMaxM2ForCausalLM"},
    .shape = {.gated = true,
              .activation = "silu",
              .qk_norm_wide = true,
              .kv_heads = 8,
              .moe = {.router_bias = true}},
    .rules = {check_norm, hf_rule_no_window, hf_rule_experts, check_further},
};
