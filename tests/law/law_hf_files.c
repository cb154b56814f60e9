/* Published config.json files, where the folder SHARDPLAN_SHARED has them: those of supported
 * families are the models of the zoo, all others are refused by name; counts are printed.
 * Skipped where there is no such folder. */
#include "models/model.h"

#include <dirent.h>
#include <string.h>

#include "tests/fresh.h"
#include "tests/law/same_transformer.h"

static const char *folder(void)
{
    const char *shared = getenv("SHARDPLAN_SHARED");
    return shared == NULL ? NULL : text_build(&arena, "%s/fixtures/hf-config", shared);
}

static bool read_file(const char *name, struct model *out)
{
    diag_init(&diag, &arena);
    return model_read(text_build(&arena, "%s/%s", folder(), name), &arena, out, &diag);
}

START_TEST(files_are_the_models_of_the_zoo)
{
    static const struct {
        const char *file, *zoo;
        uint64_t parameters;
    } rows[] = {
        {"Llama-3.2-1B-Instruct.json", "llama-3.2-1b", 1235814400},
        {"Qwen--Qwen3-30B-A3B.json", "qwen3-30b-a3b", 30532122624},
        {"Qwen--Qwen3-32B.json", "qwen3-32b", 32762123264},
        {"Qwen--Qwen3-8B.json", "qwen3-8b", 8190735360},
        {"Qwen2-7B-Instruct.json", "qwen2-7b", 7615616512},
        {"Qwen2.5-0.5B-Instruct.json", NULL, 494032768},
        {"gpt2-large.json", "gpt2-large", 774030080},
        {"llama2-70b.json", "llama-2-70b", 68976648192},
        {"llama3-8B-instruct.json", "llama-3-8b", 8030261248},
        {"meta-llama--Meta-Llama-3.1-8B.json", "llama-3.1-8b", 8030261248},
        {"mistralai--Mixtral-8x22B-v0.1.json", "mixtral-8x22b", 140620634112},
        {"Qwen--Qwen3-VL-30B-A3B-Instruct.json", "qwen3-vl-30b-a3b", 31070754032},
        {"Qwen--Qwen3-VL-8B-Instruct.json", "qwen3-vl-8b", 8767123696},
        {"bert-large-uncased-wwm.json", "bert-large", 335174458},
        {"deepseek-ai--DeepSeek-V3.json", "deepseek-v3", 671026419200},
        {"deepseek_v2-lite.json", "deepseek-v2-lite", 15706484224},
        {"falcon-7b.json", "falcon-7b", 6921720704},
        {"gemma2_2b_it.json", NULL, 2614341888},
        {"gemma3-27b-it.json", "gemma-3-27b", 27432406640},
        {"nvidia--Nemotron-H-56B-Base-8K.json", "nemotron-h-56b", 56324350464},
        {"openai--gpt-oss-120b.json", "gpt-oss-120b", 116829156672},
        {"phi-4-mini-reasoning.json", NULL, 3836021760},
        {"phi3.5-mini-instruct.json", NULL, 3821079552},
        {"qwen3-next-80b-a3b.json", "qwen3-next-80b-a3b", 79674391296},
        {"t5-v1_1-xxl-flux-test.json", NULL, 11135332352},
    };
    arena_init(&arena);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct model file, zoo;
        ck_assert_msg(read_file(rows[i].file, &file), "%s", rows[i].file);
        ck_assert_msg(model_check(&file, &diag), "%s", rows[i].file);
        ck_assert_msg(model_count_parameters(&file) == rows[i].parameters, "%s", rows[i].file);
        if (rows[i].zoo != NULL) {
            ck_assert(model_read(rows[i].zoo, &arena, &zoo, &diag));
            expect_same(rows[i].file, file.transformer, zoo.transformer);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Reads, or says why not; a table of counts goes to the log. */
struct tally {
    uint32_t read, refused[DIAG_CODE_COUNT];
};

static void count_one(bool good, const char *name, struct tally *out)
{
    if (good) {
        out->read++;
        return;
    }
    uint32_t i = 0;
    while (i < diag.kept && diag.entries[i].warning) {
        i++;
    }
    ck_assert_msg(diag.count > 0 && i < diag.kept, "%s is refused without a reason", name);
    out->refused[diag.entries[i].code]++;
}

static void print_tally(const char *title, const struct tally *tally)
{
    printf("# %s: %u read\n", title, tally->read);
    for (uint32_t code = 0; code < DIAG_CODE_COUNT; code++) {
        if (tally->refused[code] > 0) {
            printf("# %s: %u refused, %s\n", title, tally->refused[code],
                   diag_code_name((enum diag_code)code));
        }
    }
}

START_TEST(every_file_reads_or_says_why)
{
    struct tally tally = {.read = 0};
    arena_init(&arena);
    DIR *files = opendir(folder());
    for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        struct model model;
        if (entry->d_name[0] != '.') {
            const bool good = read_file(entry->d_name, &model);
            ck_assert(!good || model_check(&model, &diag));
            count_one(good, entry->d_name, &tally);
        }
    }
    closedir(files);
    print_tally("hf-config", &tally);
    ck_assert_uint_ge(tally.read, 30);
    arena_release(&arena);
}
END_TEST

/* Thousands of files with the keys of sizes alone. */
START_TEST(every_trimmed_file_reads_or_says_why)
{
    struct tally tally = {.read = 0};
    struct json *document;
    begin();
    const char *path = text_build(&arena, "%s-bulk/gpu_poor-all_configs.json", folder());
    if (!json_open(path, true, &arena, &document, &diag)) {
        puts("# no hf-config-bulk");
        arena_release(&arena);
        return;
    }
    const struct json_value root = json_root(document);
    for (uint32_t i = 0; i < json_count(root); i++) {
        struct model model;
        const struct json_value config = json_find_index(root, i);
        const struct arena_mark mark = arena_find_mark(&arena);
        diag_init(&diag, &arena);
        const bool good = model_read_json(config, json_key(config), &arena, &model, &diag);
        ck_assert_msg(!good || model_check(&model, &diag), "%s", json_key(config));
        count_one(good, json_key(config), &tally);
        arena_pop(&arena, mark);
    }
    json_close(document);
    print_tally("hf-config-bulk", &tally);
    ck_assert_uint_ge(tally.read, 2500);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {files_are_the_models_of_the_zoo, every_file_reads_or_says_why,
                                  every_trimmed_file_reads_or_says_why};
    arena_init(&arena);
    DIR *files = folder() == NULL ? NULL : opendir(folder());
    arena_release(&arena);
    if (files == NULL) {
        puts("1..0 # SKIP SHARDPLAN_SHARED has no fixtures/hf-config");
        return EXIT_SUCCESS;
    }
    closedir(files);
    return tap_run("hf_files", tests, 3);
}
