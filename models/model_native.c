/* A model file in the native format: a transformer in its usual terms. */
#include "models/model_inside.h"

#include <string.h>

#include "base/text.h"
#include "models/transformer_fields.h"

#define LAYERS_MAX 1000000u /* far beyond any model; keeps the chain of parts small */

const char *const model_norm_names[NORM_KIND_COUNT + 1] = {"rmsnorm", "layernorm",
                                                           "layernorm-nobias", NULL};
const char *const model_position_names[POSITION_KIND_COUNT + 1] = {"rope",  "learned",  "none",
                                                                   "alibi", "relative", NULL};

static const char *const file_keys[] = {"format",     "name",   "transformer", "graph",
                                        "parameters", "source", "notes",       NULL};
static const char *const transformer_keys[] = {
    "architecture", "layers",     "hidden", "heads",     "kv_heads",      "head_dim",
    "ffn",          "gated",      "vocab",  "positions", "max_positions", "tied_embeddings",
    "norm",         "activation", "bias",   "qk_norm",   "dropout",       "rope_base",
    "norm_epsilon", "window",     "moe",    "mixers",    "mlps",          "mla",
    "scan",         "vision",     NULL};
static const char *const bias_keys[] = {"qkv", "attention_output", "mlp", "norm", NULL};
#define KEYS_MAX 64
#define ROPE_BASE_MAX 1e12
static const char *const moe_keys[] = {"experts",     "top_k", "ffn", "shared_ffn",
                                       "first_dense", "every", NULL};

