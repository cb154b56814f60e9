/* A model file in the native format: a transformer in its usual terms. */
#include "models/model_inside.h"

#include <string.h>

#include "base/text.h"

#define LAYERS_MAX 1000000u /* far beyond any model; keeps the chain of parts small */

const char *const model_norm_names[NORM_KIND_COUNT + 1] = {"rmsnorm", "layernorm", NULL};
const char *const model_position_names[POSITION_KIND_COUNT + 1] = {"rope", "learned", "none", NULL};

static const char *const file_keys[] = {"format", "name",  "transformer", "parameters",
                                        "source", "notes", NULL};
static const char *const transformer_keys[] = {
    "architecture", "layers",     "hidden", "heads",     "kv_heads",      "head_dim",
    "ffn",          "gated",      "vocab",  "positions", "max_positions", "tied_embeddings",
    "norm",         "activation", "bias",   "qk_norm",   "dropout",       "window",
    "moe",          NULL};
static const char *const bias_keys[] = {"qkv", "attention_output", "mlp", "norm", NULL};
static const char *const moe_keys[] = {"experts",     "top_k", "ffn", "shared_ffn",
                                       "first_dense", "every", NULL};

static bool read_count(struct json_value object, const char *key, uint32_t *out, struct diag *diag)
{
    return json_read_u32(object, key, 1, UINT32_MAX, out, diag);
}

static bool read_count_or(struct json_value object, const char *key, uint32_t fallback,
                          uint32_t *out, struct diag *diag)
{
    return json_read_u32_or(object, key, 1, UINT32_MAX, fallback, out, diag);
}

static bool read_u64_or_none(struct json_value object, const char *key, uint64_t min, uint64_t *out,
                             struct diag *diag)
{
    *out = 0;
    return json_is_null(json_find(object, key)) ||
           json_read_u64(object, key, min, UINT64_MAX, out, diag);
}

static bool read_choice_or_first(struct json_value object, const char *key,
                                 const char *const *names, uint32_t *out, struct diag *diag)
{
    *out = 0;
    return json_is_null(json_find(object, key)) || json_read_choice(object, key, names, out, diag);
}

/* Absent or an object with only these keys. */
static bool check_object(struct json_value parent, const char *key, const char *const *keys,
                         struct diag *diag)
{
    const struct json_value object = json_find(parent, key);
    if (json_is_absent(object)) {
        return true;
    }
    if (!json_is_object(object)) {
        return diag_push(diag, DIAG_B107, json_place(object), NULL,
                         "'%s' must be an object, such as {\"%s\": ...}", key, keys[0]);
    }
    return json_check_keys(object, keys, diag);
}

static bool read_moe(struct json_value parent, struct transformer_moe *out, struct diag *diag)
{
    const struct json_value moe = json_find(parent, "moe");
    *out = (struct transformer_moe){.every = 1};
    if (json_is_absent(moe)) {
        return true;
    }
    if (!check_object(parent, "moe", moe_keys, diag)) {
        return false;
    }
    bool good = read_count(moe, "experts", &out->experts, diag);
    good &= read_count(moe, "top_k", &out->top_k, diag);
    good &= read_count(moe, "ffn", &out->ffn, diag);
    good &= json_read_u32_or(moe, "shared_ffn", 0, UINT32_MAX, 0, &out->shared_ffn, diag);
    good &= json_read_u32_or(moe, "first_dense", 0, LAYERS_MAX, 0, &out->first_dense, diag);
    good &= json_read_u32_or(moe, "every", 1, LAYERS_MAX, 1, &out->every, diag);
    return good;
}

/* The biases of norms follow from their kind; stating them otherwise is a contradiction. */
static bool read_norm_bias(struct json_value bias, const struct transformer *shape,
                           struct diag *diag)
{
    const bool implied = shape->norm == NORM_LAYER;
    bool stated = implied;
    if (!json_read_bool_or(bias, "norm", implied, &stated, diag)) {
        return false;
    }
    if (stated == implied) {
        return true;
    }
    return diag_push(diag, DIAG_M207, json_place(json_find(bias, "norm")),
                     text_build(diag->arena, "leave it out, or choose norm \"%s\"",
                                model_norm_names[stated ? NORM_LAYER : NORM_RMS]),
                     "bias.norm is %s, but a norm of kind \"%s\" %s", stated ? "true" : "false",
                     model_norm_names[shape->norm], implied ? "has a bias" : "has none");
}

