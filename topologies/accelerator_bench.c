/* What kernels reach when measured alone. */
#include "topologies/accelerator_inside.h"

#include "topologies/member.h"

#define PASSES_MAX 100.0
#define GAIN_MAX 4.0
#define BYTES_MAX 1000.0

/* Per number format; absent ones stay 0. */
static bool read_formats(struct json_value object, const char *key, double max,
                         double out[DTYPE_COUNT], struct diag *diag)
{
    const char *names[DTYPE_COUNT + 1] = {NULL};
    struct json_value formats;
    if (json_is_absent(json_find(object, key))) {
        return true;
    }
    if (!member_read_object(object, key, "numbers by number format", &formats, diag)) {
        return false;
    }
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        names[dtype] = dtype_name(dtype);
    }
    bool good = json_check_keys(formats, names, diag);
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        good = json_read_double_or(formats, names[dtype], 0.0, max, 0.0, &out[dtype], diag) && good;
    }
    return good;
}

bool accelerator_read_bench(struct json_value object, struct arena *arena,
                            struct accelerator_bench *out, struct diag *diag)
{
    static const char *const keys[] = {"efficiency", "attention_frac", "gain",   "settle",
                                       "quantise",   "prefill_passes", "source", NULL};
    struct accelerator_bench read = {.gain = 1.0, .source = ""};
    struct json_value bench;
    *out = read;
    if (json_is_absent(json_find(object, "bench"))) {
        return true;
    }
    if (!member_read_object(object, "bench", "how kernels run alone", &bench, diag)) {
        return false;
    }
    bool good = json_check_keys(bench, keys, diag);
    good = read_formats(bench, "efficiency", 1.0, read.efficiency_frac, diag) && good;
    good = read_formats(bench, "quantise", BYTES_MAX, read.quantise_bytes, diag) && good;
    good =
        json_read_double_or(bench, "attention_frac", 0.0, 1.0, 0.0, &read.attention_frac, diag) &&
        good;
    good = json_read_double_or(bench, "prefill_passes", 0.0, PASSES_MAX, 0.0, &read.prefill_passes,
                               diag) &&
           good;
    good = json_read_double_or(bench, "gain", 1.0, GAIN_MAX, 1.0, &read.gain, diag) && good;
    good = json_read_quantity_or(bench, "settle", UNIT_SECONDS, 0.0, &read.settle_s, diag) && good;
    good = json_read_string(bench, "source", arena, &read.source, diag) && good;
    if (good) {
        *out = read;
    }
    return good;
}

static void dump_formats(const char *key, const double values[DTYPE_COUNT], struct json_writer *out)
{
    json_push_key(out, key);
    json_push_object(out);
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (values[dtype] > 0.0) {
            json_push_key_double(out, dtype_name(dtype), values[dtype]);
        }
    }
    json_pop_object(out);
}

void accelerator_dump_bench(const struct accelerator_bench *bench, struct json_writer *out)
{
    if (bench->source == NULL || bench->source[0] == '\0') {
        return; /* no bench was given */
    }
    json_push_key(out, "bench");
    json_push_object(out);
    dump_formats("efficiency", bench->efficiency_frac, out);
    json_push_key_double(out, "attention_frac", bench->attention_frac);
    json_push_key_double(out, "gain", bench->gain);
    json_push_key_quantity(out, "settle", UNIT_SECONDS, bench->settle_s);
    dump_formats("quantise", bench->quantise_bytes, out);
    json_push_key_double(out, "prefill_passes", bench->prefill_passes);
    json_push_key_string(out, "source", bench->source);
    json_pop_object(out);
}