/* The given keys with those of the table of fields. */
static const char *const *add_fields(const char *const *keys, const char *object,
                                     const char *out[KEYS_MAX])
{
    uint32_t count = 0;
    for (; keys[count] != NULL; count++) {
        out[count] = keys[count];
    }
    transformer_fields_each(object, &out[count]);
    return out;
}

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
    const char *keys[KEYS_MAX];
    out->every = 1;
    if (json_is_absent(moe)) {
        return true;
    }
    if (!check_object(parent, "moe", add_fields(moe_keys, "moe", keys), diag)) {
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

/* Has some layer one of these letters? Without letters all attend, and are dense or experts. */
static bool layers_need(const struct transformer *shape, const char *letters, bool mixers)
{
    const char *own = mixers ? shape->mixers : shape->mlps;
    return own == NULL || strpbrk(own, letters) != NULL || (mixers && shape->encoder_layers > 0);
}

static bool read_letters(struct json_value object, const char *key, const char *known,
                         struct arena *arena, const char **out, struct diag *diag)
{
    if (!json_read_string_or(object, key, NULL, arena, out, diag)) {
        return false;
    }
    if (*out == NULL || ((*out)[0] != '\0' && strspn(*out, known) == strlen(*out))) {
        return true;
    }
    return diag_push(diag, DIAG_M203, json_place(json_find(object, key)), NULL,
                     "'%s' is \"%s\", must be letters of \"%s\", one per layer or a beginning "
                     "that repeats",
                     key, *out, known);
}

static bool read_sizes(struct json_value object, struct transformer *out, struct diag *diag)
{
    bool good = json_read_u32(object, "layers", 1, LAYERS_MAX, &out->layers, diag);
    good &= read_count(object, "hidden", &out->hidden, diag);
    good &= json_read_u32(object, "heads", layers_need(out, "awc", true) ? 1 : 0, UINT32_MAX,
                          &out->heads, diag);
    good &= json_read_u32(object, "ffn", layers_need(out, "d", false) ? 1 : 0, UINT32_MAX,
                          &out->ffn, diag);
    good &= read_count(object, "vocab", &out->vocab, diag);
    good &= read_u64_or_none(object, "max_positions", 0, &out->max_positions, diag);
    good &= read_u64_or_none(object, "window", 0, &out->window, diag);
    good &= json_read_double_or(object, "dropout", 0.0, 1.0, 0.0, &out->dropout_frac, diag);
    good &=
        json_read_double_or(object, "rope_base", 0.0, ROPE_BASE_MAX, 0.0, &out->rope_base, diag);
    good &= json_read_double_or(object, "norm_epsilon", 0.0, 1.0, 0.0, &out->norm_epsilon, diag);
    /* The width of a head divides the hidden width unless it is stated. */
    const uint32_t heads = good ? out->heads : 1;
    good &= heads == 0 || read_count_or(object, "kv_heads", heads, &out->kv_heads, diag);
    good &= json_read_u32_or(object, "head_dim", 1, UINT32_MAX, 0, &out->head_dim, diag);
    if (!good || out->head_dim != 0 || out->heads == 0) {
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

/* One letter per layer. */
static const char *expand(const char *letters, uint32_t layers, struct arena *arena)
{
    if (letters == NULL) {
        return NULL;
    }
    char *out = ARENA_PUSH(arena, char, (size_t)layers + 1);
    const size_t period = strlen(letters);
    for (uint32_t i = 0; i < layers; i++) {
        out[i] = letters[i % period];
    }
    out[layers] = '\0';
    return out;
}

static bool read_description(struct json_value object, struct arena *arena, struct transformer *out,
                             struct diag *diag)
{
    bool good = read_letters(object, "mixers", "awcsn", arena, &out->mixers, diag);
    good &= read_letters(object, "mlps", "den", arena, &out->mlps, diag);
    good &= transformer_fields_read(object, out, diag);
    good = good && read_sizes(object, out, diag);
    good &= read_kinds(object, arena, out, diag);
    good &= read_bias(object, out, diag);
    good &= read_moe(object, &out->moe, diag);
    if (!good) {
        return false;
    }
    const char *mixers = expand(out->mixers, out->layers, arena);
    const char *mlps = expand(out->mlps, out->layers, arena);
    transformer_set_layers(out, mixers, mlps, arena);
    return true;
}

/* A tower is a description in itself; it has no vocabulary, and no tower. */
static bool read_vision(struct json_value object, struct arena *arena,
                        struct transformer_vision *out, struct diag *diag)
{
    static const char *const own_keys[] = {"tower", NULL};
    const struct json_value vision = json_find(object, "vision");
    const char *keys[KEYS_MAX], *tower_keys[KEYS_MAX];
    if (json_is_absent(vision)) {
        return true;
    }
    if (!check_object(object, "vision", add_fields(own_keys, "vision", keys), diag)) {
        return false;
    }
    const struct json_value description = json_find(vision, "tower");
    if (!json_is_object(description)) {
        return diag_push(diag, DIAG_B106, json_place(vision), NULL,
                         "\"vision\" needs \"tower\", an object with layers, hidden, heads, ffn "
                         "and vocab 1");
    }
    struct transformer *tower = ARENA_PUSH(arena, struct transformer, 1);
    memset(tower, 0, sizeof *tower);
    if (!check_object(vision, "tower", add_fields(transformer_keys, "", tower_keys), diag) ||
        !read_description(description, arena, tower, diag)) {
        return false;
    }
    out->tower = tower;
    return true;
}

static bool read_transformer(struct json_value file, struct arena *arena, struct transformer *out,
                             struct diag *diag)
{
    const struct json_value object = json_find(file, "transformer");
    const char *keys[KEYS_MAX];
    if (json_is_absent(object)) {
        return diag_push(
            diag, DIAG_B106, json_place(file), NULL,
            "a model needs \"transformer\", an object with layers, hidden, heads, ffn and vocab");
    }
    if (!check_object(file, "transformer", add_fields(transformer_keys, "", keys), diag) ||
        !read_description(object, arena, out, diag) ||
        !read_vision(object, arena, &out->vision, diag)) {
        return false;
    }
    const struct transformer_origin origin = {
        .object = object, .kv_heads = "kv_heads", .positions = "positions", .experts = "moe"};
    return transformer_check(out, &origin, diag);
}

bool model_native_read(struct json_value object, struct arena *arena, struct model_text *out,
                       struct diag *diag)
{
    struct model_text text = {0};
    bool good = json_check_keys(object, file_keys, diag);
    good &= json_read_string_or(object, "name", NULL, arena, &text.name, diag);
    good &= json_read_string_or(object, "source", NULL, arena, &text.source, diag);
    good &= read_u64_or_none(object, "parameters", 1, &text.parameters, diag);
    text.graph = json_find(object, "graph");
    if (json_is_absent(text.graph)) {
        good &= read_transformer(object, arena, &text.transformer, diag);
    } else if (!json_is_absent(json_find(object, "transformer"))) {
        good = diag_push(diag, DIAG_M208, json_place(text.graph), NULL,
                         "a model is a \"transformer\" or a \"graph\", not both");
    }
    if (good) {
        *out = text;
    }
    return good;
}
