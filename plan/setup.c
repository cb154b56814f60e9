/* What one training step is, read from an object, checked, written back. */
#include "plan/setup.h"

#include <string.h>

static const char *const modes[SETUP_MODE_COUNT + 1] = {
    [SETUP_STEP] = "step",
    [SETUP_THROUGHPUT] = "throughput",
    [SETUP_ROUNDS] = "rounds",
    [SETUP_ARRIVALS] = "arrivals",
};

static const char *const attentions[] = {"flash", "plain", NULL};

static const char *const packings[PACKING_COUNT + 1] = {
    [PACKING_PAD] = "padded",
    [PACKING_PACK] = "packed",
};

static const char *const keys[] = {
    "global_batch",  "seq_length",  "dtype",   "optimizer",
    "runtime",       "attention",   "task",    "prompt_length",
    "output_length", "cache_dtype", "mode",    "memory_headroom_frac",
    "spare_devices", "lengths",     "packing", "expert_load",
    "phases",        NULL,
};

const char *const *setup_mode_names(void)
{
    return modes;
}

const char *const *setup_attention_names(void)
{
    return attentions;
}

const char *const *setup_packing_names(void)
{
    return packings;
}

/* A choice that may be absent. */
static bool read_choice_or(struct json_value object, const char *key, const char *const *names,
                           uint32_t fallback, uint32_t *out, struct diag *diag)
{
    *out = fallback;
    return json_is_null(json_find(object, key)) || json_read_choice(object, key, names, out, diag);
}

static bool read_words(struct json_value object, struct setup *out, struct diag *diag)
{
    const char *dtypes[DTYPE_COUNT + 1] = {NULL};
    for (uint32_t i = 0; i < DTYPE_COUNT; i++)
        dtypes[i] = dtype_name((enum dtype)i);
    uint32_t dtype = 0, cache = 0, attention = 0, mode = 0, optimizer = 0;
    bool good = read_choice_or(object, "dtype", dtypes, DTYPE_BF16, &dtype, diag);
    good = read_choice_or(object, "cache_dtype", dtypes, dtype, &cache, diag) && good;
    good = read_choice_or(object, "attention", attentions, 0, &attention, diag) && good;
    good = read_choice_or(object, "mode", modes, SETUP_STEP, &mode, diag) && good;
    good = read_choice_or(object, "optimizer", optimizer_names(), 0, &optimizer, diag) && good;
    out->dtype = (enum dtype)dtype;
    out->cache_dtype = (enum dtype)cache;
    out->attention = (enum attention_kind)(ATTENTION_ANY + 1 + attention);
    out->mode = (enum setup_mode)mode;
    out->optimizer = optimizer_find(optimizer_names()[optimizer]);
    return good;
}

static bool read_runtime(struct json_value object, struct arena *arena, struct setup *out,
                         struct diag *diag)
{
    const char *name = NULL;
    struct json_value value = json_find(object, "runtime");
    struct runtime *runtime = ARENA_PUSH(arena, struct runtime, 1);
    if (!json_read_string_or(object, "runtime", RUNTIME_DEFAULT, arena, &name, diag) ||
        !runtime_read(name, json_place(json_is_absent(value) ? object : value), arena, runtime,
                      diag))
        return false;
    out->runtime = runtime;
    return true;
}

/* An array of objects that may be absent; gives its length. */
static bool read_list(struct json_value object, const char *key, struct json_value *out,
                      uint32_t *count, struct diag *diag)
{
    *out = json_find(object, key);
    *count = json_is_array(*out) ? json_count(*out) : 0;
    if (json_is_null(*out) || json_is_array(*out))
        return true;
    return diag_push(diag, DIAG_B107, json_place(*out), NULL, "%s must be a list of objects", key);
}

static bool read_lengths(struct json_value object, struct arena *arena, struct setup *out,
                         struct diag *diag)
{
    static const char *const length_keys[] = {"length", "frac", NULL};
    struct json_value list;
    uint32_t count = 0, packing = PACKING_PAD;
    if (!read_list(object, "lengths", &list, &count, diag) ||
        !read_choice_or(object, "packing", packings, PACKING_PAD, &packing, diag))
        return false;
    struct length_share *lengths = ARENA_PUSH(arena, struct length_share, count);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        struct json_value element = json_find_index(list, i);
        good = json_check_keys(element, length_keys, diag) && good;
        good =
            json_read_u64(element, "length", 1, SETUP_LENGTH_MAX, &lengths[i].length, diag) && good;
        good = json_read_double(element, "frac", 0, 1, &lengths[i].frac, diag) && good;
    }
    out->lengths = lengths;
    out->length_count = count;
    out->packing = (enum packing)packing;
    return good;
}

