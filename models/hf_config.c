/* A Hugging Face config.json as a transformer: other names for the same sizes, and what each family
 * of models leaves unsaid. Defaults are those of the configuration classes of the transformers
 * library. */
#include "models/hf_config.h"

#include <string.h>

#include "base/text.h"
#include "models/hf_inside.h"
#include "models/model_inside.h"

#define GPT2_DROPOUT 0.1

static const struct hf_family families[] = {
    {"llama", "LlamaForCausalLM", .bias = BIAS_STATED},
    {"mistral", "MistralForCausalLM", .bias = BIAS_NONE, .window = WINDOW_STATED, .kv_heads = 8,
     .window_default = 4096},
    {"mixtral", "MixtralForCausalLM", .bias = BIAS_NONE, .window = WINDOW_STATED,
     .moe = MOE_EVERY_LAYER, .kv_heads = 8},
    {"qwen2", "Qwen2ForCausalLM", .bias = BIAS_QKV, .window = WINDOW_SWITCHED, .kv_heads = 32,
     .window_default = 4096, .full_layers = 28},
    {"qwen3", "Qwen3ForCausalLM", .bias = BIAS_STATED, .window = WINDOW_SWITCHED, .qk_norm = true,
     .kv_heads = 32, .head_dim = 128, .window_default = 4096, .full_layers = 28},
    {"qwen3_moe", "Qwen3MoeForCausalLM", .bias = BIAS_STATED, .window = WINDOW_SWITCHED,
     .moe = MOE_STEPPED, .qk_norm = true, .kv_heads = 4, .window_default = 4096},
    {"gpt2", "GPT2LMHeadModel", .bias = BIAS_ALL, .gpt2_like = true},
};
#define FAMILY_COUNT (sizeof families / sizeof families[0])

static const char *const hidden_keys[] = {"hidden_size", "n_embd", "d_model", "dim", NULL};
static const char *const layers_keys[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                          NULL};
static const char *const heads_keys[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                         NULL};
static const char *const kv_heads_keys[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                            NULL};
static const char *const ffn_keys[] = {"intermediate_size", "n_inner", "ffn_dim", "d_ff",
                                       "ffn_hidden_size",   NULL};
static const char *const positions_keys[] = {
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", NULL};
static const char *const activation_keys[] = {"hidden_act", "activation_function", NULL};

static bool has_key(struct json_value object, const char *const *names)
{
    return !json_is_null(json_find(object, hf_key_find(object, names)));
}

/* --- what is not modelled --------------------------------------------------------------------- */

static bool check_flags(const struct hf_config *config)
{
    static const char *const flags[] = {"is_encoder_decoder", "add_cross_attention"};
    bool good = true;
    for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (hf_key_is_true(config->object, flags[i])) {
            good =
                hf_key_refuse(config, flags[i], "cross attention is not modelled, must be false");
        }
    }
    const struct json_value pruned = json_find(config->object, "pruned_heads");
    if (json_is_object(pruned) && json_count(pruned) > 0) {
        good = hf_key_refuse(config, "pruned_heads",
                             "layers with heads of their own are not modelled, must be {}");
    }
    return good;
}

static void warn_of_others(const struct hf_config *config)
{
    double dropout = 0.0;
    if (!config->family->gpt2_like &&
        json_value_double(json_find(config->object, "attention_dropout"), &dropout) &&
        dropout > 0.0) {
        hf_key_warn(
            config, "attention_dropout",
            "counted as 0; it drops inside attention alone, where flash attention keeps no mask");
    }
    if (json_is_object(json_find(config->object, "quantization_config"))) {
        hf_key_warn(config, "quantization_config",
                    "ignored; weights are counted in the number format of the setup");
    }
    if (json_is_object(json_find(config->object, "auto_map"))) {
        hf_key_warn(config, "auto_map",
                    "the model brings its own code, which may compute something else");
    }
}

/* --- sizes ------------------------------------------------------------------------------------ */

