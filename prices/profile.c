/* Profiles read from files, written to them. */
#include "prices/profile.h"

#include <string.h>

#include "prices/fabric.h"

#define FORMAT "shardplan/profile/1"
#define SIZE_MAX_COUNT (1ull << 40)
#define RANKS_MAX (1u << 24)
#define BYTES_MAX 1e18

const char *const profile_kind_names[PROFILE_KIND_COUNT] = {"gemm", "attention", "stream",
                                                            "collectives"};

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_size(struct json_value object, const char *key, uint64_t fallback, uint64_t *out,
                      struct diag *diag)
{
    *out = fallback;
    return (fallback > 0 && json_is_absent(json_find(object, key))) ||
           json_read_u64(object, key, 1, SIZE_MAX_COUNT, out, diag);
}

static bool read_dtype(struct json_value object, enum dtype *out, struct diag *diag)
{
    const char *names[DTYPE_COUNT + 1] = {NULL};
    uint32_t index = 0;
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        names[dtype] = dtype_name(dtype);
    }
    const bool good = json_read_choice(object, "dtype", names, &index, diag);
    *out = (enum dtype)index;
    return good;
}

static bool read_time(struct json_value object, double *out, struct diag *diag)
{
    return json_read_quantity(object, "time", UNIT_SECONDS, out, diag) &&
           (*out > 0.0 || diag_push(diag, DIAG_R504, json_place(object),
                                    "leave out what could not be measured", "a time of 0 s"));
}