static bool read_phases(struct json_value object, struct arena *arena, struct setup *out,
                        struct diag *diag)
{
    static const char *const phase_keys[] = {"name", "steps", "global_batch", NULL};
    struct json_value list;
    uint32_t count = 0;
    if (!read_list(object, "phases", &list, &count, diag))
        return false;
    struct training_phase *phases = ARENA_PUSH(arena, struct training_phase, count);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        struct json_value element = json_find_index(list, i);
        good = json_check_keys(element, phase_keys, diag) && good;
        good = json_read_string(element, "name", arena, &phases[i].name, diag) && good;
        good = json_read_u64(element, "steps", 1, UINT64_MAX >> 1, &phases[i].steps, diag) && good;
        if (!json_is_null(json_find(element, "global_batch")))
            good = json_read_u64(element, "global_batch", 1, SETUP_BATCH_MAX,
                                 &phases[i].global_batch, diag) &&
                   good;
    }
    out->phases = phases;
    out->phase_count = count;
    return good;
}

static bool read_length_or_none(struct json_value object, const char *key, uint64_t *out,
                                struct diag *diag)
{
    *out = 0;
    return json_is_null(json_find(object, key)) ||
           json_read_u64(object, key, 0, SETUP_LENGTH_MAX, out, diag);
}

static bool read_task(struct json_value object, struct arena *arena, struct setup *out,
                      struct diag *diag)
{
    const char *text = NULL;
    const struct json_value value = json_find(object, "task");
    bool good = json_read_string_or(object, "task", "pretrain", arena, &text, diag) &&
                task_read(text, json_place(json_is_absent(value) ? object : value), arena,
                          &out->task, diag);
    good = read_length_or_none(object, "prompt_length", &out->prompt_length, diag) && good;
    return read_length_or_none(object, "output_length", &out->output_length, diag) && good;
}

static bool read_setup(struct json_value object, struct arena *arena, struct setup *out,
                       struct diag *diag)
{
    if (!json_is_object(object))
        return diag_push(diag, DIAG_B107, json_place(object), NULL, "a setup must be an object");
    bool good = json_check_keys(object, keys, diag);
    good =
        json_read_u64(object, "global_batch", 1, SETUP_BATCH_MAX, &out->global_batch, diag) && good;
    good = json_read_u64(object, "seq_length", 1, SETUP_LENGTH_MAX, &out->seq_length, diag) && good;
    good = read_words(object, out, diag) && good;
    good = read_runtime(object, arena, out, diag) && good;
    good = read_task(object, arena, out, diag) && good;
    good = json_read_double_or(object, "memory_headroom_frac", 0, 1, 0, &out->memory_headroom_frac,
                               diag) &&
           good;
    good = json_read_u32_or(object, "spare_devices", 0, UINT32_MAX, 0, &out->spare_devices, diag) &&
           good;
    good = read_lengths(object, arena, out, diag) && good;
    good = json_read_double_or(object, "expert_load", 1, SETUP_EXPERT_LOAD_MAX, 1,
                               &out->expert_load, diag) &&
           good;
    return read_phases(object, arena, out, diag) && good;
}

bool setup_read_json(struct json_value object, struct arena *arena, struct setup *out,
                     struct diag *diag)
{
    struct setup setup = {0};
    if (!read_setup(object, arena, &setup, diag) || !setup_settle(&setup, arena, diag) ||
        !setup_check(&setup, diag))
        return false;
    *out = setup;
    return true;
}

uint64_t setup_count_positions(const struct setup *setup, bool images)
{
    if (setup->task.kind != TASK_DECODE)
        return setup->seq_length;
    return images ? setup->prompt_length + (setup->output_length + 1) / 2 : 1;
}

double setup_mean_length(const struct setup *setup)
{
    double mean = 0.0;
    for (uint32_t i = 0; i < setup->length_count; i++) {
        mean += setup->lengths[i].frac * (double)setup->lengths[i].length;
    }
    return setup->length_count == 0 ? (double)setup->seq_length : mean;
}

