/* A config.json means what the transformers library makes of it; what is not modelled is said. */
#include "models/hf_config.h"

#include <string.h>

#include "models/model.h"
#include "tests/fresh.h"

/* Sizes that every family accepts; the rest of the object follows. */
#define CONFIG(type, more) \
    "{\"model_type\": \"" type \
    "\", \"hidden_size\": 256, \"intermediate_size\": 512, \"num_hidden_layers\": 4," \
    " \"num_attention_heads\": 8, \"vocab_size\": 100" more "}"
#define KV ", \"num_key_value_heads\": 2"
#define MOE \
    ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64, " \
    "\"head_dim\": 64" KV

static bool read_text(const char *text, struct transformer *out)
{
    struct model model;
    struct json *document;
    begin();
    ck_assert_msg(json_open_text("config.json", text, strlen(text), true, &arena, &document, &diag),
                  "%s", text);
    const bool good = model_read_json(json_root(document), "m", &arena, &model, &diag);
    json_close(document);
    if (good) {
        *out = *model.transformer;
    }
    return good;
}

static struct transformer read_good(const char *text)
{
    struct transformer shape;
    ck_assert_msg(read_text(text, &shape), "%s: %s", text, diag.entries[0].message);
    return shape;
}

/* --- what a family leaves unsaid -------------------------------------------------------------- */

