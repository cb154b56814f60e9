/* A Hugging Face config.json as a transformer: other names for the same sizes, and what each family of models
 * leaves unsaid. Defaults are those of the configuration classes of the transformers library. */
#include "models/hf_config.h"

#include <string.h>

#include "base/text.h"
#include "models/model_inside.h"

#define LAYERS_MAX 1000000u
#define GPT2_DROPOUT 0.1

enum bias_rule {
    BIAS_STATED, /* "attention_bias" covers all four attention matrices, "mlp_bias" the others */
    BIAS_NONE,
    BIAS_QKV, /* always on Q, K and V, though the file does not say so */
    BIAS_ALL
};

enum window_rule {
    WINDOW_NEVER,   /* the family has none, whatever the file says */
    WINDOW_STATED,  /* "sliding_window" applies to every layer */
    WINDOW_SWITCHED /* ... where "use_sliding_window" is true, from layer "max_window_layers" on */
};

enum moe_rule {
    MOE_NONE,
    MOE_EVERY_LAYER, /* experts of "intermediate_size" in each layer */
    MOE_STEPPED      /* "moe_intermediate_size", "decoder_sparse_step", "mlp_only_layers" */
};

struct family {
    const char *model_type, *architecture; /* class named in "architectures" */
    enum bias_rule bias;
    enum window_rule window;
    enum moe_rule moe;
    bool gpt2_like; /* two matrices, layer norm, learned positions, dropout, tied embeddings */
    bool qk_norm;
    uint32_t kv_heads;       /* where the key is absent; 0: as many as heads */
    uint32_t head_dim;       /* where the key is absent; 0: hidden / heads */
    uint64_t window_default; /* where the key is absent */
};

static const struct family families[] = {
    {"llama", "LlamaForCausalLM", .bias = BIAS_STATED},
    {"mistral", "MistralForCausalLM", .bias = BIAS_NONE, .window = WINDOW_STATED, .kv_heads = 8,
     .window_default = 4096},
    {"mixtral", "MixtralForCausalLM", .bias = BIAS_NONE, .window = WINDOW_STATED,
     .moe = MOE_EVERY_LAYER, .kv_heads = 8},
    {"qwen2", "Qwen2ForCausalLM", .bias = BIAS_QKV, .window = WINDOW_SWITCHED, .kv_heads = 32},
    {"qwen3", "Qwen3ForCausalLM", .bias = BIAS_STATED, .window = WINDOW_SWITCHED, .qk_norm = true,
     .kv_heads = 32, .head_dim = 128},
    {"qwen3_moe", "Qwen3MoeForCausalLM", .bias = BIAS_STATED, .window = WINDOW_SWITCHED,
     .moe = MOE_STEPPED, .qk_norm = true, .kv_heads = 4},
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
static const char *const experts_keys[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                           "moe_num_experts", NULL};
static const char *const top_k_keys[] = {"num_experts_per_tok", "num_experts_per_token",
                                         "moe_top_k", "moe_topk", NULL};
static const char *const expert_ffn_keys[] = {"moe_intermediate_size", "expert_intermediate_size",
                                              NULL};
static const char *const activation_keys[] = {"hidden_act", "activation_function", NULL};

/* The file being read. */
struct config {
    struct json_value object;
    const struct family *family;
    struct arena *arena;
    struct diag *diag;
};

/* The first of the names that the file has with a value; the usual one if it has none. */
static const char *find_key(struct json_value object, const char *const *names)
{
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (!json_is_null(json_find(object, names[i]))) {
            return names[i];
        }
    }
    return names[0];
}

static bool has_key(struct json_value object, const char *const *names)
{
    return !json_is_null(json_find(object, find_key(object, names)));
}

static bool read_count(const struct config *config, const char *const *names, uint32_t max,
                       uint32_t *out)
{
    return json_read_u32(config->object, find_key(config->object, names), 1, max, out,
                         config->diag);
}

static bool is_true(struct json_value object, const char *key)
{
    bool value = false;
    return json_value_bool(json_find(object, key), &value) && value;
}

/* --- what is not modelled --------------------------------------------------------------------------- */

static bool refuse(const struct config *config, const char *key, const char *why)
{
    return diag_push(config->diag, DIAG_M205, json_place(json_find(config->object, key)), NULL,
                     "'%s' of a %s model: %s", key, config->family->model_type, why);
}

static void warn(const struct config *config, const char *key, const char *what)
{
    const struct json_value value = json_find(config->object, key);
    diag_push_warning(config->diag, DIAG_M205,
                      json_place(json_is_absent(value) ? config->object : value), NULL,
                      "'%s' of a %s model: %s", key, config->family->model_type, what);
}

static void warn_default(const struct config *config, const char *key, uint64_t value)
{
    warn(config, key,
         text_build(config->diag->arena,
                    "absent, so taken as %llu, the default of the transformers library",
                    (unsigned long long)value));
}

