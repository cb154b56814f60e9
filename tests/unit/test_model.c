/* Models are found, read, refused and dumped as the format says. */
#include "models/model.h"

#include <string.h>
#include <sys/stat.h>

#include "models/transformer.h"
#include "tests/fresh.h"

static bool read_text(const char *text, struct model *out)
{
    struct json *document;
    begin();
    if (!json_open_text("m.json", text, strlen(text), true, &arena, &document, &diag)) {
        return false;
    }
    const bool good = model_read_json(json_root(document), "called", &arena, out, &diag);
    json_close(document);
    return good;
}

#define SHAPE "\"layers\": 2, \"hidden\": 64, \"heads\": 4, \"ffn\": 128, \"vocab\": 100"
#define MODEL(more) "{\"format\": \"shardplan/model/1\", \"transformer\": {" SHAPE more "}}"

START_TEST(little_is_enough)
{
    struct model model;
    ck_assert_msg(read_text(MODEL(""), &model), "%s", messages());
    const struct transformer *shape = model.transformer;
    ck_assert_str_eq(model.name, "called");
    ck_assert_str_eq(model.source, "called");
    ck_assert_str_eq(shape->architecture, "native");
    ck_assert_uint_eq(shape->kv_heads, 4);
    ck_assert_uint_eq(shape->head_dim, 16);
    ck_assert(shape->gated && !shape->tied_embeddings && !shape->qkv_bias && !shape->qk_norm);
    ck_assert_int_eq(shape->norm, NORM_RMS);
    ck_assert_int_eq(shape->positions, POSITION_ROPE);
    ck_assert_str_eq(shape->activation, "silu");
    ck_assert_uint_eq(model_count_parameters(&model),
                      2 * (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64) + 2 * 64 * 100 + 64);
    arena_release(&arena);
}
END_TEST

START_TEST(refuses_with_its_code)
{
    static const struct {
        const char *text;
        enum diag_code code;
        uint32_t count;
    } rows[] = {
        {"[]", DIAG_B107, 1},
        {"{}", DIAG_B112, 1},
        {"{\"format\": 3}", DIAG_B112, 1},
        {"{\"format\": \"shardplan/model/2\"}", DIAG_B112, 1},
        {"{\"format\": \"shardplan/plan/1\", \"model_type\": \"llama\"}", DIAG_B112, 1},
        {"{\"format\": \"shardplan/model/1\"}", DIAG_B106, 1},
        {"{\"format\": \"shardplan/model/1\", \"transformer\": 3}", DIAG_B107, 1},
        {"{\"format\": \"shardplan/model/1\", \"transformer\": {}}", DIAG_B106, 5},
        {MODEL(", \"hiden\": 3"), DIAG_B105, 1},
        {MODEL(", \"bias\": {\"qvk\": true}"), DIAG_B105, 1},
        {MODEL(", \"bias\": true"), DIAG_B107, 1},
        {MODEL(", \"moe\": {\"expert\": 8}"), DIAG_B105, 1},
        {MODEL(", \"moe\": {\"experts\": 8}"), DIAG_B106, 2},
        {MODEL(", \"kv_heads\": 0"), DIAG_B108, 1},
        {MODEL(", \"dropout\": 1.5"), DIAG_B108, 1},
        {MODEL(", \"norm\": \"rms\""), DIAG_B110, 1},
        {MODEL(", \"positions\": \"ropes\""), DIAG_B110, 1},
        {MODEL(", \"kv_heads\": 3"), DIAG_M203, 1},
        {MODEL(", \"positions\": \"learned\""), DIAG_M203, 1},
        {MODEL(", \"moe\": {\"experts\": 8, \"top_k\": 9, \"ffn\": 64}"), DIAG_M203, 1},
        {MODEL(", \"bias\": {\"norm\": true}"), DIAG_M207, 1},
        {MODEL(", \"norm\": \"layernorm\", \"bias\": {\"norm\": false}"), DIAG_M207, 1},
        {"{\"format\": \"shardplan/model/1\", \"parameters\": 7, \"transformer\": {" SHAPE "}}",
         DIAG_M206, 1},
        {"{\"model_type\": \"lama\"}", DIAG_M202, 1},
        {"{\"model_type\": null}", DIAG_M202, 1},
        {"{\"architectures\": [\"BertModel\"]}", DIAG_M202, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model model;
        ck_assert_msg(!read_text(rows[i].text, &model), "%s", rows[i].text);
        ck_assert_msg(diag.count == rows[i].count && diag.entries[0].code == rows[i].code, "%s\n%s",
                      rows[i].text, messages());
        arena_release(&arena);
    }
}
END_TEST

START_TEST(messages_name_place_and_remedy)
{
    struct model model;
    ck_assert(!read_text("{\"model_type\": \"lama\"}", &model));
    static const char *const pieces[] = {
        "m.json:1:16: error: model_type \"lama\" is not supported; these are: ", ", llama, ",
        ", qwen3_moe, ",
        (" [M202]\n    {\"model_type\": \"lama\"}\n                   ^\n"
         "    hint: did you mean 'llama'?\n")};
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_msg(strstr(messages(), pieces[i]) != NULL, "%s", messages());
    }
    arena_release(&arena);
    ck_assert(!read_text(MODEL(", \"kv_heads\": 3"), &model));
    ck_assert_ptr_nonnull(
        strstr(messages(), "4 heads are not a multiple of 3 key and value heads [M203]"));
    arena_release(&arena);
}
END_TEST

