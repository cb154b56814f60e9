/* A training framework as data: what it accepts, overlaps, spends. */
#include <string.h>

#include "base/data_folder.h"
#include "plan/runtime_inside.h"

#define BYTES_MAX 1e12

static const char *const keys[] = {
    "format",
    "name",
    "like",
    "summary",
    "source",
    "notes",
    "devices",
    "schedules",
    "dims",
    "variants",
    "rank_orders",
    "other_rank_orders",
    "needs",
    "recompute",
    "offloads",
    "exclusive",
    "chunks_on_one_stage",
    "deals_by_flops",
    "even_layers",
    "unsharded_alone",
    "models",
    "zero_levels",
    "zero_pipeline_only_first",
    "overlaps_gradient_reduce",
    "overlaps_parameter_gather",
    "overlaps_send",
    "overlaps_send_of_chunks",
    "scatters_sends",
    "hides_regather",
    "gradient_bytes",
    "gradient_copy_bytes",
    "widens_gradients",
    "sums_once_in_pipeline",
    "keeps_fp32_shards",
    "holds_partials",
    "master_bytes",
    "saved_factor",
    "sends_rows_once",
    "saves_narrow",
    "fuses_accumulation",
    "fuses_loss",
    "weighs_inside",
    "vocab_multiple",
    "op_overhead",
    "op_gap",
    "attention_frac",
    "portable_attention",
    "quantise_bytes",
    "stream_factor",
    "dispatch_overhead",
    "overlaps_tensor",
    "tensor_exposed_frac",
    "overlaps_exchange",
    "overlap_loss_frac",
    "step_overhead",
    "allocator_frac",
    "cached_frac",
    "context",
    "gather_bucket",
    "communicator",
    "band",
    "frameworks",
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

/* "zero_levels": [0, 1] to a bit set. */
static bool read_levels(struct json_value object, struct runtime *out, struct diag *diag)
{
    struct json_value list = json_find(object, "zero_levels");
    uint32_t levels = 0;
    if (json_is_absent(list) && out->zero_levels != 0)
        return true;
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
    out->zero_levels = levels;
    return true;
}

static bool read_lists(struct json_value object, struct arena *arena, struct runtime *out,
                       struct diag *diag)
{
    bool good = runtime_read_names(object, "devices", arena, out->devices, diag);
    good = runtime_read_names(object, "schedules", arena, out->schedules, diag) && good;
    good = runtime_read_names(object, "dims", arena, out->dims, diag) && good;
    good = runtime_read_names(object, "variants", arena, out->variants, diag) && good;
    good = runtime_read_names(object, "recompute", arena, out->recompute, diag) && good;
    good = runtime_read_names(object, "exclusive", arena, out->exclusive, diag) && good;
    good = runtime_read_models(object, arena, out, diag) && good;
    good = runtime_read_names(object, "frameworks", arena, out->frameworks, diag) && good;
    good = runtime_read_ranks(object, arena, out, diag) && good;
    good = runtime_read_offloads(object, arena, out, diag) && good;
    return read_levels(object, out, diag) && good;
}

static bool read_flags(struct json_value object, struct runtime *out, struct diag *diag)
{
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        {"zero_pipeline_only_first", &out->zero_pipeline_only_first},
        {"chunks_on_one_stage", &out->chunks_on_one_stage},
        {"deals_by_flops", &out->deals_by_flops},
        {"even_layers", &out->even_layers},
        {"unsharded_alone", &out->unsharded_alone},
        {"overlaps_gradient_reduce", &out->overlaps_gradient_reduce},
        {"overlaps_parameter_gather", &out->overlaps_parameter_gather},
        {"overlaps_send", &out->overlaps_send},
        {"overlaps_send_of_chunks", &out->overlaps_send_of_chunks},
        {"overlaps_tensor", &out->overlaps_tensor},
        {"overlaps_exchange", &out->overlaps_exchange},
        {"scatters_sends", &out->scatters_sends},
        {"hides_regather", &out->hides_regather},
        {"portable_attention", &out->portable_attention},
        {"sends_rows_once", &out->sends_rows_once},
        {"saves_narrow", &out->saves_narrow},
        {"fuses_accumulation", &out->fuses_accumulation},
        {"fuses_loss", &out->fuses_loss},
        {"weighs_inside", &out->weighs_inside},
        {"widens_gradients", &out->widens_gradients},
        {"sums_once_in_pipeline", &out->sums_once_in_pipeline},
        {"keeps_fp32_shards", &out->keeps_fp32_shards},
        {"holds_partials", &out->holds_partials},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        good = json_read_bool_or(object, flags[i].key, *flags[i].flag, flags[i].flag, diag) && good;
    return good;
}

static bool read_numbers(struct json_value object, struct runtime *out, struct diag *diag)
{
    const struct {
        const char *key;
        double min, max, *number;
    } numbers[] = {
        {"attention_frac", 0.01, 1, &out->attention_frac},
        {"quantise_bytes", 0, 64, &out->quantise_bytes},
        {"stream_factor", 1, 16, &out->stream_factor},
        {"tensor_exposed_frac", 0, 1, &out->tensor_exposed_frac},
        {"overlap_loss_frac", 0, 1, &out->overlap_loss_frac},
        {"saved_factor", 1, 16, &out->saved_factor},
        {"allocator_frac", 0, 1, &out->allocator_frac},
        {"cached_frac", 0, 1, &out->cached_frac},
    };
    bool good = true;
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        good = json_read_double_or(object, numbers[i].key, numbers[i].min, numbers[i].max,
                                   *numbers[i].number, numbers[i].number, diag) &&
               good;
    return good;
}

static bool read_times(struct json_value object, struct runtime *out, struct diag *diag)
{
    const struct {
        const char *key;
        double *seconds;
    } times[] = {{"op_overhead", &out->op_overhead_s},
                 {"op_gap", &out->op_gap_s},
                 {"dispatch_overhead", &out->dispatch_overhead_s},
                 {"step_overhead", &out->step_overhead_s}};
    bool good = true;
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++)
        good = json_read_quantity_or(object, times[i].key, UNIT_SECONDS, *times[i].seconds,
                                     times[i].seconds, diag) &&
               good;
    return good;
}