static bool read_matmul(struct json_value object, struct profile_matmul *out, struct diag *diag)
{
    static const char *const keys[] = {"dtype", "m", "n", "k", "groups", "time", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = read_dtype(object, &out->dtype, diag) && good;
    good = read_size(object, "m", 0, &out->m, diag) && good;
    good = read_size(object, "n", 0, &out->n, diag) && good;
    good = read_size(object, "k", 0, &out->k, diag) && good;
    good = read_size(object, "groups", 1, &out->groups, diag) && good;
    return read_time(object, &out->seconds, diag) && good;
}

static bool read_attention(struct json_value object, struct profile_attention *out,
                           struct diag *diag)
{
    static const char *const keys[] = {"dtype",    "batch",  "heads", "kv_heads", "queries", "keys",
                                       "head_dim", "causal", "pass",  "time",     NULL};
    static const char *const passes[] = {"forward", "backward", NULL};
    uint32_t pass = 0;
    bool good = json_check_keys(object, keys, diag);
    good = read_dtype(object, &out->dtype, diag) && good;
    good = read_size(object, "batch", 0, &out->batch, diag) && good;
    good = read_size(object, "heads", 0, &out->heads, diag) && good;
    good = read_size(object, "queries", 0, &out->queries, diag) && good;
    good = read_size(object, "head_dim", 0, &out->head_dim, diag) && good;
    good = good && read_size(object, "kv_heads", out->heads, &out->kv_heads, diag);
    good = good && read_size(object, "keys", out->queries, &out->keys, diag);
    good = json_read_bool_or(object, "causal", false, &out->causal, diag) && good;
    good = json_read_choice(object, "pass", passes, &pass, diag) && good;
    out->backward = pass == 1;
    return read_time(object, &out->seconds, diag) && good;
}

static bool read_stream(struct json_value object, struct profile_stream *out, struct diag *diag)
{
    static const char *const keys[] = {"bytes", "time", NULL};
    bool good = json_check_keys(object, keys, diag);
    good = json_read_double(object, "bytes", 1.0, BYTES_MAX, &out->bytes, diag) && good;
    return read_time(object, &out->seconds, diag) && good;
}

static bool read_collective(struct json_value object, struct arena *arena,
                            struct profile_collective *out, struct diag *diag)
{
    static const char *const keys[] = {"kind",  "link", "ranks", "ranks_per_node",
                                       "bytes", "time", NULL};
    const char *names[COLLECTIVE_KIND_COUNT + 1] = {NULL};
    uint32_t kind = 0;
    for (uint32_t i = 0; i < COLLECTIVE_KIND_COUNT; i++) {
        names[i] = collective_kind_name((enum collective_kind)i);
    }
    bool good = json_check_keys(object, keys, diag);
    good = json_read_choice(object, "kind", names, &kind, diag) && good;
    out->kind = (enum collective_kind)kind;
    good = json_read_string(object, "link", arena, &out->link, diag) && good;
    good = json_read_u32(object, "ranks", 2, RANKS_MAX, &out->ranks, diag) && good;
    good = json_read_u32_or(object, "ranks_per_node", 1, RANKS_MAX, out->ranks,
                            &out->ranks_per_node, diag) &&
           good;
    good = json_read_double(object, "bytes", 1.0, BYTES_MAX, &out->bytes, diag) && good;
    return read_time(object, &out->seconds, diag) && good;
}

/* Length of an optional list; false if it is something else. */
static bool list_of(struct json_value root, const char *key, struct json_value *list,
                    uint32_t *count, struct diag *diag)
{
    *list = json_find(root, key);
    *count = json_is_array(*list) ? json_count(*list) : 0;
    return json_is_absent(*list) || json_is_array(*list) ||
           diag_push(diag, DIAG_B107, json_place(*list), NULL, "'%s' is no list", key);
}

static bool read_kernels(struct json_value root, struct arena *arena, struct profile *out,
                         struct diag *diag)
{
    struct json_value list;
    bool good = list_of(root, "gemm", &list, &out->matmul_count, diag);
    out->matmuls = ARENA_PUSH(arena, struct profile_matmul, out->matmul_count);
    for (uint32_t i = 0; i < out->matmul_count; i++) {
        good = read_matmul(json_find_index(list, i), &out->matmuls[i], diag) && good;
    }
    good = list_of(root, "attention", &list, &out->attention_count, diag) && good;
    out->attentions = ARENA_PUSH(arena, struct profile_attention, out->attention_count);
    for (uint32_t i = 0; i < out->attention_count; i++) {
        good = read_attention(json_find_index(list, i), &out->attentions[i], diag) && good;
    }
    good = list_of(root, "stream", &list, &out->stream_count, diag) && good;
    out->streams = ARENA_PUSH(arena, struct profile_stream, out->stream_count);
    for (uint32_t i = 0; i < out->stream_count; i++) {
        good = read_stream(json_find_index(list, i), &out->streams[i], diag) && good;
    }
    return good;
}

static bool read_messages(struct json_value root, struct arena *arena, struct profile *out,
                          struct diag *diag)
{
    static const char *const constant_keys[] = {"links", NULL};
    struct json_value list;
    bool good = list_of(root, "collectives", &list, &out->collective_count, diag);
    out->collectives = ARENA_PUSH(arena, struct profile_collective, out->collective_count);
    for (uint32_t i = 0; i < out->collective_count; i++) {
        good = read_collective(json_find_index(list, i), arena, &out->collectives[i], diag) && good;
    }
    const struct json_value constants = json_find(root, "constants");
    if (json_is_absent(constants)) {
        return good;
    }
    good = json_check_keys(constants, constant_keys, diag) && good;
    return fabric_read_links(json_find(constants, "links"), arena, &out->links, &out->link_count,
                             diag) &&
           good;
}

static bool read_residuals(struct json_value root, struct profile *out, struct diag *diag)
{
    static const char *const kinds[] = {"gemm", "attention", "stream", "collectives", NULL};
    static const char *const keys[] = {"count", "median_abs_error_frac", "p90_abs_error_frac",
                                       "bias_frac", NULL};
    const struct json_value residuals = json_find(root, "residuals");
    if (json_is_absent(residuals)) {
        return true;
    }
    bool good = json_check_keys(residuals, kinds, diag);
    for (uint32_t i = 0; i < PROFILE_KIND_COUNT; i++) {
        const struct json_value object = json_find(residuals, kinds[i]);
        struct profile_residual *residual = &out->residuals[i];
        if (json_is_absent(object)) {
            continue;
        }
        good = json_check_keys(object, keys, diag) && good;
        good = json_read_u32(object, "count", 1, UINT32_MAX, &residual->count, diag) && good;
        good = json_read_double_or(object, "median_abs_error_frac", 0.0, 1e9, 0.0,
                                   &residual->median_abs_frac, diag) &&
               good;
        good = json_read_double_or(object, "p90_abs_error_frac", 0.0, 1e9, 0.0,
                                   &residual->p90_abs_frac, diag) &&
               good;
        good =
            json_read_double_or(object, "bias_frac", -1.0, 1e9, 0.0, &residual->bias_frac, diag) &&
            good;
    }
    return good;
}

static bool read_root(struct json_value root, struct arena *arena, struct profile *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"format",      "name",      "accelerator", "source",
                                       "notes",       "gemm",      "attention",   "stream",
                                       "collectives", "constants", "residuals",   NULL};
    const char *format = NULL;
    if (!json_read_string(root, "format", arena, &format, diag)) {
        return false;
    }
    if (strcmp(format, FORMAT) != 0) {
        return diag_push(diag, DIAG_B112, json_place(json_find(root, "format")), NULL,
                         "format '%s' is no profile: write \"%s\"", format, FORMAT);
    }
    bool good = json_check_keys(root, keys, diag);
    good = json_read_string(root, "name", arena, &out->name, diag) && good;
    good = json_read_string(root, "accelerator", arena, &out->accelerator, diag) && good;
    good = json_read_string(root, "source", arena, &out->source, diag) && good;
    good = json_read_string_or(root, "notes", "", arena, &out->notes, diag) && good;
    good = read_kernels(root, arena, out, diag) && good;
    good = read_messages(root, arena, out, diag) && good;
    return read_residuals(root, out, diag) && good;
}

