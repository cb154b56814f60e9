/* A Hugging Face config.json as a transformer: other names for the same sizes, then the rules of
 * its family. Defaults are those of the configuration classes of the transformers library. */
#include "models/hf_config.h"

#include <string.h>

#include "base/text.h"
#include "models/hf_family.h"
#include "models/model_inside.h"

static const char *const hidden_keys[] = {"hidden_size", "n_embd", "d_model", "dim", NULL};
static const char *const layers_keys[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                          NULL};
static const char *const heads_keys[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                         NULL};
static const char *const kv_heads_keys[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                            NULL};
static const char *const head_dim_keys[] = {"head_dim", "attention_head_dim", "kv_channels", "d_kv",
                                            NULL};
static const char *const ffn_keys[] = {"intermediate_size", "n_inner", "ffn_dim", "d_ff",
                                       "ffn_hidden_size",   NULL};
static const char *const positions_keys[] = {
    "max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length", NULL};
static const char *const activation_keys[] = {"hidden_act", "activation_function",
                                              "hidden_activation", "mlp_hidden_act", NULL};
static const char *const vocab_keys[] = {"vocab_size", "padded_vocab_size", NULL};
static const char *const text_keys[] = {"text_config", "llm_config", "language_config", NULL};
static const char *const vision_keys[] = {"vision_config", NULL};

