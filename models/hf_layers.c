/* Which layers of a config.json differ from the others: sliding windows, experts. */
#include <string.h>

#include "base/text.h"
#include "models/hf_family.h"

static const char *const experts_keys[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                           "moe_num_experts", NULL};
static const char *const top_k_keys[] = {"num_experts_per_tok",
                                         "num_experts_per_token",
                                         "experts_per_token",
                                         "moe_top_k",
                                         "moe_topk",
                                         NULL};
static const char *const expert_ffn_keys[] = {"moe_intermediate_size", "expert_intermediate_size",
                                              NULL};

/* --- windows ---------------------------------------------------------------------------------- */

static bool refuse_word(const struct hf_config *config, const char *word,
                        const struct hf_layer_word *words)
{
    struct text known;
    text_init(&known, config->diag->arena);
    for (uint32_t i = 0; words[i].word != NULL; i++) {
        text_push(&known, "%s\"%s\"", i == 0 ? "" : " or ", words[i].word);
    }
    return hf_key_refuse(config, "layer_types",
                         text_build(config->diag->arena,
                                    "only layers of %s are modelled here, not \"%s\"", known.bytes,
                                    word));
}

bool hf_rule_layer_types(const struct hf_config *config, const struct transformer *shape,
                         const struct hf_layer_word *words)
{
    const struct json_value types = json_find(config->object, "layer_types");
    if (!json_is_array(types) || json_count(types) == 0) {
        return true;
    }
    if (json_count(types) != shape->layers) {
        return hf_key_refuse(config, "layer_types",
                             text_build(config->diag->arena, "names %u layers of %u",
                                        json_count(types), shape->layers));
    }
    for (uint32_t i = 0; i < shape->layers; i++) {
        const char *type = "";
        json_value_string(json_find_index(types, i), &type);
        uint32_t word = 0;
        while (words[word].word != NULL && strcmp(words[word].word, type) != 0) {
            word++;
        }
        if (words[word].word == NULL) {
            return refuse_word(config, type, words);
        }
        config->mixers[i] = words[word].mixer;
    }
    return true;
}

static bool read_window_size(const struct hf_config *config, uint64_t *out)
{
    const struct json_value value = json_find(config->object, "sliding_window");
    const uint64_t fallback = config->family->shape.window;
    *out = 0;
    if (json_is_absent(value) && fallback != 0) {
        *out = fallback;
        hf_key_warn_default(config, "sliding_window", *out);
        return true;
    }
    return json_is_null(value) ||
           json_read_u64(config->object, "sliding_window", 1, UINT64_MAX, out, config->diag);
}

/* Layers from `first` on have the window, unless "layer_types" says which. */
static bool set_windows(const struct hf_config *config, uint32_t first, struct transformer *out)
{
    static const struct hf_layer_word words[] = {
        {"sliding_attention", 'w'}, {"full_attention", 'a'}, {NULL, 0}};
    if (!read_window_size(config, &out->window)) {
        return false;
    }
    for (uint32_t i = 0; i < out->layers; i++) {
        config->mixers[i] = i >= first ? 'w' : 'a';
    }
    const bool good = hf_rule_layer_types(config, out, words);
    if (out->window == 0) {
        config->mixers[0] = '\0';
    }
    return good;
}

bool hf_rule_no_window(const struct hf_config *config, struct transformer *out)
{
    if (!json_is_null(json_find(config->object, "sliding_window"))) {
        hf_key_warn(config, "sliding_window", "without effect, models of this type have no window");
    }
    out->window = 0;
    return true;
}

bool hf_rule_window(const struct hf_config *config, struct transformer *out)
{
    return set_windows(config, 0, out);
}

bool hf_rule_switched_window(const struct hf_config *config, struct transformer *out)
{
    uint32_t first = 0;
    out->window = 0;
    if (!hf_key_is_true(config->object, "use_sliding_window")) {
        return true;
    }
    return json_read_u32_or(config->object, "max_window_layers", 0, UINT32_MAX,
                            config->family->full_layers, &first, config->diag) &&
           set_windows(config, first, out);
}

bool hf_rule_window_pattern(const struct hf_config *config, struct transformer *out)
{
    uint32_t period = 0;
    if (!set_windows(config, 0, out) ||
        !json_read_u32_or(config->object, "sliding_window_pattern", 1, HF_LAYERS_MAX,
                          config->family->full_layers, &period, config->diag)) {
        return false;
    }
    const bool listed = hf_key_is_set(config->object, "layer_types");
    for (uint32_t i = 0; i < out->layers && !listed && out->window > 0; i++) {
        config->mixers[i] = (i + 1) % period == 0 ? 'a' : 'w';
    }
    return true;
}

