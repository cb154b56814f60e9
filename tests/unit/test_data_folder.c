/* The data folder is found through the environment, its files are listed in order. */
#include "base/data_folder.h"

#include <string.h>

#include "base/text.h"
#include "tests/tap_main.h"

static struct arena arena;

static void make_file(const char *folder, const char *name)
{
    FILE *file = fopen(text_build(&arena, "%s/%s", folder, name), "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

START_TEST(lists_sorted_without_suffix)
{
    char folder[] = "/tmp/shardplan-data-XXXXXX";
    static const char *const names[] = {"b.json",       "a.json", "c-1.json",
                                        ".hidden.json", "a.txt",  ".json"};
    arena_init(&arena);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    for (uint32_t i = 0; i < 6; i++) {
        make_file(folder, names[i]);
    }
    setenv("SHARDPLAN_DATA", folder, 1);
    const char *const *found = data_folder_each(".", ".json", &arena);
    ck_assert_str_eq(found[0], "a");
    ck_assert_str_eq(found[1], "b");
    ck_assert_str_eq(found[2], "c-1");
    ck_assert_ptr_null(found[3]);
    ck_assert_str_eq(data_folder_find("x/y.json", &arena),
                     text_build(&arena, "%s/x/y.json", folder));
    for (uint32_t i = 0; i < 6; i++) {
        unlink(text_build(&arena, "%s/%s", folder, names[i]));
    }
    ck_assert_int_eq(rmdir(folder), 0);
    arena_release(&arena);
}
END_TEST

START_TEST(lists_many)
{
    char folder[] = "/tmp/shardplan-data-XXXXXX";
    arena_init(&arena);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("SHARDPLAN_DATA", folder, 1);
    for (uint32_t count = 0; count < 200; count++) {
        const char *const *found = data_folder_each(".", ".x", &arena);
        uint32_t seen = 0;
        while (found[seen] != NULL) {
            ck_assert_str_eq(found[seen], text_build(&arena, "%03u", seen));
            seen++;
        }
        ck_assert_uint_eq(seen, count);
        make_file(folder, text_build(&arena, "%03u.x", count));
    }
    for (uint32_t i = 0; i < 200; i++) {
        unlink(text_build(&arena, "%s/%03u.x", folder, i));
    }
    ck_assert_int_eq(rmdir(folder), 0);
    arena_release(&arena);
}
END_TEST

START_TEST(no_folder_is_empty_and_paths_are_absolute)
{
    arena_init(&arena);
    setenv("SHARDPLAN_DATA", "no/such/folder", 1);
    ck_assert_ptr_null(data_folder_each("models/zoo", ".json", &arena)[0]);
    const char *path = data_folder_find("models", &arena);
    ck_assert_int_eq(path[0], '/');
    ck_assert_ptr_nonnull(strstr(path, "/no/such/folder/models"));
    arena_release(&arena);
}
END_TEST

/* A test program lies in the build folder, so it sees the data of the source tree. */
START_TEST(built_program_sees_the_source_tree)
{
    arena_init(&arena);
    unsetenv("SHARDPLAN_DATA");
    ck_assert_str_eq(data_folder_find("models", &arena), SHARDPLAN_DATA_DIR "/models");
    arena_release(&arena);
}
END_TEST

TAP_MAIN("data_folder", lists_sorted_without_suffix, lists_many,
         no_folder_is_empty_and_paths_are_absolute, built_program_sees_the_source_tree)
