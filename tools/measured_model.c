/* The model of a row as native JSON: sizes from the columns, the rest from what the sizes imply. */
#include "tools/measured.h"

#include <string.h>

/* What published models of a kind have in common beyond the columns.
 *
 * GPT-2 and its descendants (not gated, one key head per query head): layer norms, biases, learned
 * positions, tied embeddings (arXiv 2005.14165, Megatron-LM); dropout of 0.1 was trained with until
 * flash attention came, so where the attention column says "unfused". MPT has no biases and ALiBi
 * (llm-foundry configs). All others: RMS norms, rotations, no biases (Llama, Qwen, Nemotron). */
struct style {
    const char *norm, *positions, *activation;
    bool biases, tied;
    double dropout_frac;
};

static struct style style_of(const struct measured *row)
{
    static const char *const unfused[] = {"unfused", NULL};
    static const char *const without_biases[] = {"mpt", NULL};
    const bool grouped = row->kv_heads > 0 && row->kv_heads < row->heads;
    if (row->gated || grouped) {
        return (struct style){
            .norm = "rmsnorm", .positions = "rope", .activation = row->gated ? "silu" : "relu2"};
    }
    struct style style = {.norm = "layernorm",
                          .positions = "learned",
                          .activation = "gelu",
                          .biases = true,
                          .tied = true};
    if (measured_find_word(row->attention, unfused) != NULL) {
        style.dropout_frac = 0.1;
    }
    if (measured_find_word(row->model, without_biases) != NULL) {
        style.biases = false;
        style.positions = "none";
    }
    return style;
}

static void push_moe(const struct measured *row, struct json_writer *out)
{
    /* dense layers lead, but for models that alternate (half of the layers dense) */
    const bool alternates = row->dense_layers > 0 && row->dense_layers * 2 == row->layers;
    json_push_key(out, "moe");
    json_push_object(out);
    json_push_key_u64(out, "experts", row->experts);
    json_push_key_u64(out, "top_k", row->top_k);
    json_push_key_u64(out, "ffn", row->moe_ffn);
    json_push_key_u64(out, "shared_ffn", row->shared_ffn);
    json_push_key_u64(out, "first_dense", alternates ? 0 : row->dense_layers);
    json_push_key_u64(out, "every", alternates ? 2 : 1);
    json_pop_object(out);
}

static void push_bias(bool biases, struct json_writer *out)
{
    json_push_key(out, "bias");
    json_push_object(out);
    json_push_key_bool(out, "qkv", biases);
    json_push_key_bool(out, "attention_output", biases);
    json_push_key_bool(out, "mlp", biases);
    json_pop_object(out);
}

/* Published models with latent attention share these sizes (DeepSeek-V2, V3, Kimi K2: their
 * config.json); the columns have none of them. */
static void push_latents(struct json_writer *out)
{
    json_push_key(out, "mla");
    json_push_object(out);
    json_push_key_u64(out, "kv_rank", 512);
    json_push_key_u64(out, "q_rank", 1536);
    json_push_key_u64(out, "nope_dim", 128);
    json_push_key_u64(out, "rope_dim", 64);
    json_push_key_u64(out, "value_dim", 128);
    json_pop_object(out);
}

/* Every second layer sees a window of 128 keys, the others all (gpt-oss: its config.json). */
static void push_windows(struct json_writer *out)
{
    json_push_key_u64(out, "window", 128);
    json_push_key_string(out, "mixers", "wa");
}

static bool is_arch(const struct measured *row, const char *arch)
{
    return strcmp(row->arch, arch) == 0;
}

#define LATENT "moe-mla"
#define WINDOWED "moe-swa"

static void push_sizes(const struct measured *row, struct json_writer *out)
{
    const uint32_t kv_heads = row->kv_heads > 0 ? row->kv_heads : row->heads;
    json_push_key_u64(out, "layers", row->layers);
    json_push_key_u64(out, "hidden", row->hidden);
    json_push_key_u64(out, "heads", row->heads);
    json_push_key_u64(out, "kv_heads", kv_heads);
    if (is_arch(row, LATENT)) {
        json_push_key_u64(out, "head_dim", 128); /* the column divides the width by the heads */
    } else if (row->head_dim > 0) {
        json_push_key_u64(out, "head_dim", row->head_dim);
    }
    json_push_key_u64(out, "ffn", row->ffn > 0 ? row->ffn : row->moe_ffn);
    json_push_key_u64(out, "vocab", row->vocab);
}

/* DeepSeek-V3 predicts one token more (config.json: num_nextn_predict_layers). The recipes of NeMo
 * and Megatron-Bridge train that (mtp_num_layers 1), unless they say otherwise; reduced models and
 * other frameworks do not. */
static bool predicts_further(const struct measured *row)
{
    static const char *const models[] = {"deepseek-v3", NULL};
    static const char *const recipes[] = {"NeMo", "Megatron-Bridge", NULL};
    static const char *const without[] = {"w/o MTP", NULL};
    return is_arch(row, LATENT) && measured_find_word(row->model, models) != NULL &&
           measured_find_word(row->framework, recipes) != NULL &&
           measured_find_word(row->notes, without) == NULL;
}

static void push_transformer(const struct measured *row, struct json_writer *out)
{
    const struct style style = style_of(row);
    json_push_object(out);
    push_sizes(row, out);
    json_push_key_bool(out, "gated", row->gated);
    json_push_key_string(out, "positions", style.positions);
    json_push_key_u64(out, "max_positions", row->seq_length);
    json_push_key_bool(out, "tied_embeddings", style.tied);
    json_push_key_string(out, "norm", style.norm);
    json_push_key_string(out, "activation", style.activation);
    push_bias(style.biases, out);
    json_push_key_double(out, "dropout", style.dropout_frac);
    if (row->experts > 0) {
        push_moe(row, out);
    }
    if (is_arch(row, LATENT)) {
        push_latents(out);
        json_push_key_u64(out, "mtp_layers", predicts_further(row) ? 1 : 0);
    } else if (is_arch(row, WINDOWED)) {
        push_windows(out);
    }
    json_pop_object(out);
}

/* Kinds of layers that the columns cannot describe in full. */
static const char *missing_of(const struct measured *row, struct arena *arena)
{
    static const char *const known[] = {"dense", "moe", LATENT, WINDOWED, "", NULL};
    for (uint32_t i = 0; known[i] != NULL; i++) {
        if (is_arch(row, known[i])) {
            return NULL;
        }
    }
    return text_build(arena, "layers of kind '%s' cannot be built from the columns", row->arch);
}

const char *measured_model_text(const struct measured *row, struct arena *arena,
                                const char **reason)
{
    struct text text;
    struct json_writer out;
    if (row->layers == 0 || row->hidden == 0 || row->heads == 0 || row->vocab == 0 ||
        (row->ffn == 0 && row->moe_ffn == 0)) {
        *reason = "layers, hidden, heads, ffn or vocab is not given";
        return NULL;
    }
    *reason = missing_of(row, arena);
    if (*reason != NULL) {
        return NULL;
    }
    text_init(&text, arena);
    json_writer_init(&out, &text, true);
    json_push_object(&out);
    json_push_key_string(&out, "format", "shardplan/model/1");
    json_push_key_string(&out, "name", row->model[0] != '\0' ? row->model : "row");
    json_push_key(&out, "transformer");
    push_transformer(row, &out);
    json_pop_object(&out);
    return text.bytes;
}
