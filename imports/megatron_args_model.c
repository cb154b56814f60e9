/* The model that the flags of Megatron-LM describe, as a native description. */
#include <string.h>

#include "imports/megatron_args.h"

#define PATTERN_MAX 4096u /* layers with a pattern of experts */

static const char *stem(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    const size_t length = dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name);
    return strcmp(path, "-") == 0 ? "model" : text_build_copy(arena, name, length);
}

/* --- layers with experts ---------------------------------------------------------------------- */

struct pattern {
    const char *at;
    uint8_t *layers;
    uint32_t count, room;
};

static bool read_number(struct pattern *pattern, uint32_t *out)
{
    uint32_t value = 0, digits = 0;
    while (*pattern->at >= '0' && *pattern->at <= '9' && digits++ < 6) {
        value = 10 * value + (uint32_t)(*pattern->at++ - '0');
    }
    *out = value;
    return digits > 0;
}

static bool read_sum(struct pattern *pattern, uint32_t depth);

/* [0,1] or (sum), any number of times n. */
static bool read_factor(struct pattern *pattern, uint32_t depth)
{
    const uint32_t begin = pattern->count;
    const char open = *pattern->at++;
    uint32_t value, times;
    if (open == '(') {
        if (depth == 8 || !read_sum(pattern, depth + 1) || *pattern->at++ != ')') {
            return false;
        }
    } else if (open == '[') {
        do {
            if (!read_number(pattern, &value) || value > 1 || pattern->count == pattern->room) {
                return false;
            }
            pattern->layers[pattern->count++] = (uint8_t)value;
        } while (*pattern->at++ == ',');
        if (pattern->at[-1] != ']') {
            return false;
        }
    } else {
        return false;
    }
    while (*pattern->at == '*') {
        const uint32_t once = pattern->count - begin;
        pattern->at++;
        if (!read_number(pattern, &times) ||
            (uint64_t)once * times > pattern->room - (uint64_t)begin) {
            return false;
        }
        for (uint32_t i = once; i < once * times; i++) {
            pattern->layers[begin + i] = pattern->layers[begin + i % once];
        }
        pattern->count = begin + once * times;
    }
    return true;
}

static bool read_sum(struct pattern *pattern, uint32_t depth)
{
    bool good = read_factor(pattern, depth);
    while (good && *pattern->at == '+') {
        pattern->at++;
        good = read_factor(pattern, depth);
    }
    return good;
}

bool megatron_args_read_pattern(const char *text, uint32_t layers, uint8_t *out, uint32_t *count)
{
    struct pattern pattern = {.at = text, .layers = out, .room = layers};
    uint32_t every;
    if (text[0] >= '0' && text[0] <= '9') {
        if (!read_number(&pattern, &every) || *pattern.at != '\0' || every == 0) {
            return false;
        }
        for (uint32_t i = 0; i < layers; i++) {
            out[i] = i % every == 0;
        }
        *count = layers;
        return true;
    }
    const bool good = read_sum(&pattern, 0) && *pattern.at == '\0';
    *count = pattern.count;
    return good;
}

/* The description has dense layers first, then the last of every so many. */
static bool find_period(const uint8_t *layers, uint32_t count, uint32_t *first_dense,
                        uint32_t *every)
{
    for (uint32_t period = 1; period <= count; period++) {
        for (uint32_t first = 0; first < count; first++) {
            uint32_t i = 0;
            while (i < count && layers[i] == (i >= first && (i - first) % period == period - 1)) {
                i++;
            }
            if (i == count) {
                *first_dense = first;
                *every = period;
                return true;
            }
        }
    }
    return false;
}