/* --- experts ---------------------------------------------------------------------------------- */

bool hf_rule_no_experts(const struct hf_config *config, struct transformer *out)
{
    (void)out;
    const char *key = hf_key_find(config->object, experts_keys);
    return !hf_key_is_set(config->object, key) ||
           hf_key_refuse(config, key, "models of this type have no experts; is model_type right?");
}

static bool read_experts(const struct hf_config *config, struct transformer_moe *moe)
{
    const struct transformer_moe *usual = &config->family->shape.moe;
    bool good = usual->experts == 0
                    ? hf_key_read_count(config, experts_keys, UINT32_MAX, &moe->experts)
                    : hf_key_read_count_or(config, experts_keys, usual->experts, &moe->experts);
    good &= usual->top_k == 0 ? hf_key_read_count(config, top_k_keys, UINT32_MAX, &moe->top_k)
                              : hf_key_read_count_or(config, top_k_keys, usual->top_k, &moe->top_k);
    return good;
}

bool hf_rule_experts(const struct hf_config *config, struct transformer *out)
{
    const bool good = read_experts(config, &out->moe);
    out->moe.ffn = out->ffn;
    return good;
}

/* Layers that are dense, by their numbers. */
static bool mark_dense(const struct hf_config *config, uint32_t layers)
{
    const struct json_value dense = json_find(config->object, "mlp_only_layers");
    const uint32_t count = json_is_array(dense) ? json_count(dense) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t layer = 0;
        if (!json_value_u64(json_find_index(dense, i), &layer) || layer >= layers) {
            return hf_key_refuse(
                config, "mlp_only_layers",
                text_build(config->diag->arena, "must be numbers of layers below %u", layers));
        }
        config->mlps[layer] = 'd';
    }
    return true;
}

bool hf_rule_stepped_experts(const struct hf_config *config, struct transformer *out)
{
    static const char *const shared_keys[] = {"shared_expert_intermediate_size", NULL};
    bool good = read_experts(config, &out->moe);
    uint32_t step = 1;
    good &= hf_key_read_count(config, expert_ffn_keys, UINT32_MAX, &out->moe.ffn);
    good &= json_read_u32_or(config->object, "decoder_sparse_step", 1, HF_LAYERS_MAX, 1, &step,
                             config->diag);
    if (out->moe.shared_gate) {
        good &= hf_key_read_count(config, shared_keys, UINT32_MAX, &out->moe.shared_ffn);
    }
    for (uint32_t i = 0; i < out->layers && good; i++) {
        config->mlps[i] = (i + 1) % step == 0 ? 'e' : 'd';
    }
    return good && mark_dense(config, out->layers);
}

bool hf_rule_deepseek_experts(const struct hf_config *config, struct transformer *out)
{
    static const char *const shared_keys[] = {"n_shared_experts", "num_shared_experts", NULL};
    uint32_t shared = 0, dense = 0, every = 1;
    if (!hf_key_is_set(config->object, hf_key_find(config->object, experts_keys))) {
        return true;
    }
    bool good = read_experts(config, &out->moe);
    good &= hf_key_read_count(config, expert_ffn_keys, UINT32_MAX, &out->moe.ffn);
    good &= hf_key_read_count_or(config, shared_keys, 0, &shared);
    good &= json_read_u32_or(config->object, "first_k_dense_replace", 0, HF_LAYERS_MAX, 0, &dense,
                             config->diag);
    good &= json_read_u32_or(config->object, "moe_layer_freq", 1, HF_LAYERS_MAX, 1, &every,
                             config->diag);
    if (good && (uint64_t)shared * out->moe.ffn > UINT32_MAX) {
        good = hf_key_refuse(config, shared_keys[0], "wider than a width can be");
    }
    out->moe.shared_ffn = good ? shared * out->moe.ffn : 0;
    for (uint32_t i = 0; i < out->layers && good; i++) {
        config->mlps[i] = i >= dense && i % every == 0 ? 'e' : 'd';
    }
    out->moe.router_bias |= hf_key_equals(config->object, "topk_method", "noaux_tc");
    return good;
}