static bool read_kv_heads(const struct hf_config *config, struct transformer *out)
{
    const struct json_value value =
        json_find(config->object, hf_key_find(config->object, kv_heads_keys));
    if (!json_is_null(value)) {
        return hf_key_read_count(config, kv_heads_keys, UINT32_MAX, &out->kv_heads);
    }
    /* An explicit null means as many as heads; only an absent key takes the default. */
    const uint32_t fallback = config->family->kv_heads;
    const bool absent = json_is_absent(json_find(config->object, kv_heads_keys[0]));
    out->kv_heads = absent && fallback != 0 ? fallback : out->heads;
    if (absent && fallback != 0) {
        hf_key_warn_default(config, kv_heads_keys[0], fallback);
    }
    return true;
}

static bool read_head_dim(const struct hf_config *config, struct transformer *out)
{
    const struct json_value value = json_find(config->object, "head_dim");
    if (!json_is_null(value)) {
        return json_read_u32(config->object, "head_dim", 1, UINT32_MAX, &out->head_dim,
                             config->diag);
    }
    if (json_is_absent(value) && config->family->head_dim != 0) {
        out->head_dim = config->family->head_dim;
        hf_key_warn_default(config, "head_dim", out->head_dim);
        return true;
    }
    return transformer_find_head_dim(
        out, json_place(json_find(config->object, hf_key_find(config->object, hidden_keys))),
        config->diag);
}

static bool read_ffn(const struct hf_config *config, struct transformer *out)
{
    if (!config->family->gpt2_like || has_key(config->object, ffn_keys)) {
        return hf_key_read_count(config, ffn_keys, UINT32_MAX, &out->ffn);
    }
    if (out->hidden > UINT32_MAX / 4) {
        return diag_push(config->diag, DIAG_M203, json_place(config->object), NULL,
                         "four times the width %u is more than a width can be", out->hidden);
    }
    out->ffn = 4 * out->hidden;
    return true;
}

/* Only learned positions change the model: they are rows of a table. */
static bool read_positions(const struct hf_config *config, struct transformer *out)
{
    const char *key = hf_key_find(config->object, positions_keys);
    if (!json_is_null(json_find(config->object, key))) {
        return json_read_u64(config->object, key, 1, UINT64_MAX, &out->max_positions, config->diag);
    }
    if (config->family->gpt2_like) {
        out->max_positions = 1024;
        hf_key_warn_default(config, "n_positions", out->max_positions);
    }
    return true;
}