/* letters: of a pattern that says which layers have experts, NULL: --moe-layer-freq does. */
static void push_experts(struct configuration *configuration, uint64_t layers, const char *letters,
                         uint64_t ffn, struct json_writer *out)
{
    const uint64_t experts = configuration_take_count(configuration, "num-experts", 0);
    const uint64_t top_k = configuration_take_count(configuration, "moe-router-topk", 2);
    const uint64_t width = configuration_take_count(configuration, "moe-ffn-hidden-size", ffn);
    const uint64_t shared =
        configuration_take_count(configuration, "moe-shared-expert-intermediate-size", 0);
    const char *freq = configuration_take_word(configuration, "moe-layer-freq", "1");
    const bool bias =
        configuration_take_switch(configuration, "moe-router-enable-expert-bias", false);
    const bool gate = configuration_take_switch(configuration, "moe-shared-expert-gate", false);
    uint32_t first_dense = 0, every = 1, count = 0;
    if (experts == 0 || (letters != NULL && strchr(letters, 'E') == NULL)) {
        return;
    }
    uint8_t *pattern = ARENA_PUSH(configuration->arena, uint8_t, PATTERN_MAX);
    if (letters != NULL) {
        count = 0;
    } else if (layers > PATTERN_MAX ||
               !megatron_args_read_pattern(freq, (uint32_t)layers, pattern, &count) ||
               count != layers) {
        configuration_refuse(configuration, DIAG_X663, "moe-layer-freq",
                             "a number, or a list such as ([0]*3+[1]*58) of as many as layers",
                             "--moe-layer-freq is '%s', which says nothing for %llu layers", freq,
                             (unsigned long long)layers);
        return;
    }
    if (letters == NULL && !find_period(pattern, count, &first_dense, &every)) {
        configuration_refuse(configuration, DIAG_X664, "moe-layer-freq",
                             "dense layers first, then the last of every so many",
                             "layers with experts at such places ('%s') are not read", freq);
        return;
    }
    json_push_key(out, "moe");
    json_push_object(out);
    json_push_key_u64(out, "experts", experts);
    json_push_key_u64(out, "top_k", top_k);
    json_push_key_u64(out, "ffn", width);
    json_push_key_u64(out, "shared_ffn", shared);
    json_push_key_u64(out, "first_dense", first_dense);
    json_push_key_u64(out, "every", every);
    json_push_key_bool(out, "router_bias", bias);
    json_push_key_bool(out, "shared_gate", gate);
    json_pop_object(out);
}

/* --- the rest --------------------------------------------------------------------------------- */

/* "(127,0)": as many keys to the left, none to the right. */
static uint64_t read_window(struct configuration *configuration)
{
    const char *text = configuration_take_word(configuration, "window-size", NULL);
    uint64_t left = 0;
    if (text == NULL) {
        return 0;
    }
    const char *at = text + strspn(text, "( ");
    while (*at >= '0' && *at <= '9' && left < UINT64_C(1) << 40) {
        left = 10 * left + (uint64_t)(*at++ - '0');
    }
    at += strspn(at, ", ");
    if (at[0] != '0' || at[1 + strspn(at + 1, ") ")] != '\0') {
        configuration_refuse(configuration, DIAG_X664, "window-size", "(N,0)",
                             "a window '%s' is not read", text);
    }
    return left + 1;
}

/* The parser's own widths where they are not given (arguments.py). */
static void push_latents(struct configuration *configuration, struct json_writer *out)
{
    static const struct {
        const char *flag, *key;
        uint64_t usual;
    } widths[] = {{"kv-lora-rank", "kv_rank", 32},
                  {"q-lora-rank", "q_rank", 0},
                  {"qk-head-dim", "nope_dim", 128},
                  {"qk-pos-emb-head-dim", "rope_dim", 64},
                  {"v-head-dim", "value_dim", 128}};
    json_push_key(out, "mla");
    json_push_object(out);
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        json_push_key_u64(out, widths[i].key,
                          configuration_take_count(configuration, widths[i].flag, widths[i].usual));
    }
    json_pop_object(out);
}

static void push_attention(struct configuration *configuration, uint64_t hidden,
                           struct json_writer *out)
{
    const uint64_t heads = configuration_take_count(configuration, "num-attention-heads", 0);
    const bool grouped = configuration_take_switch(configuration, "group-query-attention", false);
    const uint64_t groups = configuration_take_count(configuration, "num-query-groups", 1);
    const uint64_t channels =
        configuration_take_count(configuration, "kv-channels", heads == 0 ? 0 : hidden / heads);
    const bool norm = configuration_take_switch(configuration, "qk-layernorm", false);
    const uint64_t window = read_window(configuration);
    const bool latent = configuration_take_switch(configuration, "multi-latent-attention", false);
    if (heads > 0 && !setting_find(&configuration->settings, "kv-channels") &&
        hidden % heads != 0) {
        configuration_refuse(configuration, DIAG_X663, "num-attention-heads",
                             "give --kv-channels, or heads that divide the hidden size",
                             "%llu heads do not divide a hidden size of %llu",
                             (unsigned long long)heads, (unsigned long long)hidden);
    }
    json_push_key_u64(out, "heads", heads);
    json_push_key_u64(out, "kv_heads", grouped ? groups : heads);
    json_push_key_u64(out, "head_dim", channels);
    json_push_key_bool(out, "qk_norm", norm && !latent);
    json_push_key_u64(out, "window", window);
    if (latent) {
        push_latents(configuration, out);
    }
}

