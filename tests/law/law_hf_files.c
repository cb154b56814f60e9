/* Published config.json files, where the folder SHARDPLAN_SHARED has them: those of supported
 * families are the models of the zoo, all others are refused by name. Skipped where there is no
 * such folder. */
#include "models/model.h"

#include <dirent.h>
#include <string.h>

#include "tests/law/same_transformer.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

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

START_TEST(others_are_refused_by_name)
{
    arena_init(&arena);
    uint32_t refused = 0;
    DIR *files = opendir(folder());
    for (const struct dirent *entry = readdir(files); entry != NULL; entry = readdir(files)) {
        struct model model;
        if (entry->d_name[0] != '.' && !read_file(entry->d_name, &model)) {
            ck_assert_msg(diag.count == 1 && diag.entries[0].code == DIAG_M202, "%s: %s",
                          entry->d_name, diag.entries[0].message);
            refused++;
        }
    }
    closedir(files);
    ck_assert_uint_ge(refused, 20);
    arena_release(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {files_are_the_models_of_the_zoo, others_are_refused_by_name};
    arena_init(&arena);
    DIR *files = folder() == NULL ? NULL : opendir(folder());
    arena_release(&arena);
    if (files == NULL) {
        puts("1..0 # SKIP SHARDPLAN_SHARED has no fixtures/hf-config");
        return EXIT_SUCCESS;
    }
    closedir(files);
    return tap_run("hf_files", tests, 2);
}