/* What one parameter costs. Must be stated, but by a file that is like another. */
static bool read_states(struct json_value object, bool inherits, struct runtime *out,
                        struct diag *diag)
{
    bool good = inherits && json_is_absent(json_find(object, "gradient_bytes"));
    good = good || json_read_u32(object, "gradient_bytes", 0, 16, &out->gradient_bytes, diag);
    if (!inherits || !json_is_absent(json_find(object, "master_bytes")))
        good = json_read_u32(object, "master_bytes", 0, 16, &out->master_bytes, diag) && good;
    return json_read_u32_or(object, "gradient_copy_bytes", 0, 16, out->gradient_copy_bytes,
                            &out->gradient_copy_bytes, diag) &&
           good;
}

static bool read_amounts(struct json_value object, struct runtime *out, struct diag *diag)
{
    const struct {
        const char *key;
        uint64_t *bytes;
    } sizes[] = {{"context", &out->context_bytes},
                 {"gather_bucket", &out->gather_bucket_bytes},
                 {"communicator", &out->communicator_bytes}};
    bool good = json_read_u32_or(object, "vocab_multiple", 1, 1u << 20, out->vocab_multiple,
                                 &out->vocab_multiple, diag);
    good = read_numbers(object, out, diag) && good;
    good = read_times(object, out, diag) && good;
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double bytes = 0;
        good = json_read_quantity_or(object, sizes[i].key, UNIT_BYTES, (double)*sizes[i].bytes,
                                     &bytes, diag) &&
               good;
        if (bytes > BYTES_MAX)
            return diag_push(diag, DIAG_B108, json_place(json_find(object, sizes[i].key)), NULL,
                             "%s must be below 1 TB", sizes[i].key);
        *sizes[i].bytes = (uint64_t)bytes;
    }
    return good;
}

static bool read_band(struct json_value object, struct runtime_band *out, struct diag *diag)
{
    static const char *const band_keys[] = {"low_frac", "high_frac", "rows", NULL};
    const struct json_value band = json_find(object, "band");
    if (json_is_absent(band))
        return true;
    return json_check_keys(band, band_keys, diag) &&
           json_read_double(band, "low_frac", -1, 0, &out->low_frac, diag) &&
           json_read_double(band, "high_frac", 0, 10, &out->high_frac, diag) &&
           json_read_u32(band, "rows", 1, 1u << 30, &out->rows, diag);
}

/* A file that is like another states only what differs; words of tables are its own. */
static bool read_like(struct json_value object, struct arena *arena, struct runtime *out,
                      struct diag *diag)
{
    const char *like = NULL;
    if (json_is_absent(json_find(object, "like")))
        return true;
    if (!json_read_string(object, "like", arena, &like, diag) ||
        !runtime_read(like, json_place(json_find(object, "like")), arena, out, diag))
        return false;
    if (strcmp(out->family, like) != 0)
        return diag_push(diag, DIAG_B108, json_place(json_find(object, "like")), NULL,
                         "'%s' is itself like '%s': be like that one", like, out->family);
    memset(out->frameworks, 0, sizeof out->frameworks);
    return true;
}

static bool read_object(struct json_value object, struct arena *arena, struct runtime *out,
                        struct diag *diag)
{
    static const char *const formats[] = {"shardplan/runtime/1", NULL};
    uint32_t format = 0;
    bool good = json_read_choice(object, "format", formats, &format, diag);
    good = json_check_keys(object, keys, diag) && good;
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    if (!good || !read_like(object, arena, out, diag))
        return false;
    const bool inherits = out->family != NULL;
    good = json_read_string(object, "name", arena, &out->name, diag) && good;
    out->family = inherits ? out->family : out->name;
    good = json_read_string_or(object, "summary", "", arena, &out->summary, diag) && good;
    good = json_read_string(object, "source", arena, &out->source, diag) && good;
    good = read_lists(object, arena, out, diag) && good;
    good = read_flags(object, out, diag) && good;
    good = read_band(object, &out->band, diag) && good;
    good = read_states(object, inherits, out, diag) && good;
    return read_amounts(object, out, diag) && good;
}