static bool check_flags(const struct config *config)
{
    static const char *const flags[] = {"is_encoder_decoder", "add_cross_attention"};
    bool good = true;
    for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (is_true(config->object, flags[i])) {
            good = refuse(config, flags[i], "cross attention is not modelled, must be false");
        }
    }
    const struct json_value pruned = json_find(config->object, "pruned_heads");
    if (json_is_object(pruned) && json_count(pruned) > 0) {
        good = refuse(config, "pruned_heads",
                      "layers with heads of their own are not modelled, must be {}");
    }
    return good;
}

static void warn_of_others(const struct config *config)
{
    double dropout = 0.0;
    if (!config->family->gpt2_like &&
        json_value_double(json_find(config->object, "attention_dropout"), &dropout) &&
        dropout > 0.0) {
        warn(config, "attention_dropout",
             "counted as 0; it drops inside attention alone, where flash attention keeps no mask");
    }
    if (json_is_object(json_find(config->object, "quantization_config"))) {
        warn(config, "quantization_config",
             "ignored; weights are counted in the number format of the setup");
    }
    if (json_is_object(json_find(config->object, "auto_map"))) {
        warn(config, "auto_map", "the model brings its own code, which may compute something else");
    }
}

/* --- sizes ------------------------------------------------------------------------------------------ */

static bool read_kv_heads(const struct config *config, struct transformer *out)
{
    const struct json_value value =
        json_find(config->object, find_key(config->object, kv_heads_keys));
    if (!json_is_null(value)) {
        return read_count(config, kv_heads_keys, UINT32_MAX, &out->kv_heads);
    }
    /* An explicit null means as many as heads; only an absent key takes the default. */
    const uint32_t fallback = config->family->kv_heads;
    const bool absent = json_is_absent(json_find(config->object, kv_heads_keys[0]));
    out->kv_heads = absent && fallback != 0 ? fallback : out->heads;
    if (absent && fallback != 0) {
        warn_default(config, kv_heads_keys[0], fallback);
    }
    return true;
}

static bool read_head_dim(const struct config *config, struct transformer *out)
{
    const struct json_value value = json_find(config->object, "head_dim");
    if (!json_is_null(value)) {
        return json_read_u32(config->object, "head_dim", 1, UINT32_MAX, &out->head_dim,
                             config->diag);
    }
    if (json_is_absent(value) && config->family->head_dim != 0) {
        out->head_dim = config->family->head_dim;
        warn_default(config, "head_dim", out->head_dim);
        return true;
    }
    return transformer_find_head_dim(
        out, json_place(json_find(config->object, find_key(config->object, hidden_keys))),
        config->diag);
}

static bool read_ffn(const struct config *config, struct transformer *out)
{
    if (!config->family->gpt2_like || has_key(config->object, ffn_keys)) {
        return read_count(config, ffn_keys, UINT32_MAX, &out->ffn);
    }
    if (out->hidden > UINT32_MAX / 4) {
        return diag_push(config->diag, DIAG_M203, json_place(config->object), NULL,
                         "four times the width %u is more than a width can be", out->hidden);
    }
    out->ffn = 4 * out->hidden;
    return true;
}

/* Only learned positions change the model: they are rows of a table. */
static bool read_positions(const struct config *config, struct transformer *out)
{
    const char *key = find_key(config->object, positions_keys);
    if (!json_is_null(json_find(config->object, key))) {
        return json_read_u64(config->object, key, 1, UINT64_MAX, &out->max_positions, config->diag);
    }
    if (config->family->gpt2_like) {
        out->max_positions = 1024;
        warn_default(config, "n_positions", out->max_positions);
    }
    return true;
}

static bool read_sizes(const struct config *config, struct transformer *out)
{
    static const char *const vocab_keys[] = {"vocab_size", NULL};
    bool good = read_count(config, layers_keys, LAYERS_MAX, &out->layers);
    good &= read_count(config, hidden_keys, UINT32_MAX, &out->hidden);
    good &= read_count(config, heads_keys, UINT32_MAX, &out->heads);
    good &= read_count(config, vocab_keys, UINT32_MAX, &out->vocab);
    if (!good) {
        return false;
    }
    good &= read_kv_heads(config, out);
    good &= read_head_dim(config, out);
    good &= read_ffn(config, out);
    good &= read_positions(config, out);
    return good;
}

/* --- kinds ------------------------------------------------------------------------------------------ */

/* Variants of one function cost the same: the tanh form of GELU is GELU here. */
static const char *activation_of(const char *name)
{
    if (strncmp(name, "gelu", 4) == 0) {
        return "gelu";
    }
    return strcmp(name, "swish") == 0 ? "silu" : name;
}

static bool read_bias(const struct config *config, struct transformer *out)
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
static bool read_dropout(const struct config *config, struct transformer *out)
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
            good = refuse(config,
                          json_is_absent(json_find(config->object, keys[i])) ? keys[0] : keys[i],
                          "dropout in some places only is not modelled; make all rates 0 or none");
        }
    }
    return good;
}