static bool read_sizes(const struct hf_config *config, struct transformer *out)
{
    static const char *const vocab_keys[] = {"vocab_size", NULL};
    bool good = hf_key_read_count(config, layers_keys, HF_LAYERS_MAX, &out->layers);
    good &= hf_key_read_count(config, hidden_keys, UINT32_MAX, &out->hidden);
    good &= hf_key_read_count(config, heads_keys, UINT32_MAX, &out->heads);
    good &= hf_key_read_count(config, vocab_keys, UINT32_MAX, &out->vocab);
    if (!good) {
        return false;
    }
    good &= read_kv_heads(config, out);
    good &= read_head_dim(config, out);
    good &= read_ffn(config, out);
    good &= read_positions(config, out);
    return good;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Variants of one function cost the same: the tanh form of GELU is GELU here. */
static const char *activation_of(const char *name)
{
    if (strncmp(name, "gelu", 4) == 0) {
        return "gelu";
    }
    return strcmp(name, "swish") == 0 ? "silu" : name;
}

static bool read_bias(const struct hf_config *config, struct transformer *out)
{
    out->qkv_bias = config->family->bias == BIAS_QKV || config->family->bias == BIAS_ALL;
    out->attention_output_bias = config->family->bias == BIAS_ALL;
    out->mlp_bias = config->family->bias == BIAS_ALL;
    if (config->family->bias != BIAS_STATED) {
        return true;
    }
    bool good =
        json_read_bool_or(config->object, "attention_bias", false, &out->qkv_bias, config->diag);
    good &= json_read_bool_or(config->object, "mlp_bias", false, &out->mlp_bias, config->diag);
    out->attention_output_bias = out->qkv_bias;
    return good;
}

/* One rate stands for all three places; what matters is whether masks are kept. */
static bool read_dropout(const struct hf_config *config, struct transformer *out)
{
    static const char *const keys[] = {"resid_pdrop", "embd_pdrop", "attn_pdrop"};
    double rates[3] = {0.0};
    bool good = true;
    for (uint32_t i = 0; i < 3 && config->family->gpt2_like; i++) {
        good &= json_read_double_or(config->object, keys[i], 0.0, 1.0, GPT2_DROPOUT, &rates[i],
                                    config->diag);
    }
    out->dropout_frac = rates[0];
    for (uint32_t i = 1; i < 3 && good; i++) {
        if ((rates[i] > 0.0) != (rates[0] > 0.0)) {
            good = hf_key_refuse(
                config, json_is_absent(json_find(config->object, keys[i])) ? keys[0] : keys[i],
                "dropout in some places only is not modelled; make all rates 0 or none");
        }
    }
    return good;
}

static bool read_kinds(const struct hf_config *config, struct transformer *out)
{
    const bool gpt2_like = config->family->gpt2_like;
    const char *activation = NULL;
    bool good =
        json_read_string_or(config->object, hf_key_find(config->object, activation_keys),
                            gpt2_like ? "gelu" : "silu", config->arena, &activation, config->diag);
    good &= json_read_bool_or(config->object, "tie_word_embeddings", gpt2_like,
                              &out->tied_embeddings, config->diag);
    good &= read_bias(config, out);
    good &= read_dropout(config, out);
    out->activation = good ? activation_of(activation) : NULL;
    out->architecture = config->family->model_type;
    out->gated = !gpt2_like;
    out->norm = gpt2_like ? NORM_LAYER : NORM_RMS;
    out->positions = gpt2_like ? POSITION_LEARNED : POSITION_ROPE;
    out->qk_norm = config->family->qk_norm;
    return good;
}

/* --- the file --------------------------------------------------------------------------------- */

static const char *first_architecture(struct json_value object)
{
    const char *name = NULL;
    const struct json_value names = json_find(object, "architectures");
    if (!json_is_array(names) || json_count(names) == 0 ||
        !json_value_string(json_find_index(names, 0), &name)) {
        return NULL;
    }
    return name;
}

/* By "model_type", else by the class that "architectures" names. */
static const struct hf_family *find_family(struct json_value object)
{
    const char *type = NULL;
    const bool typed = json_value_string(json_find(object, "model_type"), &type);
    const char *architecture = typed ? NULL : first_architecture(object);
    for (uint32_t i = 0; i < FAMILY_COUNT; i++) {
        if (typed ? strcmp(type, families[i].model_type) == 0
                  : architecture != NULL && strcmp(architecture, families[i].architecture) == 0) {
            return &families[i];
        }
    }
    return NULL;
}

static bool refuse_type(struct json_value object, struct diag *diag)
{
    struct text supported;
    const char *names[FAMILY_COUNT];
    text_init(&supported, diag->arena);
    for (uint32_t i = 0; i < FAMILY_COUNT; i++) {
        names[i] = families[i].model_type;
        text_push(&supported, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *key =
        json_is_absent(json_find(object, "model_type")) ? "architectures" : "model_type";
    const struct json_value value = json_find(object, key);
    const char *type = NULL;
    const char *nearest =
        json_value_string(value, &type) ? text_find_nearest(type, names, FAMILY_COUNT) : NULL;
    return diag_push(diag, DIAG_M202, json_place(value),
                     nearest == NULL ? NULL
                                     : text_build(diag->arena, "did you mean '%s'?", nearest),
                     "%s %s is not supported; these are: %s", key,
                     json_value_text(value, diag->arena), supported.bytes);
}

bool hf_config_fits(struct json_value object)
{
    return !json_is_absent(json_find(object, "model_type")) ||
           !json_is_absent(json_find(object, "architectures"));
}

bool hf_config_read(struct json_value object, struct arena *arena, struct transformer *out,
                    struct diag *diag)
{
    const struct hf_config config = {
        .object = object, .family = find_family(object), .arena = arena, .diag = diag};
    struct transformer shape = {0};
    if (config.family == NULL) {
        return refuse_type(object, diag);
    }
    bool good = check_flags(&config);
    good &= read_sizes(&config, &shape) && hf_layers_read(&config, &shape);
    good &= read_kinds(&config, &shape);
    const struct transformer_origin origin = {
        .object = object,
        .kv_heads = hf_key_find(object, kv_heads_keys),
        .positions = hf_key_find(object, positions_keys),
        .experts = "num_experts_per_tok",
    };
    if (!good || !transformer_check(&shape, &origin, diag)) {
        return false;
    }
    warn_of_others(&config);
    *out = shape;
    return true;
}