/* Megatron's own default widths. */
static uint64_t push_mlp(struct configuration *configuration, uint64_t hidden,
                         struct json_writer *out)
{
    const bool gated = configuration_take_switch(configuration, "swiglu", false);
    const bool squared = configuration_take_switch(configuration, "squared-relu", false);
    const uint64_t usual = gated ? 4 * hidden * 2 / 3 / 64 * 64 : 4 * hidden;
    const uint64_t ffn = configuration_take_count(configuration, "ffn-hidden-size", usual);
    json_push_key_u64(out, "ffn", ffn);
    json_push_key_bool(out, "gated", gated);
    json_push_key_string(out, "activation", gated ? "silu" : squared ? "relu2" : "gelu");
    return ffn;
}

static void push_bias(struct configuration *configuration, bool layer_norm, struct json_writer *out)
{
    const bool none = configuration_take_switch(configuration, "disable-bias-linear", false);
    const bool qkv = configuration_take_switch(configuration, "add-qkv-bias", false);
    json_push_key(out, "bias");
    json_push_object(out);
    json_push_key_bool(out, "qkv", !none || qkv);
    json_push_key_bool(out, "attention_output", !none);
    json_push_key_bool(out, "mlp", !none);
    json_push_key_bool(out, "norm", layer_norm);
    json_pop_object(out);
}

static void push_positions(struct configuration *configuration, struct json_writer *out)
{
    static const char *const words[][2] = {
        {"rope", "rope"}, {"learned_absolute", "learned"}, {"none", "none"}};
    const char *kind =
        configuration_take_word(configuration, "position-embedding-type", "learned_absolute");
    const uint64_t most = configuration_take_count(configuration, "max-position-embeddings", 0);
    const uint64_t length = configuration_take_count(configuration, "seq-length", 0);
    const char *word = NULL;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        word = strcmp(words[i][0], kind) == 0 ? words[i][1] : word;
    }
    if (word == NULL) {
        configuration_refuse(configuration, DIAG_X664, "position-embedding-type", NULL,
                             "positions of kind '%s' are not read", kind);
    }
    if (most < length) {
        configuration_refuse(configuration, DIAG_X663, "max-position-embeddings",
                             text_build(configuration->arena, "--max-position-embeddings %llu",
                                        (unsigned long long)length),
                             "sequences of %llu tokens are longer than %llu positions",
                             (unsigned long long)length, (unsigned long long)most);
    }
    const double base = configuration_take_number(configuration, "rotary-base", 0.0);
    const double epsilon = configuration_take_number(configuration, "norm-epsilon", 0.0);
    json_push_key_string(out, "positions", word == NULL ? "rope" : word);
    if (base > 0.0 && word != NULL && strcmp(word, "rope") == 0) {
        json_push_key_double(out, "rope_base", base);
    }
    if (epsilon > 0.0) {
        json_push_key_double(out, "norm_epsilon", epsilon);
    }
    json_push_key_u64(out, "max_positions", most);
}

static uint64_t take_vocab(struct configuration *configuration)
{
    const uint64_t vocab = configuration_take_count(configuration, "vocab-size", 0);
    const uint64_t padded = configuration_take_count(configuration, "padded-vocab-size", vocab);
    if (padded == 0) {
        configuration_refuse(configuration, DIAG_X666, NULL,
                             "give --model, or write --vocab-size into the file",
                             "the size of the vocabulary comes from a tokenizer that is not here");
    }
    return vocab == 0 ? padded : vocab;
}