START_TEST(families_have_their_biases_and_norms)
{
    static const struct {
        const char *text;
        bool qkv, output, mlp, qk_norm;
    } rows[] = {
        {CONFIG("llama", ""), false, false, false, false},
        {CONFIG("llama", ", \"attention_bias\": true"), true, true, false, false},
        {CONFIG("llama", ", \"mlp_bias\": true"), false, false, true, false},
        {CONFIG("mistral", KV ", \"sliding_window\": null"), false, false, false, false},
        {CONFIG("qwen2", KV), true, false, false, false},
        {CONFIG("qwen3", KV ", \"head_dim\": 64"), false, false, false, true},
        {CONFIG("qwen3", KV ", \"head_dim\": 64, \"attention_bias\": true"), true, true, false,
         true},
        {CONFIG("qwen3_moe", MOE), false, false, false, true},
        {CONFIG("gpt2", ", \"n_positions\": 64"), true, true, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct transformer shape = read_good(rows[i].text);
        ck_assert_msg(shape.qkv_bias == rows[i].qkv &&
                          shape.attention_output_bias == rows[i].output &&
                          shape.mlp_bias == rows[i].mlp && shape.qk_norm == rows[i].qk_norm,
                      "%s", rows[i].text);
        ck_assert_msg(diag.kept == 0, "%s: %s", rows[i].text, diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(heads_default_as_in_the_library)
{
    static const struct {
        const char *text;
        uint32_t kv_heads, head_dim, warnings;
    } rows[] = {
        {CONFIG("llama", ""), 8, 32, 0},
        {CONFIG("llama", ", \"num_key_value_heads\": null, \"head_dim\": null"), 8, 32, 0},
        {CONFIG("llama", KV ", \"head_dim\": 80"), 2, 80, 0},
        {CONFIG("mistral", ", \"sliding_window\": null"), 8, 32, 1},
        {CONFIG("qwen3", KV), 2, 128, 1},
        {CONFIG("qwen3", ", \"head_dim\": 64, \"num_key_value_heads\": null"), 8, 64, 0},
        {CONFIG("gpt2", ", \"n_positions\": 64"), 8, 32, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct transformer shape = read_good(rows[i].text);
        ck_assert_msg(shape.kv_heads == rows[i].kv_heads && shape.head_dim == rows[i].head_dim,
                      "%s", rows[i].text);
        ck_assert_msg(diag.kept == rows[i].warnings && diag.count == 0, "%s", rows[i].text);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(gpt2_defaults_and_other_names)
{
    struct transformer shape =
        read_good("{\"model_type\": \"gpt2\", \"n_embd\": 192, \"n_layer\": 3, \"n_head\": 6,"
                  " \"vocab_size\": 50257, \"n_inner\": null, \"n_ctx\": 77}");
    ck_assert_uint_eq(shape.ffn, 768);
    ck_assert_uint_eq(shape.max_positions, 77);
    ck_assert(shape.tied_embeddings && !shape.gated);
    ck_assert_double_eq(shape.dropout_frac, 0.1);
    ck_assert_int_eq(shape.norm, NORM_LAYER);
    ck_assert_int_eq(shape.positions, POSITION_LEARNED);
    ck_assert_str_eq(shape.activation, "gelu");
    ck_assert_uint_eq(diag.kept, 0);
    arena_release(&arena);
    shape = read_good(
        "{\"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 192, \"n_layer\": 3, \"n_head\": 6,"
        " \"vocab_size\": 50257, \"n_inner\": 100, \"tie_word_embeddings\": false,"
        " \"attn_pdrop\": 0, \"embd_pdrop\": 0, \"resid_pdrop\": 0}");
    ck_assert_uint_eq(shape.ffn, 100);
    ck_assert_uint_eq(shape.max_positions, 1024);
    ck_assert_uint_eq(diag.kept, 1);
    ck_assert(!shape.tied_embeddings);
    ck_assert_double_eq(shape.dropout_frac, 0.0);
    ck_assert_str_eq(shape.architecture, "gpt2");
    arena_release(&arena);
}
END_TEST

/* --- layers that differ ----------------------------------------------------------------------- */

#define QWEN_WINDOW(more) \
    CONFIG("qwen2", KV ", \"use_sliding_window\": true, \"sliding_window\": 77" more)

START_TEST(windows_in_use)
{
    static const struct {
        const char *text;
        uint64_t window;
        uint32_t warnings;
    } rows[] = {
        {CONFIG("llama", ""), 0, 0},
        {CONFIG("llama", ", \"sliding_window\": 77"), 0, 1},
        {CONFIG("mistral", KV ", \"sliding_window\": 77"), 77, 0},
        {CONFIG("mistral", KV ", \"sliding_window\": null"), 0, 0},
        {CONFIG("mistral", KV), 4096, 1},
        {CONFIG("qwen2", KV ", \"sliding_window\": 77"), 0, 0},
        {CONFIG("qwen2", KV ", \"sliding_window\": 77, \"use_sliding_window\": false"), 0, 0},
        {QWEN_WINDOW(", \"max_window_layers\": 0"), 77, 0},
        {QWEN_WINDOW(", \"max_window_layers\": 4"), 0, 0},
        {QWEN_WINDOW(""), 0, 0},
        {QWEN_WINDOW(", \"layer_types\": [\"sliding_attention\", \"sliding_attention\", "
                     "\"sliding_attention\","
                     " \"sliding_attention\"]"),
         77, 0},
        {QWEN_WINDOW(", \"layer_types\": [\"full_attention\", \"full_attention\", "
                     "\"full_attention\", \"full_attention\"]"),
         0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(read_good(rows[i].text).window == rows[i].window, "%s", rows[i].text);
        ck_assert_msg(diag.kept == rows[i].warnings, "%s", rows[i].text);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(experts_by_family)
{
    static const struct {
        const char *text;
        struct transformer_moe moe;
    } rows[] = {
        {CONFIG("mixtral", ", \"num_local_experts\": 8, \"num_experts_per_tok\": 2" KV),
         {8, 2, 512, 0, 0, 1, false, false}},
        {CONFIG("qwen3_moe", MOE), {8, 2, 64, 0, 0, 1, false, false}},
        {CONFIG("qwen3_moe", MOE ", \"decoder_sparse_step\": 2"),
         {8, 2, 64, 0, 0, 2, false, false}},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": [0, 1]"),
         {8, 2, 64, 0, 2, 1, false, false}},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": []"), {8, 2, 64, 0, 0, 1, false, false}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct transformer_moe moe = read_good(rows[i].text).moe, *want = &rows[i].moe;
        ck_assert_msg(moe.experts == want->experts && moe.top_k == want->top_k &&
                          moe.ffn == want->ffn && moe.shared_ffn == want->shared_ffn &&
                          moe.first_dense == want->first_dense && moe.every == want->every,
                      "%s", rows[i].text);
        arena_release(&arena);
    }
}
END_TEST

/* Letters per layer, in the shortest form. */
START_TEST(layers_of_several_kinds)
{
    static const struct {
        const char *text, *mixers, *mlps;
    } rows[] = {
        {QWEN_WINDOW(", \"max_window_layers\": 2"), "aaww", NULL},
        {QWEN_WINDOW(", \"layer_types\": [\"full_attention\", \"sliding_attention\", "
                     "\"full_attention\", \"sliding_attention\"]"),
         "aw", NULL},
        {CONFIG("gemma2", KV ", \"head_dim\": 64, \"sliding_window\": 77"), "wa", NULL},
        {CONFIG("gemma3_text", KV ", \"head_dim\": 64, \"sliding_window\": 77, "
                                  "\"sliding_window_pattern\": 3"),
         "wwa", NULL},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": [1]"), NULL, "ede"},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": [3]"), NULL, "eeed"},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": [0, 1, 2]"), NULL, NULL},
        {CONFIG("nemotron_h", ", \"hybrid_override_pattern\": \"M-*-\"" KV), "snan", "nd"},
        {CONFIG("llama4_text", ", \"num_local_experts\": 4, \"num_experts_per_tok\": 1, "
                               "\"head_dim\": 64, \"intermediate_size_mlp\": 700, "
                               "\"attention_chunk_size\": 64, \"interleave_moe_layer_step\": 2" KV),
         "ccca", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct transformer shape = read_good(rows[i].text);
        ck_assert_msg((shape.mixers == NULL) == (rows[i].mixers == NULL) &&
                          (shape.mixers == NULL || strcmp(shape.mixers, rows[i].mixers) == 0),
                      "%s: %s", rows[i].text, shape.mixers);
        ck_assert_msg((shape.mlps == NULL) == (rows[i].mlps == NULL) &&
                          (shape.mlps == NULL || strcmp(shape.mlps, rows[i].mlps) == 0),
                      "%s: %s", rows[i].text, shape.mlps);
        arena_release(&arena);
    }
}
END_TEST

/* --- what is said ----------------------------------------------------------------------------- */

START_TEST(refuses_what_is_not_modelled)
{
    static const struct {
        const char *text, *key;
        enum diag_code code;
    } rows[] = {
        {CONFIG("llama", ", \"is_encoder_decoder\": true"), "is_encoder_decoder", DIAG_M205},
        {CONFIG("gpt2", ", \"add_cross_attention\": true, \"n_positions\": 8"),
         "add_cross_attention", DIAG_M205},
        {CONFIG("llama", ", \"pruned_heads\": {\"1\": [0]}"), "pruned_heads", DIAG_M205},
        {CONFIG("llama", ", \"num_local_experts\": 8"), "num_local_experts", DIAG_M205},
        {CONFIG("gpt2", ", \"n_positions\": 8, \"attn_pdrop\": 0"), "attn_pdrop", DIAG_M205},
        {QWEN_WINDOW(", \"layer_types\": [\"full_attention\"]"), "layer_types", DIAG_M205},
        {QWEN_WINDOW(", \"layer_types\": [\"linear_attention\"]"), "layer_types", DIAG_M205},
        {CONFIG("qwen3_moe", MOE ", \"mlp_only_layers\": [4]"), "mlp_only_layers", DIAG_M205},
        {CONFIG("deepseek_v3", ", \"kv_lora_rank\": 8, \"index_topk\": 64"), "index_topk",
         DIAG_M205},
        {CONFIG("llama", ", \"architectures\": [\"GPT2LMHeadModel\"]"), "architectures", DIAG_M205},
        {CONFIG("llama", ", \"vision_config\": {}"), "vision_config", DIAG_M205},
        {CONFIG("roberta", ", \"architectures\": [\"XLMRobertaForSequenceClassification\"]"),
         "architectures", DIAG_M205},
        {CONFIG("nemotron_h", ", \"hybrid_override_pattern\": \"M-*\""), "hybrid_override_pattern",
         DIAG_M205},
        {CONFIG("nemotron_h",
                ", \"hybrid_override_pattern\": \"ME*-\", \"moe_latent_size\": 64" KV),
         "moe_latent_size", DIAG_M205},
        {"{\"model_type\": \"llama\", \"hidden_size\": 250, \"intermediate_size\": 512, "
         "\"num_hidden_layers\": 4,"
         " \"num_attention_heads\": 8, \"vocab_size\": 100}",
         "250", DIAG_M203},
        {CONFIG("llama", ", \"num_key_value_heads\": 3"), "3", DIAG_M203},
        {CONFIG("mixtral", ", \"num_local_experts\": 2, \"num_experts_per_tok\": 3" KV), "3",
         DIAG_M203},
        {"{\"model_type\": \"gpt2\", \"n_embd\": 4294967295, \"n_layer\": 1, \"n_head\": 1, "
         "\"vocab_size\": 1}",
         "4294967295", DIAG_M203},
        {"{\"model_type\": \"llama\", \"hidden_size\": 256, \"intermediate_size\": 512, "
         "\"num_hidden_layers\": 4,"
         " \"num_attention_heads\": 8}",
         "vocab_size", DIAG_B106},
        {CONFIG("llama", ", \"num_key_value_heads\": 0"), "num_key_value_heads", DIAG_B108},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct transformer shape;
        ck_assert_msg(!read_text(rows[i].text, &shape), "%s", rows[i].text);
        const struct diag_entry *first = &diag.entries[0];
        while (first->warning) {
            first++;
        }
        ck_assert_msg(first->code == rows[i].code && strstr(first->message, rows[i].key) != NULL,
                      "%s: %s", rows[i].text, first->message);
        ck_assert_uint_eq(diag.count, 1);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(warns_of_what_it_counts_otherwise)
{
    static const char *const keys[] = {
        "attention_dropout",
        CONFIG("llama", ", \"attention_dropout\": 0.1"),
        "quantization_config",
        CONFIG("llama", ", \"quantization_config\": {\"bits\": 4}"),
        "auto_map",
        CONFIG("llama", ", \"auto_map\": {\"AutoModel\": \"x.Y\"}"),
    };
    for (uint32_t i = 0; i < 6; i += 2) {
        read_good(keys[i + 1]);
        ck_assert_uint_eq(diag.kept, 1);
        ck_assert(diag.entries[0].warning);
        ck_assert_ptr_nonnull(strstr(diag.entries[0].message, keys[i]));
        arena_release(&arena);
    }
}
END_TEST

/* Infinity is no JSON, but it stands in such files. */
START_TEST(other_keys_are_no_faults)
{
    read_good(CONFIG("llama",
                     ", \"time_step_limit\": [0.0, Infinity], \"anything\": {\"a\": [1, null]}"));
    ck_assert_uint_eq(diag.kept, 0);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("hf_config", families_have_their_biases_and_norms, heads_default_as_in_the_library,
         gpt2_defaults_and_other_names, windows_in_use, experts_by_family, layers_of_several_kinds,
         refuses_what_is_not_modelled, warns_of_what_it_counts_otherwise, other_keys_are_no_faults)
