/* Families of Hugging Face models: each is reached by its own names and reads a plain file. */
#include <string.h>

#include "base/text.h"
#include "models/hf_family.h"
#include "models/model.h"
#include "tests/tap_main.h"

/* A multiple of all periods in which families repeat kinds of layers. */
#define LAYERS 24u
/* Sizes by the names that most families use; a family ignores what it has no use for. */
#define SIZES \
    "\"hidden_size\": 256, \"intermediate_size\": 512, \"num_attention_heads\": 8, " \
    "\"num_key_value_heads\": 2, \"head_dim\": 32, \"vocab_size\": 100, \"sliding_window\": null"
#define EXPERTS \
    ", \"num_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 64, " \
    "\"shared_expert_intermediate_size\": 64"

static uint32_t claims(const char *name, bool types)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < hf_family_table_count; f++) {
        const struct hf_family *family = hf_family_table[f];
        const char *const *names = types ? family->types : family->architectures;
        for (uint32_t i = 0; i < HF_NAMES_MAX && names[i] != NULL; i++) {
            count += strcmp(names[i], name) == 0 ? 1 : 0;
        }
    }
    return count;
}

/* A name that two families claim would be read by whichever stands first. */
START_TEST(a_name_is_of_one_family)
{
    for (uint32_t f = 0; f < hf_family_table_count; f++) {
        const struct hf_family *family = hf_family_table[f];
        ck_assert_ptr_nonnull(family->types[0]);
        for (uint32_t i = 0; i < HF_NAMES_MAX && family->types[i] != NULL; i++) {
            ck_assert_msg(claims(family->types[i], true) == 1, "type '%s'", family->types[i]);
        }
        for (uint32_t i = 0; i < HF_NAMES_MAX && family->architectures[i] != NULL; i++) {
            ck_assert_msg(claims(family->architectures[i], false) == 1, "class '%s'",
                          family->architectures[i]);
        }
    }
}
END_TEST

/* Parameters of a plain model of this type; 0: refused, and with a reason. */
static uint64_t count_plain(const char *type, const char *more, uint32_t layers)
{
    struct arena arena;
    struct diag diag;
    struct json *document;
    struct model model;
    uint64_t count = 0;
    arena_init(&arena);
    diag_init(&diag, &arena);
    const char *text =
        text_build(&arena, "{\"model_type\": \"%s\", \"num_hidden_layers\": %u, " SIZES "%s}", type,
                   layers, more);
    ck_assert(json_open_text("config.json", text, strlen(text), true, &arena, &document, &diag));
    if (model_read_json(json_root(document), "m", &arena, &model, &diag)) {
        ck_assert_msg(model_check(&model, &diag), "%s", text);
        count = model_count_parameters(&model);
        ck_assert_msg(count > 0, "%s", text);
    } else {
        ck_assert_msg(diag.kept > 0, "refused without a reason: %s", text);
    }
    json_close(document);
    arena_release(&arena);
    return count;
}

/* Each period of layers adds the same weights, whatever the family. */
static bool grows_evenly(const char *type, const char *more)
{
    const uint64_t once = count_plain(type, more, LAYERS);
    if (once == 0) {
        return false;
    }
    const uint64_t twice = count_plain(type, more, 2 * LAYERS);
    const uint64_t thrice = count_plain(type, more, 3 * LAYERS);
    ck_assert_msg(twice > once && thrice - twice == twice - once,
                  "%s: %llu, %llu, %llu parameters with %u, %u, %u layers", type,
                  (unsigned long long)once, (unsigned long long)twice, (unsigned long long)thrice,
                  LAYERS, 2 * LAYERS, 3 * LAYERS);
    return true;
}

/* Most types are read from sizes alone, without experts or with; the others want keys of their own
 * and say which. */
START_TEST(plain_files_are_read_and_grow_evenly)
{
    uint32_t types = 0, read = 0;
    for (uint32_t f = 0; f < hf_family_table_count; f++) {
        for (uint32_t i = 0; i < HF_NAMES_MAX && hf_family_table[f]->types[i] != NULL; i++) {
            const char *type = hf_family_table[f]->types[i];
            const bool dense = grows_evenly(type, "");
            const bool experts = grows_evenly(type, EXPERTS);
            types++;
            read += dense || experts ? 1 : 0;
        }
    }
    ck_assert_msg(read >= types * 4 / 5, "%u of %u types are read from sizes alone", read, types);
}
END_TEST

TAP_MAIN("families", a_name_is_of_one_family, plain_files_are_read_and_grow_evenly)