#define EXPERT_FFN_KEY "moe_intermediate_size"

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
        if (hf_key_is_true(config->object, flags[i]) && config->family->shape.encoder_layers == 0) {
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
    if (config->family->shape.dropout_frac == 0.0 &&
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

/* fallback 0: the key must be there. */
static bool read_size(const struct hf_config *config, const char *const *names, uint32_t max,
                      uint32_t fallback, uint32_t *out)
{
    if (fallback == 0 || has_key(config->object, names)) {
        return hf_key_read_count(config, names, max, out);
    }
    *out = fallback;
    hf_key_warn_default(config, names[0], fallback);
    return true;
}

static bool read_kv_heads(const struct hf_config *config, struct transformer *out)
{
    if (has_key(config->object, kv_heads_keys)) {
        return hf_key_read_count(config, kv_heads_keys, UINT32_MAX, &out->kv_heads);
    }
    /* An explicit null means as many as heads; only an absent key takes the default. */
    const uint32_t fallback = config->family->shape.kv_heads;
    const bool absent = json_is_absent(json_find(config->object, kv_heads_keys[0]));
    out->kv_heads = absent && fallback != 0 ? fallback : out->heads;
    if (absent && fallback != 0) {
        hf_key_warn_default(config, kv_heads_keys[0], fallback);
    }
    return true;
}

static bool read_head_dim(const struct hf_config *config, struct transformer *out)
{
    if (has_key(config->object, head_dim_keys)) {
        return hf_key_read_count(config, head_dim_keys, UINT32_MAX, &out->head_dim);
    }
    const uint32_t fallback = config->family->shape.head_dim;
    if (json_is_absent(json_find(config->object, head_dim_keys[0])) && fallback != 0) {
        out->head_dim = fallback;
        hf_key_warn_default(config, head_dim_keys[0], fallback);
        return true;
    }
    if (hf_key_is_set(config->object, "kv_lora_rank")) {
        out->head_dim = 1; /* its widths are those of the latents */
        return true;
    }
    return transformer_find_head_dim(
        out, json_place(json_find(config->object, hf_key_find(config->object, hidden_keys))),
        config->diag);
}

/* Experts in every layer: the width of dense ones may be left out. */
static bool has_only_expert_ffn(const struct hf_config *config)
{
    return !has_key(config->object, ffn_keys) && hf_key_is_set(config->object, EXPERT_FFN_KEY);
}

static bool read_ffn(const struct hf_config *config, struct transformer *out)
{
    static const char *const expert_keys[] = {EXPERT_FFN_KEY, NULL};
    if (has_only_expert_ffn(config)) {
        return hf_key_read_count(config, expert_keys, UINT32_MAX, &out->ffn);
    }
    if (!config->family->wide_ffn || has_key(config->object, ffn_keys)) {
        return read_size(config, ffn_keys, UINT32_MAX, config->family->shape.ffn, &out->ffn);
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
    if (config->family->shape.positions == POSITION_LEARNED) {
        hf_key_warn_default(config, "n_positions", out->max_positions);
    }
    return true;
}

static bool read_sizes(const struct hf_config *config, struct transformer *out)
{
    const struct transformer *usual = &config->family->shape;
    const bool attends = usual->mixers == NULL;
    bool good = read_size(config, layers_keys, HF_LAYERS_MAX, usual->layers, &out->layers);
    good &= read_size(config, hidden_keys, UINT32_MAX, usual->hidden, &out->hidden);
    good &= !attends || read_size(config, heads_keys, UINT32_MAX, usual->heads, &out->heads);
    good &= read_size(config, vocab_keys, UINT32_MAX, usual->vocab, &out->vocab);
    if (!good || !attends) {
        return good;
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
    if (strncmp(name, "gelu", 4) == 0 || strcmp(name, "quick_gelu") == 0) {
        return "gelu";
    }
    return strcmp(name, "swish") == 0 ? "silu" : name;
}

/* 0 where no key states it as a number above 0. */
static double find_constant(struct json_value object, const char *const *names)
{
    double value = 0.0;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (json_value_double(json_find(object, names[i]), &value) && value > 0.0) {
            return value;
        }
    }
    return 0.0;
}

/* What takes no time, and is handed on. */
static void read_constants(const struct hf_config *config, struct transformer *out)
{
    static const char *const bases[] = {"rope_theta", "rotary_emb_base", NULL};
    static const char *const epsilons[] = {"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps",
                                           "norm_epsilon", "norm_eps",           NULL};
    const struct json_value parameters = json_find(config->object, "rope_parameters");
    if (out->positions == POSITION_ROPE) {
        out->rope_base = find_constant(config->object, bases);
        if (out->rope_base == 0.0 && json_is_object(parameters)) {
            out->rope_base = find_constant(parameters, bases);
        }
    }
    out->norm_epsilon = find_constant(config->object, epsilons);
}

static bool read_kinds(const struct hf_config *config, struct transformer *out)
{
    const char *activation = NULL;
    const bool outside = !json_is_null(json_find(config->file, "tie_word_embeddings")) &&
                         json_is_null(json_find(config->object, "tie_word_embeddings"));
    bool good = json_read_string_or(config->object, hf_key_find(config->object, activation_keys),
                                    out->activation, config->arena, &activation, config->diag);
    good &= json_read_bool_or(outside ? config->file : config->object, "tie_word_embeddings",
                              out->tied_embeddings, &out->tied_embeddings, config->diag);
    out->activation = good ? activation_of(activation) : NULL;
    return good;
}

/* --- families --------------------------------------------------------------------------------- */

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

static bool is_listed(const char *name, const char *const *names)
{
    for (uint32_t i = 0; i < HF_NAMES_MAX && names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static const struct hf_family *find_type(const char *type)
{
    for (uint32_t i = 0; type != NULL && i < hf_family_table_count; i++) {
        if (is_listed(type, hf_family_table[i]->types)) {
            return hf_family_table[i];
        }
    }
    return NULL;
}

static const struct hf_family *find_class(const char *name)
{
    for (uint32_t i = 0; name != NULL && i < hf_family_table_count; i++) {
        if (is_listed(name, hf_family_table[i]->architectures)) {
            return hf_family_table[i];
        }
    }
    return NULL;
}

/* By "model_type", else by the class that "architectures" names. */
static const struct hf_family *find_family(struct json_value object)
{
    const char *type = NULL;
    return json_value_string(json_find(object, "model_type"), &type)
               ? find_type(type)
               : find_class(first_architecture(object));
}

/* All that are supported, by the key that the file has. */
static const char *list_supported(bool classes, const char **names, uint32_t *count,
                                  struct arena *arena)
{
    struct text supported;
    text_init(&supported, arena);
    *count = 0;
    for (uint32_t i = 0; i < hf_family_table_count; i++) {
        const char *const *own =
            classes ? hf_family_table[i]->architectures : hf_family_table[i]->types;
        for (uint32_t k = 0; k < HF_NAMES_MAX && own[k] != NULL; k++) {
            text_push(&supported, "%s%s", *count == 0 ? "" : ", ", own[k]);
            names[(*count)++] = own[k];
        }
    }
    return supported.bytes;
}

static bool refuse_type(struct json_value object, struct diag *diag)
{
    const bool classes = json_is_absent(json_find(object, "model_type"));
    const char *key = classes ? "architectures" : "model_type";
    const char **names =
        ARENA_PUSH(diag->arena, const char *, (size_t)hf_family_table_count *HF_NAMES_MAX);
    uint32_t count = 0;
    const char *supported = list_supported(classes, names, &count, diag->arena);
    const struct json_value value = json_find(object, key);
    const char *type = classes ? first_architecture(object) : NULL;
    if (!classes) {
        json_value_string(value, &type);
    }
    const char *nearest = type != NULL ? text_find_nearest(type, names, count) : NULL;
    return diag_push(diag, DIAG_M202, json_place(value),
                     nearest == NULL ? NULL
                                     : text_build(diag->arena, "did you mean '%s'?", nearest),
                     "%s %s is not supported; these are: %s", key,
                     json_value_text(value, diag->arena), supported);
}

/* Does the class end in one of the heads that are modelled? */
static bool has_supported_head(const struct hf_family *family, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = family->supported_heads; *at != '\0';) {
        const size_t end = strcspn(at, " ");
        if (length >= end && memcmp(name + length - end, at, end) == 0) {
            return true;
        }
        at += end + strspn(at + end, " ");
    }
    return false;
}

/* GPT2Model, the stack below GPT2LMHeadModel. */
static bool has_no_head(const char *name)
{
    static const char *const heads[] = {"LMHeadModel", "WithLMHeadModel", "Model"};
    const size_t length = strlen(name);
    for (uint32_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        const size_t end = strlen(heads[i]);
        if (length > end && strcmp(name + length - end, heads[i]) == 0) {
            return strcmp(heads[i], "Model") == 0;
        }
    }
    return false;
}

/* A class of another family, or one whose head is another than the family's. */
static bool check_class(const struct hf_config *config)
{
    const char *name = first_architecture(config->file);
    const struct hf_family *other = find_class(name);
    if (name == NULL || !json_is_object(config->file)) {
        return true;
    }
    const bool nested = config->object.node != config->file.node;
    if (!nested && other != NULL && other != config->family) {
        return hf_key_refuse(config, "architectures",
                             text_build(config->diag->arena,
                                        "names %s, which is of model_type %s; one of the two is "
                                        "wrong",
                                        name, other->types[0]));
    }
    if (config->family->supported_heads != NULL && !has_supported_head(config->family, name)) {
        return hf_key_refuse(config, "architectures",
                             text_build(config->diag->arena,
                                        "the head of %s is not modelled; these are: %s", name,
                                        config->family->supported_heads));
    }
    if (!nested && (other == NULL || has_no_head(name))) {
        hf_key_warn(config, "architectures",
                    text_build(config->diag->arena, "%s is counted with the output matrix of %s",
                               name, config->family->architectures[0]));
    }
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

bool hf_config_fits(struct json_value object)
{
    return !json_is_absent(json_find(object, "model_type")) ||
           !json_is_absent(json_find(object, "architectures"));
}

static bool apply_rules(struct hf_config *config, struct transformer *out)
{
    const size_t room = (size_t)out->layers + 1;
    config->mixers = ARENA_PUSH(config->arena, char, room);
    config->mlps = ARENA_PUSH(config->arena, char, room);
    memset(config->mixers, 0, room);
    memset(config->mlps, 0, room);
    bool good = true;
    for (uint32_t i = 0; i < HF_RULES_MAX && config->family->rules[i] != NULL; i++) {
        good = good && config->family->rules[i](config, out);
    }
    const char *mixers = config->mixers[0] != '\0' ? config->mixers : NULL;
    const char *mlps = config->mlps[0] != '\0' ? config->mlps : NULL;
    const struct transformer before = *out;
    if (good && (mixers != NULL || mlps != NULL)) {
        transformer_set_layers(out, mixers, mlps, config->arena);
        out->mixers = mixers != NULL ? out->mixers : before.mixers;
        out->mlps = mlps != NULL ? out->mlps : before.mlps;
    }
    return good;
}

static bool check_dense_width(const struct hf_config *config, const struct transformer *shape)
{
    for (uint32_t i = 0; i < shape->layers && has_only_expert_ffn(config); i++) {
        if (transformer_mlp(shape, i) == 'd') {
            return hf_key_refuse(config, EXPERT_FFN_KEY,
                                 text_build(config->diag->arena,
                                            "is the width of experts, but layer %u has none; "
                                            "'%s' must say the width of dense layers",
                                            i, ffn_keys[0]));
        }
    }
    return true;
}

/* What the family says, with the file's sizes. */
static bool read_text(struct hf_config *config, struct transformer *out)
{
    *out = config->family->shape;
    out->architecture = config->family->types[0];
    out->moe.every = out->moe.every == 0 ? 1 : out->moe.every;
    bool good = check_flags(config) && check_class(config);
    good &= read_sizes(config, out) && read_kinds(config, out);
    good = good && apply_rules(config, out) && check_dense_width(config, out);
    read_constants(config, out);
    return good;
}

/* The object of the text model, and whose rules it follows. */
static struct json_value find_text(struct json_value object, const struct hf_family *outer,
                                   const struct hf_family **family)
{
    const struct json_value inner = json_find(object, hf_key_find(object, text_keys));
    *family = outer;
    if (!json_is_object(inner)) {
        return object;
    }
    const struct hf_family *own = find_family(inner);
    if (own != NULL) {
        *family = own;
    } else if (outer->text != NULL && json_is_absent(json_find(inner, "model_type"))) {
        *family = find_type(outer->text);
    }
    return inner;
}

static bool read_vision(const struct hf_config *config, const struct hf_family *outer,
                        struct transformer *out)
{
    const struct json_value vision = json_find(config->file, vision_keys[0]);
    if (outer->sees != NULL) {
        if (json_is_object(vision)) {
            return outer->sees(config, vision, out);
        }
        hf_key_warn(config, vision_keys[0], "absent: the text model alone is counted");
    } else if (json_is_object(vision)) {
        return hf_key_refuse(config, vision_keys[0], "a vision tower of this type is not modelled");
    }
    return true;
}

/* A type that has no text model of its own. */
static bool refuse_wrapper(const struct hf_config *config, const struct hf_family *outer)
{
    const struct json_value inner = json_find(config->file, text_keys[0]);
    const char *type = outer->types[0];
    if (json_is_object(inner)) {
        return refuse_type(config->object, config->diag);
    }
    json_value_string(json_find(config->file, "model_type"), &type);
    return diag_push(config->diag, DIAG_M202, json_place(config->file),
                     "the configuration of the text model as text_config, with its model_type",
                     "a %s model wraps a text model, which the file does not describe: %s is %s",
                     type, text_keys[0], json_is_absent(inner) ? "absent" : "no object");
}

bool hf_config_read(struct json_value object, struct arena *arena, struct transformer *out,
                    struct diag *diag)
{
    const struct hf_family *outer = find_family(object);
    struct hf_config config = {.file = object, .arena = arena, .diag = diag};
    struct transformer shape;
    if (outer == NULL) {
        return refuse_type(object, diag);
    }
    config.object = find_text(object, outer, &config.family);
    if (config.family->shape.activation == NULL) {
        return refuse_wrapper(&config, outer);
    }
    const struct transformer_origin origin = {
        .object = config.object,
        .kv_heads = hf_key_find(config.object, kv_heads_keys),
        .positions = hf_key_find(config.object, positions_keys),
        .experts = "num_experts_per_tok",
    };
    if (!read_text(&config, &shape) || !read_vision(&config, outer, &shape) ||
        !transformer_check(&shape, &origin, diag)) {
        return false;
    }
    shape.architecture = outer->types[0];
    warn_of_others(&config);
    *out = shape;
    return true;
}