double setup_length_frac(const struct setup *setup, uint32_t index)
{
    return setup->lengths[index].frac * (double)setup->lengths[index].length /
           setup_mean_length(setup);
}

double setup_token_frac(const struct setup *setup)
{
    return setup->packing == PACKING_PACK ? 1.0
                                          : setup_mean_length(setup) / (double)setup->seq_length;
}

bool setup_has_backward(const struct setup *setup)
{
    return task_trains(&setup->task) && setup->optimizer->forwards == 0;
}

/* The task is the optimizer: it takes the place of the one that stands where nobody says. */
static bool settle_forwards(struct setup *setup, struct diag *diag)
{
    if (setup->optimizer->forwards == 0 &&
        setup->optimizer != optimizer_find(optimizer_names()[0])) {
        return diag_push(diag, DIAG_P401, (struct diag_place){0}, "leave the optimizer out",
                         "task '%s' has an update of its own: not optimizer '%s'", setup->task.text,
                         setup->optimizer->name);
    }
    if (setup->optimizer->forwards == 0)
        setup->optimizer = optimizer_find_forwards();
    return true;
}

/* Where tokens are generated the host is out of the way: engines replay a captured graph of the
 * whole forward, kernel behind kernel. */
static const struct runtime *without_host(const struct runtime *runtime, struct arena *arena)
{
    struct runtime *copy = ARENA_PUSH(arena, struct runtime, 1);
    *copy = *runtime;
    copy->op_overhead_s = 0.0;
    copy->op_gap_s = 0.0;
    copy->dispatch_overhead_s = 0.0;
    copy->step_overhead_s = 0.0;
    return copy;
}

bool setup_settle(struct setup *setup, struct arena *arena, struct diag *diag)
{
    const struct diag_place nowhere = {0};
    if (setup->task.kind == TASK_ZO && !settle_forwards(setup, diag)) {
        return false;
    }
    if (!task_generates(&setup->task)) {
        if (setup->prompt_length == 0 && setup->output_length == 0)
            return true;
        return diag_push(diag, DIAG_P401, nowhere, "leave them out, or name a task that generates",
                         "task '%s' has no prompt_length and output_length", setup->task.text);
    }
    setup->runtime = without_host(setup->runtime, arena);
    if (setup->prompt_length == 0)
        setup->prompt_length = setup->seq_length;
    const uint64_t longest =
        setup->prompt_length + (setup->task.kind == TASK_DECODE ? setup->output_length : 0);
    if (setup->seq_length != 0 && setup->seq_length != longest &&
        setup->prompt_length != setup->seq_length)
        return diag_push(
            diag, DIAG_P401, nowhere, "leave seq_length out",
            "a seq_length of %llu tokens is not the longest sequence of the task, %llu",
            (unsigned long long)setup->seq_length, (unsigned long long)longest);
    setup->seq_length = longest;
    return true;
}

static bool check_lengths(const struct setup *setup, struct diag *diag)
{
    const struct diag_place nowhere = {0};
    double sum = 0;
    bool good = true;
    for (uint32_t i = 0; i < setup->length_count; i++) {
        sum += setup->lengths[i].frac;
        if (setup->lengths[i].length > setup->seq_length)
            good = diag_push(diag, DIAG_P401, nowhere, "seq_length is the longest of them",
                             "a sequence length of %llu tokens is above seq_length %llu",
                             (unsigned long long)setup->lengths[i].length,
                             (unsigned long long)setup->seq_length);
    }
    if (setup->length_count > 0 && task_generates(&setup->task))
        good = diag_push(diag, DIAG_P401, nowhere, "leave them out: prompts are of one length",
                         "task '%s' does not take a distribution of sequence lengths",
                         setup->task.text);
    if (setup->length_count == 0 && setup->packing == PACKING_PACK)
        good = diag_push(diag, DIAG_P401, nowhere, "state their lengths",
                         "sequences are packed, but all are %llu tokens long",
                         (unsigned long long)setup->seq_length);
    if (setup->length_count > 0 && (sum < 1 - 1e-6 || sum > 1 + 1e-6))
        good = diag_push(diag, DIAG_P401, nowhere, NULL,
                         "the shares of the sequence lengths sum to %g, not 1", sum);
    return good;
}