bool profile_read(const char *path, struct arena *arena, struct profile *out, struct diag *diag)
{
    struct profile read = {.name = ""};
    struct json *document = NULL;
    if (!json_open(path, false, arena, &document, diag)) {
        return false;
    }
    read.digest = json_digest(document);
    const bool good = read_root(json_root(document), arena, &read, diag);
    json_close(document);
    if (good) {
        *out = read;
    }
    return good;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void dump_matmuls(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "gemm");
    json_push_array(out);
    for (uint32_t i = 0; i < profile->matmul_count; i++) {
        const struct profile_matmul *row = &profile->matmuls[i];
        json_push_object(out);
        json_push_key_string(out, "dtype", dtype_name(row->dtype));
        json_push_key_u64(out, "m", row->m);
        json_push_key_u64(out, "n", row->n);
        json_push_key_u64(out, "k", row->k);
        if (row->groups != 1) {
            json_push_key_u64(out, "groups", row->groups);
        }
        json_push_key_quantity(out, "time", UNIT_SECONDS, row->seconds);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_attentions(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "attention");
    json_push_array(out);
    for (uint32_t i = 0; i < profile->attention_count; i++) {
        const struct profile_attention *row = &profile->attentions[i];
        json_push_object(out);
        json_push_key_string(out, "dtype", dtype_name(row->dtype));
        json_push_key_u64(out, "batch", row->batch);
        json_push_key_u64(out, "heads", row->heads);
        json_push_key_u64(out, "kv_heads", row->kv_heads);
        json_push_key_u64(out, "queries", row->queries);
        json_push_key_u64(out, "keys", row->keys);
        json_push_key_u64(out, "head_dim", row->head_dim);
        json_push_key_bool(out, "causal", row->causal);
        json_push_key_string(out, "pass", row->backward ? "backward" : "forward");
        json_push_key_quantity(out, "time", UNIT_SECONDS, row->seconds);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_streams(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "stream");
    json_push_array(out);
    for (uint32_t i = 0; i < profile->stream_count; i++) {
        json_push_object(out);
        json_push_key_double(out, "bytes", profile->streams[i].bytes);
        json_push_key_quantity(out, "time", UNIT_SECONDS, profile->streams[i].seconds);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_collectives(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "collectives");
    json_push_array(out);
    for (uint32_t i = 0; i < profile->collective_count; i++) {
        const struct profile_collective *row = &profile->collectives[i];
        json_push_object(out);
        json_push_key_string(out, "kind", collective_kind_name(row->kind));
        json_push_key_string(out, "link", row->link);
        json_push_key_u64(out, "ranks", row->ranks);
        json_push_key_u64(out, "ranks_per_node", row->ranks_per_node);
        json_push_key_double(out, "bytes", row->bytes);
        json_push_key_quantity(out, "time", UNIT_SECONDS, row->seconds);
        json_pop_object(out);
    }
    json_pop_array(out);
}

static void dump_constants(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "constants");
    json_push_object(out);
    json_push_key(out, "links");
    fabric_dump_links(profile->links, profile->link_count, out);
    json_pop_object(out);
}

static void dump_residuals(const struct profile *profile, struct json_writer *out)
{
    json_push_key(out, "residuals");
    json_push_object(out);
    for (uint32_t i = 0; i < PROFILE_KIND_COUNT; i++) {
        const struct profile_residual *residual = &profile->residuals[i];
        if (residual->count == 0) {
            continue;
        }
        json_push_key(out, profile_kind_names[i]);
        json_push_object(out);
        json_push_key_u64(out, "count", residual->count);
        json_push_key_double(out, "median_abs_error_frac", residual->median_abs_frac);
        json_push_key_double(out, "p90_abs_error_frac", residual->p90_abs_frac);
        json_push_key_double(out, "bias_frac", residual->bias_frac);
        json_pop_object(out);
    }
    json_pop_object(out);
}

void profile_dump(const struct profile *profile, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "format", FORMAT);
    json_push_key_string(out, "name", profile->name);
    json_push_key_string(out, "accelerator", profile->accelerator);
    json_push_key_string(out, "source", profile->source);
    if (profile->notes != NULL && profile->notes[0] != '\0') {
        json_push_key_string(out, "notes", profile->notes);
    }
    dump_matmuls(profile, out);
    dump_attentions(profile, out);
    dump_streams(profile, out);
    dump_collectives(profile, out);
    if (profile->link_count > 0) {
        dump_constants(profile, out);
    }
    dump_residuals(profile, out);
    json_pop_object(out);
}