static bool read_kinds(const struct config *config, struct transformer *out)
{
    const bool gpt2_like = config->family->gpt2_like;
    const char *activation = NULL;
    bool good =
        json_read_string_or(config->object, find_key(config->object, activation_keys),
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

/* --- windows ---------------------------------------------------------------------------------------- */

static bool refuse_mixed(const struct config *config, const char *key)
{
    return refuse(config, key,
                  "a window in some layers only is not modelled; all layers must be alike");
}

/* "layer_types" names each layer's attention: gives how many have a window. */
static bool count_sliding(const struct config *config, struct json_value types, uint32_t *out)
{
    uint32_t sliding = 0;
    for (uint32_t i = 0; i < json_count(types); i++) {
        const char *type = NULL;
        if (!json_value_string(json_find_index(types, i), &type) ||
            (strcmp(type, "sliding_attention") != 0 && strcmp(type, "full_attention") != 0)) {
            return refuse(
                config, "layer_types",
                "only layers of \"full_attention\" or \"sliding_attention\" are modelled");
        }
        sliding += type[0] == 's';
    }
    *out = sliding;
    return true;
}

/* Layers that have the stated window. */
static bool count_windowed(const struct config *config, const struct transformer *shape,
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
    if (!json_read_u32_or(config->object, "max_window_layers", 0, UINT32_MAX, 0, &full,
                          config->diag)) {
        return false;
    }
    *out = full < shape->layers ? shape->layers - full : 0;
    return true;
}

static bool read_window_size(const struct config *config, uint64_t *out)
{
    const struct json_value value = json_find(config->object, "sliding_window");
    *out = 0;
    if (json_is_absent(value) && config->family->window_default != 0) {
        *out = config->family->window_default;
        warn_default(config, "sliding_window", *out);
        return true;
    }
    return json_is_null(value) ||
           json_read_u64(config->object, "sliding_window", 1, UINT64_MAX, out, config->diag);
}

static bool read_window(const struct config *config, struct transformer *out)
{
    const enum window_rule rule = config->family->window;
    if (rule == WINDOW_NEVER) {
        if (!json_is_null(json_find(config->object, "sliding_window"))) {
            warn(config, "sliding_window", "without effect, models of this type have no window");
        }
        return true;
    }
    if (rule == WINDOW_SWITCHED && !is_true(config->object, "use_sliding_window")) {
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
            config,
            listed ? "layer_types"
                   : find_key(config->object, (const char *const[]){"max_window_layers",
                                                                    "use_sliding_window", NULL}));
    }
    out->window = window;
    return true;
}

/* --- experts ---------------------------------------------------------------------------------------- */

/* Dense layers must be the first ones: 0, 1, 2, ... */
static bool read_dense_layers(const struct config *config, struct transformer_moe *moe)
{
    const struct json_value dense = json_find(config->object, "mlp_only_layers");
    const uint32_t count = json_is_array(dense) ? json_count(dense) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t layer = 0;
        if (!json_value_u64(json_find_index(dense, i), &layer) || layer != i) {
            return refuse(config, "mlp_only_layers",
                          "dense layers other than the first ones, in order, are not modelled");
        }
    }
    if (count > 0 && moe->every > 1) {
        return refuse(config, "mlp_only_layers",
                      "not modelled together with a decoder_sparse_step above 1");
    }
    moe->first_dense = count;
    return true;
}

static bool read_stepped(const struct config *config, struct transformer_moe *moe)
{
    bool good = read_count(config, expert_ffn_keys, UINT32_MAX, &moe->ffn);
    good &= json_read_u32_or(config->object, "decoder_sparse_step", 1, LAYERS_MAX, 1, &moe->every,
                             config->diag);
    return good && read_dense_layers(config, moe);
}

static bool read_moe(const struct config *config, struct transformer *out)
{
    struct transformer_moe *moe = &out->moe;
    *moe = (struct transformer_moe){.every = 1};
    if (config->family->moe == MOE_NONE) {
        if (has_key(config->object, experts_keys)) {
            return refuse(config, find_key(config->object, experts_keys),
                          "models of this type have no experts; is model_type right?");
        }
        return true;
    }
    bool good = read_count(config, experts_keys, UINT32_MAX, &moe->experts);
    good &= read_count(config, top_k_keys, UINT32_MAX, &moe->top_k);
    if (config->family->moe == MOE_STEPPED) {
        return good & read_stepped(config, moe);
    }
    moe->ffn = out->ffn;
    return good;
}

/* --- the file --------------------------------------------------------------------------------------- */

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
static const struct family *find_family(struct json_value object)
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
    const struct config config = {
        .object = object, .family = find_family(object), .arena = arena, .diag = diag};
    struct transformer shape = {0};
    if (config.family == NULL) {
        return refuse_type(object, diag);
    }
    bool good = check_flags(&config);
    good &=
        read_sizes(&config, &shape) && read_window(&config, &shape) && read_moe(&config, &shape);
    good &= read_kinds(&config, &shape);
    if (!good || !transformer_check(&shape, json_place(object), diag)) {
        return false;
    }
    warn_of_others(&config);
    *out = shape;
    return true;
}