bool runtime_lists_schedule(const struct runtime *runtime, const char *schedule)
{
    return is_among(schedule, runtime->schedules);
}

bool runtime_accepts_schedule(const struct runtime *runtime, const char *schedule)
{
    return runtime->schedules[0] == NULL || runtime_lists_schedule(runtime, schedule);
}

bool runtime_accepts_dim(const struct runtime *runtime, const char *dim)
{
    return runtime->dims[0] == NULL || is_among(dim, runtime->dims);
}

bool runtime_send_blocks(const struct runtime *runtime, uint32_t chunks)
{
    return !runtime->overlaps_send || (runtime->overlaps_send_of_chunks && chunks == 1);
}

bool runtime_accepts_variant(const struct runtime *runtime, const char *variant)
{
    return variant == NULL || runtime->variants[0] == NULL || is_among(variant, runtime->variants);
}

bool runtime_accepts_recompute(const struct runtime *runtime, const char *kind)
{
    return runtime->recompute[0] == NULL || is_among(kind, runtime->recompute);
}

uint32_t runtime_find_place(const struct runtime *runtime, const char *dim, uint32_t otherwise)
{
    for (uint32_t i = 0; runtime->order_count > 0 && runtime->orders[0].dims[i] != NULL; i++) {
        if (strcmp(runtime->orders[0].dims[i], dim) == 0)
            return i;
    }
    return otherwise;
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
        runtime->unsharded_alone,
        runtime->deals_by_flops,
        runtime->even_layers,
        runtime->chunks_on_one_stage,
        runtime->overlaps_gradient_reduce,
        runtime->overlaps_parameter_gather,
        runtime->overlaps_send,
        runtime->overlaps_send_of_chunks,
        runtime->scatters_sends,
        runtime->hides_regather,
        runtime->gradient_bytes,
        runtime->gradient_copy_bytes,
        runtime->widens_gradients,
        runtime->sums_once_in_pipeline,
        runtime->keeps_fp32_shards,
        runtime->holds_partials,
        runtime->master_bytes,
        runtime->saved_factor,
        runtime->vocab_multiple,
        runtime->op_overhead_s,
        runtime->op_gap_s,
        runtime->attention_frac,
        runtime->portable_attention,
        runtime->quantise_bytes,
        runtime->stream_factor,
        runtime->dispatch_overhead_s,
        runtime->overlaps_tensor,
        runtime->overlaps_exchange,
        runtime->sends_rows_once,
        runtime->saves_narrow,
        runtime->fuses_accumulation,
        runtime->fuses_loss,
        runtime->weighs_inside,
        runtime->tensor_exposed_frac,
        runtime->overlap_loss_frac,
        runtime->step_overhead_s,
        runtime->allocator_frac,
        runtime->cached_frac,
        (double)runtime->context_bytes,
        (double)runtime->gather_bucket_bytes,
        (double)runtime->communicator_bytes,
    };
    unsigned long long digest = digest_names(TEXT_DIGEST_SEED, runtime->schedules);
    digest = digest_names(digest, runtime->dims);
    digest = digest_names(digest, runtime->variants);
    digest = digest_names(digest, runtime->recompute);
    digest = digest_names(digest, runtime->exclusive);
    for (uint32_t i = 0; i < runtime->order_count; i++) {
        const struct runtime_order *order = &runtime->orders[i];
        const char *const equal[] = {order->equal[0], order->equal[1], NULL};
        digest = digest_names(digest_names(digest, order->dims), equal);
    }
    for (uint32_t i = 0; i < runtime->need_count; i++) {
        const struct runtime_need *need = &runtime->needs[i];
        const char *const names[] = {need->axis, need->dim, need->fold, NULL};
        digest = digest_names(digest, names);
    }
    digest = runtime_offloads_digest(runtime, digest);
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
    struct runtime runtime = {.vocab_multiple = 1,
                              .attention_frac = 1.0,
                              .stream_factor = 1.0,
                              .saved_factor = 1.0,
                              .tensor_exposed_frac = 1.0};
    bool good = read_object(json_root(document), arena, &runtime, diag);
    json_close(document);
    if (good)
        *out = runtime;
    return good;
}

bool runtime_runs_on(const struct runtime *runtime, const struct accelerator *kind)
{
    const size_t vendor = strlen(kind->vendor);
    bool runs = runtime->devices[0] == NULL || vendor == 0 || kind->kind[0] == '\0';
    for (uint32_t i = 0; !runs && runtime->devices[i] != NULL; i++) {
        const char *device = runtime->devices[i];
        runs = strncmp(device, kind->vendor, vendor) == 0 && device[vendor] == ' ' &&
               strcmp(device + vendor + 1, kind->kind) == 0;
    }
    return runs;
}
