/* Every shipped model loads, is consistent, has the parameters it states, and survives its own
 * dump; every sample config.json is the model it was written for. */
#include "models/model.h"

#include <string.h>

#include "base/data_folder.h"
#include "tests/fresh.h"
#include "tests/law/same_transformer.h"

static struct model read_shipped(const char *folder, const char *file)
{
    struct model model;
    const char *path = data_folder_find(text_build(&arena, "models/%s/%s", folder, file), &arena);
    diag_init(&diag, &arena);
    ck_assert_msg(model_read(path, &arena, &model, &diag), "%s", messages());
    ck_assert_msg(diag.kept == 0, "%s", messages());
    ck_assert_msg(model_check(&model, &diag), "%s", messages());
    return model;
}

static const char *dump(const struct model *model)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, false);
    model_dump(model, &writer);
    return text.bytes;
}

static struct model read_back(const char *text)
{
    struct json *document;
    struct model model;
    ck_assert(json_open_text("dump", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(model_read_json(json_root(document), "dump", &arena, &model, &diag), "%s",
                  messages());
    json_close(document);
    return model;
}

static void expect_round_trip(const struct model *model)
{
    const char *text = dump(model);
    const struct model again = read_back(text);
    ck_assert((model->transformer == NULL) == (again.transformer == NULL));
    if (model->transformer != NULL) {
        expect_same(model->name, model->transformer, again.transformer);
        ck_assert_str_eq(again.transformer->architecture, model->transformer->architecture);
    }
    ck_assert_str_eq(dump(&again), text);
    ck_assert_uint_eq(again.digest, model->digest);
    ck_assert_str_eq(again.name, model->name);
    ck_assert_uint_eq(model_count_parameters(&again), model_count_parameters(model));
    ck_assert_double_eq(model_flops_per_token(&again, 4096, true),
                        model_flops_per_token(model, 4096, true));
}

/* What the file itself states, read without the reader under test. */
static uint64_t stated_parameters(const char *file)
{
    struct json *document;
    uint64_t parameters = 0;
    const char *path = data_folder_find(text_build(&arena, "models/zoo/%s", file), &arena);
    ck_assert(json_open(path, false, &arena, &document, &diag));
    ck_assert(json_value_u64(json_find(json_root(document), "parameters"), &parameters) ||
              json_is_object(json_find(json_root(document), "graph")));
    json_close(document);
    return parameters;
}

START_TEST(zoo_states_its_parameters)
{
    arena_init(&arena);
    const char *const *names = data_folder_each("models/zoo", ".json", &arena);
    uint32_t count = 0;
    for (; names[count] != NULL; count++) {
        const char *file = text_build(&arena, "%s.json", names[count]);
        const struct model model = read_shipped("zoo", file);
        ck_assert_str_eq(model.name, names[count]);
        ck_assert_uint_eq(model_count_parameters(&model), stated_parameters(file));
        ck_assert_uint_le(model_count_active_parameters(&model), model_count_parameters(&model));
        expect_round_trip(&model);
    }
    ck_assert_uint_ge(count, 80);
    arena_release(&arena);
}
END_TEST

/* Of plain decoders: FLOPs lie between those of the matrices a token meets and those with attention
 * in full. */
START_TEST(zoo_flops_follow_its_parameters)
{
    arena_init(&arena);
    const char *const *names = data_folder_each("models/zoo", ".json", &arena);
    for (uint32_t i = 0; names[i] != NULL; i++) {
        const struct model model = read_shipped("zoo", text_build(&arena, "%s.json", names[i]));
        const struct transformer *t = model.transformer;
        if (t == NULL || transformer_special(t) != NULL) {
            continue;
        }
        const double rows = (t->tied_embeddings ? 0.0 : (double)t->vocab) +
                            (t->positions == POSITION_LEARNED ? (double)t->max_positions : 0.0);
        const double matrices =
            6.0 * ((double)model_count_active_parameters(&model) - rows * t->hidden);
        const double attention = 12.0 * t->layers * 4096.0 * t->heads * t->head_dim;
        const double full = model_flops_per_token(&model, 4096, false);
        /* Norms and biases are parameters that multiply nothing: under 1 %. */
        ck_assert_msg(full < matrices + attention && full > 0.99 * matrices + attention, "%s",
                      names[i]);
        if (t->window == 0) {
            ck_assert_double_eq_tol((full - model_flops_per_token(&model, 4096, true)) / attention,
                                    0.5, 1e-9);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Of all: what is masked is work less, and cached numbers are what attention reads. */
START_TEST(zoo_masks_save_work)
{
    arena_init(&arena);
    const char *const *names = data_folder_each("models/zoo", ".json", &arena);
    for (uint32_t i = 0; names[i] != NULL; i++) {
        const struct model model = read_shipped("zoo", text_build(&arena, "%s.json", names[i]));
        const struct transformer *t = model.transformer;
        const double full = model_flops_per_token(&model, 4096, false);
        const double causal = model_flops_per_token(&model, 4096, true);
        if (t == NULL) {
            ck_assert_msg(full > 0.0 && causal <= full, "%s", names[i]);
            continue;
        }
        const bool attends = t->mixers == NULL || strpbrk(t->mixers, "awc") != NULL;
        ck_assert_msg(t->bidirectional || !attends ? causal == full : causal < full, "%s",
                      names[i]);
        ck_assert_msg(causal > 0.5 * full, "%s", names[i]);
        ck_assert_msg((model_count_cache_elements(&model) > 0) == attends, "%s", names[i]);
    }
    arena_release(&arena);
}
END_TEST

/* Keys and values of grouped heads, latents with the rotated key, and none of a scan. */
START_TEST(cached_numbers_per_token)
{
    static const struct {
        const char *name;
        uint64_t numbers;
    } rows[] = {
        {"llama-3.1-70b", 80 * 2 * 8 * 128},
        {"deepseek-v3", 61 * (512 + 64)},
        {"nemotron-h-56b", 10 * 2 * 8 * 128},
        {"mamba-2.8b", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model model;
        begin();
        ck_assert_msg(model_read(rows[i].name, &arena, &model, &diag), "%s", messages());
        ck_assert_msg(model_count_cache_elements(&model) == rows[i].numbers, "%s: %llu",
                      rows[i].name, (unsigned long long)model_count_cache_elements(&model));
        arena_release(&arena);
    }
}
END_TEST

/* Published counts, repeated here so that a file and its own number cannot be wrong together. */
START_TEST(published_parameters)
{
    static const struct {
        const char *name;
        uint64_t parameters;
    } rows[] = {
        {"mistral-7b", 7241732096},        {"qwen2-7b", 7615616512},
        {"gpt2-large", 774030080},         {"qwen3-30b-a3b", 30532122624},
        {"llama-3.1-405b", 405853388800},  {"mixtral-8x7b", 46702792704},
        {"llama-3.1-8b", 8030261248},      {"llama-2-70b", 68976648192},
        {"deepseek-v3", 671026419200},     {"gemma-3-27b", 27432406640},
        {"gpt-oss-120b", 116829156672},    {"falcon-7b", 6921720704},
        {"qwen3-vl-30b-a3b", 31070754032}, {"t5-11b", 11307321344},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model model;
        begin();
        ck_assert_msg(model_read(rows[i].name, &arena, &model, &diag), "%s", messages());
        ck_assert_msg(model_count_parameters(&model) == rows[i].parameters, "%s", rows[i].name);
        arena_release(&arena);
    }
}
END_TEST

/* What each sample says in native terms. */
static const char *const samples[] = {
    "gpt2",
    "\"norm_epsilon\": 1e-5,"
    "\"layers\": 3, \"hidden\": 192, \"heads\": 6, \"ffn\": 768, \"vocab\": 1000, \"gated\": false,"
    " \"positions\": \"learned\", \"max_positions\": 512, \"tied_embeddings\": true,"
    " \"norm\": \"layernorm\", \"activation\": \"gelu\", \"dropout\": 0.1,"
    " \"bias\": {\"qkv\": true, \"attention_output\": true, \"mlp\": true}",
    "llama",
    "\"norm_epsilon\": 1e-5, \"rope_base\": 10000,"
    "\"layers\": 4, \"hidden\": 256, \"heads\": 8, \"kv_heads\": 2, \"ffn\": 688, \"vocab\": 1024,"
    " \"max_positions\": 2048",
    "mistral",
    "\"norm_epsilon\": 1e-5, \"rope_base\": 10000,"
    "\"layers\": 3, \"hidden\": 256, \"heads\": 8, \"kv_heads\": 4, \"head_dim\": 32, \"ffn\": 896,"
    " \"vocab\": 2048, \"max_positions\": 4096, \"window\": 512",
    "mixtral",
    "\"norm_epsilon\": 1e-5, \"rope_base\": 1000000,"
    "\"layers\": 3, \"hidden\": 256, \"heads\": 8, \"kv_heads\": 2, \"ffn\": 512, \"vocab\": 1024,"
    " \"max_positions\": 4096, \"moe\": {\"experts\": 4, \"top_k\": 2, \"ffn\": 512}",
    "qwen2",
    "\"norm_epsilon\": 1e-6, \"rope_base\": 1000000,"
    "\"layers\": 2, \"hidden\": 192, \"heads\": 6, \"kv_heads\": 2, \"ffn\": 512, \"vocab\": 1536,"
    " \"max_positions\": 4096, \"tied_embeddings\": true, \"bias\": {\"qkv\": true}",
    "qwen3",
    "\"norm_epsilon\": 1e-6, \"rope_base\": 1000000,"
    "\"layers\": 4, \"hidden\": 256, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 128, \"ffn\": "
    "768,"
    " \"vocab\": 1536, \"max_positions\": 4096, \"qk_norm\": true",
    "qwen3_moe",
    "\"norm_epsilon\": 1e-6, \"rope_base\": 1000000,"
    "\"layers\": 4, \"hidden\": 128, \"heads\": 4, \"kv_heads\": 2, \"head_dim\": 64, \"ffn\": 384,"
    " \"vocab\": 1536, \"max_positions\": 4096, \"qk_norm\": true,"
    " \"moe\": {\"experts\": 16, \"top_k\": 4, \"ffn\": 96}",
};

START_TEST(samples_are_the_models_they_say)
{
    arena_init(&arena);
    uint32_t shipped = 0;
    const char *const *names = data_folder_each("models/samples", ".config.json", &arena);
    for (; names[shipped] != NULL; shipped++) {
        const char *name = names[shipped];
        uint32_t row = 0;
        while (row < sizeof samples / sizeof samples[0] && strcmp(samples[row], name) != 0) {
            row += 2;
        }
        ck_assert_msg(row < sizeof samples / sizeof samples[0], "sample '%s' has no row here",
                      name);
        const struct model model =
            read_shipped("samples", text_build(&arena, "%s.config.json", name));
        const struct model native = read_back(
            text_build(&arena, "{\"format\": \"shardplan/model/1\", \"transformer\": {%s}}",
                       samples[row + 1]));
        expect_same(name, model.transformer, native.transformer);
        ck_assert_uint_eq(model.digest, native.digest);
        ck_assert_str_eq(model.transformer->architecture, name);
        ck_assert_str_eq(model.name, name);
        expect_round_trip(&model);
    }
    ck_assert_uint_eq(shipped, sizeof samples / sizeof samples[0] / 2);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("models", zoo_states_its_parameters, zoo_flops_follow_its_parameters, zoo_masks_save_work,
         cached_numbers_per_token, published_parameters, samples_are_the_models_they_say)