START_TEST(names_are_found)
{
    static const struct {
        const char *word, *name;
    } rows[] = {{"llama-3.1-8b", "llama-3.1-8b"}, {"Llama-3.1-8B", "llama-3.1-8b"}};
    struct model model;
    for (uint32_t i = 0; i < 2; i++) {
        begin();
        ck_assert(model_read(rows[i].word, &arena, &model, &diag));
        ck_assert_str_eq(model.name, rows[i].name);
        arena_release(&arena);
    }
    begin();
    ck_assert(!model_read("lama-3.1-8b", &arena, &model, &diag));
    ck_assert_int_eq(diag.entries[0].code, DIAG_M201);
    ck_assert_str_eq(diag.entries[0].hint, "did you mean 'llama-3.1-8b'?");
    ck_assert(!model_read("no/such/file.json", &arena, &model, &diag));
    ck_assert_int_eq(diag.entries[1].code, DIAG_B101);
    arena_release(&arena);
}
END_TEST

/* A file is called by what precedes "config.json" or ".json". */
START_TEST(files_are_called_by_their_place)
{
    static const char *const names[] = {"tiny.json", "tiny.config.json", "tiny/config.json"};
    char folder[] = "/tmp/shardplan-model-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    arena_init(&arena);
    const char *inner = text_build(&arena, "%s/tiny", folder);
    ck_assert_int_eq(mkdir(inner, 0700), 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct model model;
        const char *path = text_build(&arena, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(MODEL(""), file);
        fclose(file);
        diag_init(&diag, &arena);
        ck_assert(model_read(path, &arena, &model, &diag));
        ck_assert_str_eq(model.name, "tiny");
        unlink(path);
    }
    ck_assert_int_eq(rmdir(inner), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    arena_release(&arena);
}
END_TEST

START_TEST(digest_is_of_the_computation)
{
    struct model model;
    ck_assert(read_text(MODEL(""), &model));
    const unsigned long long plain = model.digest;
    arena_release(&arena);
    ck_assert(
        read_text("{\"name\": \"other\", \"format\": \"shardplan/model/1\", \"source\": \"s\","
                  " \"transformer\": {\"kv_heads\": 4, " SHAPE "}}",
                  &model));
    ck_assert_uint_eq(model.digest, plain);
    ck_assert_str_eq(model.name, "other");
    ck_assert_str_eq(model.source, "s");
    arena_release(&arena);
    ck_assert(read_text(MODEL(", \"window\": 7"), &model));
    ck_assert_uint_ne(model.digest, plain);
    arena_release(&arena);
}
END_TEST

/* --- model_check ------------------------------------------------------------------------------ */

static struct model good_model(void)
{
    struct model model;
    ck_assert(read_text(
        MODEL(", \"tied_embeddings\": true, \"moe\": {\"experts\": 4, \"top_k\": 2, \"ffn\": 32}"),
        &model));
    ck_assert(model_check(&model, &diag));
    return model;
}

static struct op *op_named(struct model *model, const char *name)
{
    uint32_t i = 0;
    while (strcmp(model->ops[i].name, name) != 0) {
        i++;
    }
    return &model->ops[i];
}

static void break_model(struct model *model, int how)
{
    struct op *q = op_named(model, "q");
    struct part *moe = &model->parts[1];
    switch (how) {
    case 0: model->axis_count = 0; break;
    case 1: model->axes[2].image_of = 99; break;
    case 2: model->tensors[0].axes |= 1u << 31; break;
    case 3: model->tensors[1].copies = 0; break;
    case 4: model->tensors[1].density = 0.0; break;
    case 5: model->tensors[1].tied_to = 9999; break;
    case 6: model->tensors[1].class = TENSOR_CLASS_COUNT; break;
    case 7: q->output = model->tensor_count; break;
    case 8: q->inputs[0] = q->weights[0]; break;
    case 9: q->weights[0] = q->inputs[0]; break;
    case 10: q->domain &= ~((axis_set)1 << model_find_axis(model, "hidden")); break;
    case 11: q->domain |= 1u << 31; break;
    case 12: q->weight_count = 0; break;
    case 13: q->keeps[0] = q->weights[0]; break;
    case 14: q->input_count = 0; break;
    case 15: q->kind = OP_KIND_COUNT; break;
    case 16: op_named(model, "experts_fc1")->routed_frac = 0.0; break;
    case 17: op_named(model, "q_rope")->forward_bytes = 0.0; break;
    case 18: q->mirrored = 2; break;
    case 19: q->density = DENSITY_WINDOW; break;
    case 20: q->inputs[0] = op_named(model, "attention")->output; break;
    case 21: moe->op_count = 9999; break;
    case 22: moe->input = moe->output; break;
    case 23: moe->output = moe->input; break;
    case 24: model->ops[moe->first_op].joined = true; break;
    case 25: model->run_count = 0; break;
    case 26: model->chain[1].count = 0; break;
    case 27: model->chain[1].part = 9; break;
    case 28: model->chain[0].count = 2; break;
    case 29: model->chain[0].part = 1; break;
    default: model->tensors[moe->input].axes &= ~(axis_set)1; break;
    }
}

START_TEST(check_finds_each_contradiction)
{
    for (int how = 0; how <= 30; how++) {
        struct model model = good_model();
        break_model(&model, how);
        ck_assert_msg(!model_check(&model, &diag), "case %d", how);
        ck_assert_int_eq(diag.entries[0].code, DIAG_M207);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("model", little_is_enough, refuses_with_its_code, messages_name_place_and_remedy,
         names_are_found, files_are_called_by_their_place, digest_is_of_the_computation,
         check_finds_each_contradiction)