bool setup_check(const struct setup *setup, struct diag *diag)
{
    const struct diag_place nowhere = {0};
    bool good = true;
    if (setup->global_batch == 0)
        good = diag_push(diag, DIAG_P401, nowhere, NULL,
                         "the global batch is 0 sequences, at least 1 is needed");
    if (setup->seq_length == 0)
        good = diag_push(diag, DIAG_P401, nowhere, NULL,
                         "the sequence length is 0 tokens, at least 1 is needed");
    if (setup->optimizer == NULL || setup->runtime == NULL)
        good = diag_push(diag, DIAG_P401, nowhere, NULL, "the setup names no %s",
                         setup->optimizer == NULL ? "optimizer" : "runtime");
    if (!(setup->memory_headroom_frac >= 0 && setup->memory_headroom_frac < 1))
        good = diag_push(diag, DIAG_P401, nowhere, NULL,
                         "the memory headroom is %g: it is a share, from 0 to below 1",
                         setup->memory_headroom_frac);
    if (setup->expert_load != 0 &&
        !(setup->expert_load >= 1 && setup->expert_load <= SETUP_EXPERT_LOAD_MAX))
        good = diag_push(diag, DIAG_P401, nowhere, "1: all have as many",
                         "the busiest expert rank has %g times the mean of tokens: it must be from "
                         "1 to %g",
                         setup->expert_load, SETUP_EXPERT_LOAD_MAX);
    return check_lengths(setup, diag) && good;
}

static void dump_lengths(const struct setup *setup, struct json_writer *out)
{
    json_push_key(out, "lengths");
    json_push_array(out);
    for (uint32_t i = 0; i < setup->length_count; i++) {
        json_push_object(out);
        json_push_key_u64(out, "length", setup->lengths[i].length);
        json_push_key_double(out, "frac", setup->lengths[i].frac);
        json_pop_object(out);
    }
    json_pop_array(out);
    if (setup->packing != PACKING_PAD)
        json_push_key_string(out, "packing", packings[setup->packing]);
}

static void dump_phases(const struct setup *setup, struct json_writer *out)
{
    json_push_key(out, "phases");
    json_push_array(out);
    for (uint32_t i = 0; i < setup->phase_count; i++) {
        json_push_object(out);
        json_push_key_string(out, "name", setup->phases[i].name);
        json_push_key_u64(out, "steps", setup->phases[i].steps);
        if (setup->phases[i].global_batch > 0)
            json_push_key_u64(out, "global_batch", setup->phases[i].global_batch);
        json_pop_object(out);
    }
    json_pop_array(out);
}

void setup_dump(const struct setup *setup, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_u64(out, "global_batch", setup->global_batch);
    json_push_key_u64(out, "seq_length", setup->seq_length);
    json_push_key_string(out, "dtype", dtype_name(setup->dtype));
    json_push_key_string(out, "optimizer", setup->optimizer->name);
    json_push_key_string(out, "runtime", setup->runtime->name);
    json_push_key_string(out, "attention", attentions[setup->attention == ATTENTION_PLAIN]);
    json_push_key_string(out, "task", setup->task.text);
    if (task_generates(&setup->task)) {
        json_push_key_u64(out, "prompt_length", setup->prompt_length);
        json_push_key_u64(out, "output_length", setup->output_length);
        json_push_key_string(out, "cache_dtype", dtype_name(setup->cache_dtype));
    }
    if (setup->mode != SETUP_STEP)
        json_push_key_string(out, "mode", modes[setup->mode]);
    if (setup->memory_headroom_frac > 0)
        json_push_key_double(out, "memory_headroom_frac", setup->memory_headroom_frac);
    if (setup->spare_devices > 0)
        json_push_key_u64(out, "spare_devices", setup->spare_devices);
    if (setup->length_count > 0)
        dump_lengths(setup, out);
    if (setup->expert_load > 1)
        json_push_key_double(out, "expert_load", setup->expert_load);
    if (setup->phase_count > 0)
        dump_phases(setup, out);
    json_pop_object(out);
}

unsigned long long setup_digest(const struct setup *setup, struct arena *arena)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, arena);
    json_writer_init(&writer, &text, true);
    setup_dump(setup, &writer);
    const unsigned long long runtime = runtime_digest(setup->runtime);
    return text_digest(text_digest(TEXT_DIGEST_SEED, text.bytes, text.length), &runtime,
                       sizeof runtime);
}