static void push_transformer(struct configuration *configuration, struct json_writer *out)
{
    const char *letters = megatron_args_find_hybrid(configuration);
    const uint64_t stated = configuration_take_count(configuration, "num-layers", 0);
    const uint64_t layers = letters == NULL ? stated : strlen(letters);
    if (stated != 0 && stated != layers) {
        configuration_refuse(configuration, DIAG_X663, "num-layers", NULL,
                             "--num-layers is %llu, the pattern of layers has %llu",
                             (unsigned long long)stated, (unsigned long long)layers);
    }
    const uint64_t hidden = configuration_take_count(configuration, "hidden-size", 0);
    const bool rms = strcmp(configuration_take_word(configuration, "normalization", "LayerNorm"),
                            "RMSNorm") == 0;
    json_push_key_u64(out, "layers", layers);
    json_push_key_u64(out, "hidden", hidden);
    push_attention(configuration, hidden, out);
    const uint64_t ffn = push_mlp(configuration, hidden, out);
    json_push_key_u64(out, "vocab", take_vocab(configuration));
    push_positions(configuration, out);
    json_push_key_bool(
        out, "tied_embeddings",
        !configuration_take_switch(configuration, "untie-embeddings-and-output-weights", false));
    json_push_key_string(out, "norm", rms ? "rmsnorm" : "layernorm");
    push_bias(configuration, !rms, out);
    const double attention = configuration_take_number(configuration, "attention-dropout", 0.1);
    const double other = configuration_take_number(configuration, "hidden-dropout", 0.1);
    json_push_key_double(out, "dropout", attention > other ? attention : other);
    push_experts(configuration, layers, letters, ffn, out);
    if (letters != NULL) {
        megatron_args_push_hybrid(configuration, letters, hidden, out);
    }
    json_push_key_u64(out, "mtp_layers",
                      configuration_take_count(configuration, "mtp-num-layers", 0));
}

static bool read_described(struct configuration *configuration)
{
    struct text text;
    struct json_writer out;
    struct json *document = NULL;
    text_init(&text, configuration->arena);
    json_writer_init(&out, &text, false);
    json_push_object(&out);
    json_push_key_string(&out, "format", "shardplan/model/1");
    json_push_key_string(&out, "name", stem(configuration->request->path, configuration->arena));
    json_push_key(&out, "transformer");
    json_push_object(&out);
    push_transformer(configuration, &out);
    json_pop_object(&out);
    json_push_key_string(&out, "source", "flags of Megatron-LM");
    json_pop_object(&out);
    if (!configuration->good) {
        return false;
    }
    if (!json_open_text("the model of the flags", text.bytes, text.length, false,
                        configuration->arena, &document, configuration->diag)) {
        return false;
    }
    const bool good = model_read_json(json_root(document), "model", configuration->arena,
                                      &configuration->model, configuration->diag);
    json_close(document);
    return good;
}

/* Flags beside a model that is named must not contradict it. */
static bool read_named(struct configuration *configuration)
{
    static const char *const shape[] = {"hidden-size",
                                        "ffn-hidden-size",
                                        "num-attention-heads",
                                        "group-query-attention",
                                        "num-query-groups",
                                        "kv-channels",
                                        "qk-layernorm",
                                        "swiglu",
                                        "squared-relu",
                                        "vocab-size",
                                        "position-embedding-type",
                                        "normalization",
                                        "untie-embeddings-and-output-weights",
                                        "disable-bias-linear",
                                        "add-qkv-bias",
                                        "num-experts",
                                        "moe-ffn-hidden-size",
                                        "moe-layer-freq",
                                        "moe-shared-expert",
                                        "max-position-embeddings",
                                        "attention-dropout",
                                        "hidden-dropout",
                                        "padded-vocab-size",
                                        "multi-latent-attention",
                                        "q-lora-rank",
                                        "kv-lora-rank",
                                        "qk-head-dim",
                                        "qk-pos-emb",
                                        "v-head-dim",
                                        "mtp-",
                                        "window-size",
                                        NULL};
    if (!model_read(configuration->request->model, configuration->arena, &configuration->model,
                    configuration->diag)) {
        return false;
    }
    const uint64_t layers = plan_count_layers(&configuration->model);
    const uint64_t given = configuration_take_count(configuration, "num-layers", layers);
    configuration_skip(configuration, shape);
    if (given != layers) {
        configuration_refuse(configuration, DIAG_X663, "num-layers", "leave --model out",
                             "the flags describe %llu layers, model '%s' has %llu",
                             (unsigned long long)given, configuration->model.name,
                             (unsigned long long)layers);
    }
    return true;
}

bool megatron_args_read_model(struct configuration *configuration)
{
    return configuration->request->model != NULL ? read_named(configuration)
                                                 : read_described(configuration);
}
