/* Which layers of a config.json differ from the others: sliding windows, experts. */
#include "models/hf_inside.h"

#include <string.h>

static const char *const experts_keys[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                           "moe_num_experts", NULL};
static const char *const top_k_keys[] = {"num_experts_per_tok", "num_experts_per_token",
                                         "moe_top_k", "moe_topk", NULL};
static const char *const expert_ffn_keys[] = {"moe_intermediate_size", "expert_intermediate_size",
                                              NULL};

/* --- windows ---------------------------------------------------------------------------------- */

static bool refuse_mixed(const struct hf_config *config, const char *key)
{
    return hf_key_refuse(config, key,
                         "a window in some layers only is not modelled; all layers must be alike");
}

/* "layer_types" names each layer's attention: gives how many have a window. */
static bool count_sliding(const struct hf_config *config, struct json_value types, uint32_t *out)
{
    uint32_t sliding = 0;
    for (uint32_t i = 0; i < json_count(types); i++) {
        const char *type = NULL;
        if (!json_value_string(json_find_index(types, i), &type) ||
            (strcmp(type, "sliding_attention") != 0 && strcmp(type, "full_attention") != 0)) {
            return hf_key_refuse(
                config, "layer_types",
                "only layers of \"full_attention\" or \"sliding_attention\" are modelled");
        }
        sliding += type[0] == 's';
    }
    *out = sliding;
    return true;
}

/* Layers that have the stated window. */
static bool count_windowed(const struct hf_config *config, const struct transformer *shape,
                           uint32_t *out)
{
    const struct json_value types = json_find(config->object, "layer_types");
    if (json_is_array(types) && json_count(types) != 0) {
        return count_sliding(config, types, out);
    }
    if (config->family->window == WINDOW_STATED) {
        *out = shape->layers;
        return true;
    }
    uint32_t full = 0;
    if (!json_read_u32_or(config->object, "max_window_layers", 0, UINT32_MAX,
                          config->family->full_layers, &full, config->diag)) {
        return false;
    }
    *out = full < shape->layers ? shape->layers - full : 0;
    return true;
}

static bool read_window_size(const struct hf_config *config, uint64_t *out)
{
    const struct json_value value = json_find(config->object, "sliding_window");
    *out = 0;
    if (json_is_absent(value) && config->family->window_default != 0) {
        *out = config->family->window_default;
        hf_key_warn_default(config, "sliding_window", *out);
        return true;
    }
    return json_is_null(value) ||
           json_read_u64(config->object, "sliding_window", 1, UINT64_MAX, out, config->diag);
}

static bool read_window(const struct hf_config *config, struct transformer *out)
{
    const enum window_rule rule = config->family->window;
    if (rule == WINDOW_NEVER) {
        if (!json_is_null(json_find(config->object, "sliding_window"))) {
            hf_key_warn(config, "sliding_window",
                        "without effect, models of this type have no window");
        }
        return true;
    }
    if (rule == WINDOW_SWITCHED && !hf_key_is_true(config->object, "use_sliding_window")) {
        return true;
    }
    uint64_t window = 0;
    uint32_t windowed = 0;
    if (!read_window_size(config, &window) || !count_windowed(config, out, &windowed)) {
        return false;
    }
    if (window == 0 || windowed == 0) {
        return true;
    }
    if (windowed < out->layers) {
        const bool listed = json_is_array(json_find(config->object, "layer_types"));
        return refuse_mixed(
            config, listed ? "layer_types"
                           : hf_key_find(config->object,
                                         (const char *const[]){"max_window_layers",
                                                               "use_sliding_window", NULL}));
    }
    out->window = window;
    return true;
}

/* --- experts ---------------------------------------------------------------------------------- */

/* Dense layers must be the first ones: 0, 1, 2, ... */
static bool read_dense_layers(const struct hf_config *config, struct transformer_moe *moe)
{
    const struct json_value dense = json_find(config->object, "mlp_only_layers");
    const uint32_t count = json_is_array(dense) ? json_count(dense) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t layer = 0;
        if (!json_value_u64(json_find_index(dense, i), &layer) || layer != i) {
            return hf_key_refuse(
                config, "mlp_only_layers",
                "dense layers other than the first ones, in order, are not modelled");
        }
    }
    if (count > 0 && moe->every > 1) {
        return hf_key_refuse(config, "mlp_only_layers",
                             "not modelled together with a decoder_sparse_step above 1");
    }
    moe->first_dense = count;
    return true;
}

static bool read_stepped(const struct hf_config *config, struct transformer_moe *moe)
{
    bool good = hf_key_read_count(config, expert_ffn_keys, UINT32_MAX, &moe->ffn);
    good &= json_read_u32_or(config->object, "decoder_sparse_step", 1, HF_LAYERS_MAX, 1,
                             &moe->every, config->diag);
    return good && read_dense_layers(config, moe);
}

static bool read_moe(const struct hf_config *config, struct transformer *out)
{
    struct transformer_moe *moe = &out->moe;
    *moe = (struct transformer_moe){.every = 1};
    if (config->family->moe == MOE_NONE) {
        if (!json_is_null(json_find(config->object, hf_key_find(config->object, experts_keys)))) {
            return hf_key_refuse(config, hf_key_find(config->object, experts_keys),
                                 "models of this type have no experts; is model_type right?");
        }
        return true;
    }
    bool good = hf_key_read_count(config, experts_keys, UINT32_MAX, &moe->experts);
    good &= hf_key_read_count(config, top_k_keys, UINT32_MAX, &moe->top_k);
    if (config->family->moe == MOE_STEPPED) {
        return good & read_stepped(config, moe);
    }
    moe->ffn = out->ffn;
    return good;
}

bool hf_layers_read(const struct hf_config *config, struct transformer *out)
{
    return read_window(config, out) && read_moe(config, out);
}
