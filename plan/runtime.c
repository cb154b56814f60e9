/* A training framework as data: what it accepts, overlaps, spends. */
#include <string.h>

#include "base/data_folder.h"
#include "plan/dim.h"
#include "plan/schedule.h"
#include "plan/setup.h"

#define NAMES_MAX 64

static const char *const keys[] = {
    "format",
    "name",
    "summary",
    "source",
    "schedules",
    "dims",
    "variants",
    "zero_levels",
    "zero_pipeline_only_first",
    "overlaps_gradient_reduce",
    "overlaps_parameter_gather",
    "overlaps_send",
    "hides_regather",
    "gradient",
    "master",
    "vocab_multiple",
    "op_overhead",
    "step_overhead",
    "allocator_frac",
    "context",
    "communicator",
    "sources",
    NULL,
};

static uint32_t count_names(const char *const *names)
{
    uint32_t count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

static bool is_among(const char *word, const char *const *names)
{
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (strcmp(word, names[i]) == 0)
            return true;
    }
    return false;
}

/* Names of all variants of all dims, NULL-terminated. */
static const char *const *variant_names(struct arena *arena)
{
    const char **names = ARENA_PUSH(arena, const char *, NAMES_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < dim_table_count; i++) {
        for (uint32_t v = 0; v < dim_table[i]->variant_count && count + 1 < NAMES_MAX; v++) {
            if (dim_table[i]->variants[v].name != NULL)
                names[count++] = dim_table[i]->variants[v].name;
        }
    }
    return names;
}

/* An array of words out of `known`, which the runtime accepts; absent: all. */
static bool read_words(struct json_value object, const char *key, const char *const *known,
                       struct arena *arena, const char **out, struct diag *diag)
{
    struct json_value list = json_find(object, key);
    if (json_is_null(list))
        return true;
    if (!json_is_array(list) || json_count(list) >= RUNTIME_LIST_MAX)
        return diag_push(diag, DIAG_B107, json_place(list), NULL,
                         "%s must be a list of at most %d names", key, RUNTIME_LIST_MAX - 1);
    bool good = true;
    for (uint32_t i = 0; i < json_count(list); i++) {
        struct json_value element = json_find_index(list, i);
        const char *word = "";
        if (json_value_string(element, &word) && is_among(word, known)) {
            out[i] = text_build(arena, "%s", word);
            continue;
        }
        const char *nearest = text_find_nearest(word, known, count_names(known));
        good = diag_push(diag, DIAG_B110, json_place(element),
                         nearest == NULL ? NULL : text_build(arena, "did you mean '%s'?", nearest),
                         "%s: '%s' is not known", key, word);
    }
    return good;
}

/* "zero_levels": [0, 1] to a bit set. */
static bool read_levels(struct json_value object, uint32_t *out, struct diag *diag)
{
    struct json_value list = json_find(object, "zero_levels");
    uint32_t levels = 0;
    for (uint32_t i = 0; json_is_array(list) && i < json_count(list); i++) {
        uint64_t level = 0;
        if (!json_value_u64(json_find_index(list, i), &level) || level > 3)
            return diag_push(diag, DIAG_B108, json_place(json_find_index(list, i)), NULL,
                             "zero_levels: a level is 0, 1, 2 or 3");
        levels |= 1u << level;
    }
    if (levels == 0)
        return diag_push(diag, DIAG_B106, json_place(json_is_absent(list) ? object : list), NULL,
                         "zero_levels must list the sharding levels accepted, such as [0, 1]");
    *out = levels;
    return true;
}

static bool read_lists(struct json_value object, struct arena *arena, struct runtime *out,
                       struct diag *diag)
{
    bool good = read_words(object, "schedules", schedule_names(), arena, out->schedules, diag);
    good = read_words(object, "dims", dim_names(), arena, out->dims, diag) && good;
    good = read_words(object, "variants", variant_names(arena), arena, out->variants, diag) && good;
    return read_levels(object, &out->zero_levels, diag) && good;
}

static bool read_flags(struct json_value object, struct runtime *out, struct diag *diag)
{
    bool good = json_read_bool_or(object, "zero_pipeline_only_first", false,
                                  &out->zero_pipeline_only_first, diag);
    good = json_read_bool_or(object, "overlaps_gradient_reduce", false,
                             &out->overlaps_gradient_reduce, diag) &&
           good;
    good = json_read_bool_or(object, "overlaps_parameter_gather", false,
                             &out->overlaps_parameter_gather, diag) &&
           good;
    good = json_read_bool_or(object, "overlaps_send", false, &out->overlaps_send, diag) && good;
    return json_read_bool_or(object, "hides_regather", false, &out->hides_regather, diag) && good;
}

