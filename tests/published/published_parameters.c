/* Parameters of published models, as their checkpoints have them, from the keys of their
 * config.json that matter. A count of eleven digits is not met by chance. */
#include <string.h>

#include "models/model.h"
#include "tests/fresh.h"

static const char *first_message(void)
{
    for (uint32_t i = 0; i < diag.kept; i++) {
        if (!diag.entries[i].warning) {
            return diag.entries[i].message;
        }
    }
    return "";
}

static void expect_count(struct json_value row)
{
    const char *name = NULL;
    uint64_t parameters = 0;
    struct model model;
    ck_assert(json_value_string(json_find(row, "name"), &name));
    ck_assert(json_value_u64(json_find(row, "parameters"), &parameters));
    ck_assert_msg(model_read_json(json_find(row, "config"), name, &arena, &model, &diag), "%s: %s",
                  name, first_message());
    ck_assert_msg(model_check(&model, &diag), "%s: %s", name, first_message());
    ck_assert_msg(model_count_parameters(&model) == parameters, "%s: %llu is not %llu", name,
                  (unsigned long long)model_count_parameters(&model),
                  (unsigned long long)parameters);
}

START_TEST(configs_have_their_parameters)
{
    struct json *document;
    begin();
    const char *path =
        text_build(&arena, "%s/tests/published/model_parameters.json", getenv("SHARDPLAN_DATA"));
    ck_assert_msg(json_open(path, false, &arena, &document, &diag), "%s", first_message());
    const struct json_value rows = json_root(document);
    const uint32_t count = json_count(rows);
    ck_assert_uint_ge(count, 40);
    for (uint32_t i = 0; i < count; i++) {
        diag_init(&diag, &arena);
        expect_count(json_find_index(rows, i));
    }
    json_close(document);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("published_parameters", configs_have_their_parameters)