static bool read_bias(struct json_value parent, struct transformer *out, struct diag *diag)
{
    const struct json_value bias = json_find(parent, "bias");
    if (json_is_absent(bias)) {
        return true;
    }
    if (!check_object(parent, "bias", bias_keys, diag)) {
        return false;
    }
    bool good = json_read_bool_or(bias, "qkv", false, &out->qkv_bias, diag);
    good &= json_read_bool_or(bias, "attention_output", false, &out->attention_output_bias, diag);
    good &= json_read_bool_or(bias, "mlp", false, &out->mlp_bias, diag);
    good &= read_norm_bias(bias, out, diag);
    return good;
}

static bool read_sizes(struct json_value object, struct transformer *out, struct diag *diag)
{
    bool good = json_read_u32(object, "layers", 1, LAYERS_MAX, &out->layers, diag);
    good &= read_count(object, "hidden", &out->hidden, diag);
    good &= read_count(object, "heads", &out->heads, diag);
    good &= read_count(object, "ffn", &out->ffn, diag);
    good &= read_count(object, "vocab", &out->vocab, diag);
    good &= read_u64_or_none(object, "max_positions", 0, &out->max_positions, diag);
    good &= read_u64_or_none(object, "window", 0, &out->window, diag);
    good &= json_read_double_or(object, "dropout", 0.0, 1.0, 0.0, &out->dropout_frac, diag);
    /* The width of a head divides the hidden width unless it is stated. */
    const uint32_t heads = good ? out->heads : 1;
    good &= read_count_or(object, "kv_heads", heads, &out->kv_heads, diag);
    good &= json_read_u32_or(object, "head_dim", 1, UINT32_MAX, 0, &out->head_dim, diag);
    if (!good || out->head_dim != 0) {
        return good;
    }
    return transformer_find_head_dim(out, json_place(json_find(object, "hidden")), diag);
}

static bool read_kinds(struct json_value object, struct arena *arena, struct transformer *out,
                       struct diag *diag)
{
    uint32_t norm = 0, positions = 0;
    bool good = read_choice_or_first(object, "norm", model_norm_names, &norm, diag);
    good &= read_choice_or_first(object, "positions", model_position_names, &positions, diag);
    good &= json_read_bool_or(object, "gated", true, &out->gated, diag);
    good &= json_read_bool_or(object, "tied_embeddings", false, &out->tied_embeddings, diag);
    good &= json_read_bool_or(object, "qk_norm", false, &out->qk_norm, diag);
    good &= json_read_string_or(object, "activation", "silu", arena, &out->activation, diag);
    good &= json_read_string_or(object, "architecture", TRANSFORMER_NATIVE, arena,
                                &out->architecture, diag);
    out->norm = (enum norm_kind)norm;
    out->positions = (enum position_kind)positions;
    return good;
}

static bool read_transformer(struct json_value file, struct arena *arena, struct transformer *out,
                             struct diag *diag)
{
    const struct json_value object = json_find(file, "transformer");
    if (json_is_absent(object)) {
        return diag_push(
            diag, DIAG_B106, json_place(file), NULL,
            "a model needs \"transformer\", an object with layers, hidden, heads, ffn and vocab");
    }
    if (!check_object(file, "transformer", transformer_keys, diag)) {
        return false;
    }
    bool good = read_sizes(object, out, diag);
    good &= read_kinds(object, arena, out, diag);
    good &= read_bias(object, out, diag);
    good &= read_moe(object, &out->moe, diag);
    const struct transformer_origin origin = {
        .object = object, .kv_heads = "kv_heads", .positions = "positions", .experts = "moe"};
    return good && transformer_check(out, &origin, diag);
}

bool model_native_read(struct json_value object, struct arena *arena, struct model_text *out,
                       struct diag *diag)
{
    struct model_text text = {0};
    bool good = json_check_keys(object, file_keys, diag);
    good &= json_read_string_or(object, "name", NULL, arena, &text.name, diag);
    good &= json_read_string_or(object, "source", NULL, arena, &text.source, diag);
    good &= read_u64_or_none(object, "parameters", 1, &text.parameters, diag);
    good &= read_transformer(object, arena, &text.transformer, diag);
    if (good) {
        *out = text;
    }
    return good;
}