/* A quantity of whole bytes. */
static bool read_bytes(struct json_value object, const char *key, uint64_t max, uint64_t *out,
                       struct diag *diag)
{
    double bytes = 0;
    if (!json_read_quantity(object, key, UNIT_BYTES, &bytes, diag))
        return false;
    if (bytes > (double)max)
        return diag_push(diag, DIAG_B108, json_place(json_find(object, key)), NULL,
                         "%s must be at most %llu B", key, (unsigned long long)max);
    *out = (uint64_t)bytes;
    return true;
}

static bool read_amounts(struct json_value object, struct runtime *out, struct diag *diag)
{
    uint64_t gradient = 0, master = 0;
    bool good = read_bytes(object, "gradient", 16, &gradient, diag);
    good = read_bytes(object, "master", 16, &master, diag) && good;
    good = read_bytes(object, "context", UINT64_C(1) << 40, &out->context_bytes, diag) && good;
    good = read_bytes(object, "communicator", UINT64_C(1) << 40, &out->communicator_bytes, diag) &&
           good;
    good = json_read_u32(object, "vocab_multiple", 1, 1u << 20, &out->vocab_multiple, diag) && good;
    good =
        json_read_quantity(object, "op_overhead", UNIT_SECONDS, &out->op_overhead_s, diag) && good;
    good = json_read_quantity(object, "step_overhead", UNIT_SECONDS, &out->step_overhead_s, diag) &&
           good;
    good = json_read_double(object, "allocator_frac", 0, 1, &out->allocator_frac, diag) && good;
    out->gradient_bytes = (uint32_t)gradient;
    out->master_bytes = (uint32_t)master;
    return good;
}

static bool read_object(struct json_value object, struct arena *arena, struct runtime *out,
                        struct diag *diag)
{
    static const char *const formats[] = {"shardplan/runtime/1", NULL};
    uint32_t format = 0;
    bool good = json_read_choice(object, "format", formats, &format, diag);
    good = json_check_keys(object, keys, diag) && good;
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    good = json_read_string(object, "summary", arena, &out->summary, diag) && good;
    good = json_read_string(object, "source", arena, &out->source, diag) && good;
    good = read_lists(object, arena, out, diag) && good;
    good = read_flags(object, out, diag) && good;
    return read_amounts(object, out, diag) && good;
}

bool runtime_accepts_schedule(const struct runtime *runtime, const char *schedule)
{
    return runtime->schedules[0] == NULL || is_among(schedule, runtime->schedules);
}

bool runtime_accepts_dim(const struct runtime *runtime, const char *dim)
{
    return runtime->dims[0] == NULL || is_among(dim, runtime->dims);
}

bool runtime_accepts_variant(const struct runtime *runtime, const char *variant)
{
    return variant == NULL || runtime->variants[0] == NULL || is_among(variant, runtime->variants);
}

static unsigned long long digest_names(unsigned long long digest, const char *const *names)
{
    for (uint32_t i = 0; names[i] != NULL; i++)
        digest = text_digest(digest, names[i], strlen(names[i]) + 1);
    return text_digest(digest, "/", 1);
}

unsigned long long runtime_digest(const struct runtime *runtime)
{
    const double amounts[] = {
        runtime->zero_levels,
        runtime->zero_pipeline_only_first,
        runtime->overlaps_gradient_reduce,
        runtime->overlaps_parameter_gather,
        runtime->overlaps_send,
        runtime->hides_regather,
        runtime->gradient_bytes,
        runtime->master_bytes,
        runtime->vocab_multiple,
        runtime->op_overhead_s,
        runtime->step_overhead_s,
        runtime->allocator_frac,
        (double)runtime->context_bytes,
        (double)runtime->communicator_bytes,
    };
    unsigned long long digest = digest_names(TEXT_DIGEST_SEED, runtime->schedules);
    digest = digest_names(digest, runtime->dims);
    digest = digest_names(digest, runtime->variants);
    return text_digest(digest, amounts, sizeof amounts);
}

bool runtime_read(const char *name, struct diag_place place, struct arena *arena,
                  struct runtime *out, struct diag *diag)
{
    const char *const *known = data_folder_each("prices/runtimes", ".json", arena);
    if (!is_among(name, known)) {
        const char *nearest = text_find_nearest(name, known, count_names(known));
        const char *hint = nearest == NULL ? "'list runtimes' prints those known"
                                           : text_build(arena, "did you mean '%s'?", nearest);
        return diag_push(diag, DIAG_R550, place, hint, "no runtime is called '%s'", name);
    }
    struct json *document = NULL;
    const char *path = data_folder_find(text_build(arena, "prices/runtimes/%s.json", name), arena);
    if (!json_open(path, false, arena, &document, diag))
        return false;
    struct runtime runtime = {0};
    bool good = read_object(json_root(document), arena, &runtime, diag);
    json_close(document);
    if (good)
        *out = runtime;
    return good;
}
