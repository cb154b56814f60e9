/* One kind of device, as its file describes it. */
#include "topologies/accelerator.h"

#include <float.h>

#include "base/text.h"
#include "topologies/accelerator_inside.h"
#include "topologies/catalogue.h"
#include "topologies/member.h"

#define FORMAT "shardplan/accelerator/1"
/* Sanity, against slips of a unit: some fifty times beyond the extremes of what is built, which
 * are wafers (44 GB at 21 PB/s, 23 kW), processors with 1.6 TB, and devices of 35 PFLOP/s in
 * fp4. FLOP per byte of memory traffic span 0.4 (a wafer's fp32) to 1900 (fp4). */
#define MEMORY_BYTES_MAX 1e14
#define MEMORY_BPS_MAX 1e18
#define PEAK_MAX 2e18
#define INTENSITY_MAX 1e5
#define LAUNCH_S_MAX 0.01
#define CLOCK_HZ_MAX 1e11
#define TDP_W_MAX 1e6
#define K_OVERHEAD_MAX 65536.0
#define HEAD_DIM_MAX 65536u
#define YEAR_MAX 9999u
#define COMPUTE_UNITS_MAX 100000000u

/* The four tables of attention fractions, in the order of the members of struct attention_point. */
enum attention_table { CAUSAL_FORWARD, CAUSAL_BACKWARD, FULL_FORWARD, FULL_BACKWARD, TABLE_COUNT };

static const struct {
    const char *direction, *mask;
} tables[TABLE_COUNT] = {
    [CAUSAL_FORWARD] = {"forward_frac", "causal"},
    [CAUSAL_BACKWARD] = {"backward_frac", "causal"},
    [FULL_FORWARD] = {"forward_frac", "full"},
    [FULL_BACKWARD] = {"backward_frac", "full"},
};

static double point_frac(const struct attention_point *point, enum attention_table table)
{
    const double fracs[TABLE_COUNT] = {
        [CAUSAL_FORWARD] = point->forward_frac,
        [CAUSAL_BACKWARD] = point->backward_frac,
        [FULL_FORWARD] = point->full_forward_frac,
        [FULL_BACKWARD] = point->full_backward_frac,
    };
    return fracs[table];
}

static double *point_slot(struct attention_point *point, enum attention_table table)
{
    double *const slots[TABLE_COUNT] = {
        [CAUSAL_FORWARD] = &point->forward_frac,
        [CAUSAL_BACKWARD] = &point->backward_frac,
        [FULL_FORWARD] = &point->full_forward_frac,
        [FULL_BACKWARD] = &point->full_backward_frac,
    };
    return slots[table];
}

/* --- checking --------------------------------------------------------------------------------- */

static bool is_positive(double value)
{
    return value > 0 && value <= DBL_MAX;
}

static bool is_not_negative(double value)
{
    return value >= 0 && value <= DBL_MAX;
}

static bool is_frac(double value)
{
    return value > 0 && value <= 1;
}

static bool expect(bool good, const struct accelerator *accelerator, struct diag_place place,
                   const char *belief, struct diag *diag)
{
    return good || diag_push(diag, DIAG_T304, place, NULL, "accelerator '%s': %s",
                             accelerator->name, belief);
}

static bool check_peaks(const struct accelerator *accelerator, struct diag_place place,
                        struct diag *diag)
{
    double most = 0;
    bool good = true;
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        const double peak = accelerator->peak_flops_per_s[i];
        most = peak > most ? peak : most;
        good = good && is_not_negative(peak);
    }
    if (!good || !(most > 0)) {
        return expect(false, accelerator, place,
                      "its peak must be over 0 FLOP/s for at least one of fp32, tf32, bf16, fp16, "
                      "fp8 and fp4",
                      diag);
    }
    return expect(most <= PEAK_MAX, accelerator, place,
                  "a peak of over 2 EFLOP/s is more than any device has: is the unit right?",
                  diag) &&
           expect(!(accelerator->memory_Bps > 0) || most <= INTENSITY_MAX * accelerator->memory_Bps,
                  accelerator, place,
                  "its peak is over 100000 FLOP per byte of memory bandwidth: is a unit wrong?",
                  diag);
}

static bool check_kernels(const struct accelerator *accelerator, struct diag_place place,
                          struct diag *diag)
{
    bool good = is_frac(accelerator->gemm_efficiency_frac);
    for (uint32_t i = 0; i < GEMM_TILE_COUNT; i++) {
        good = good && is_frac(accelerator->gemm_tile_frac[i]);
    }
    good = expect(good && is_frac(accelerator->memory_efficiency_frac), accelerator, place,
                  "efficiencies and tile factors must be over 0 and at most 1", diag);
    good = expect(is_not_negative(accelerator->gemm_k_overhead) &&
                      is_not_negative(accelerator->gemm_low_k_overhead) &&
                      is_not_negative(accelerator->launch_s),
                  accelerator, place, "K overhead and launch time must not be negative", diag) &&
           good;
    good = expect(!(accelerator->launch_s > LAUNCH_S_MAX), accelerator, place,
                  "a launch takes more than 10 ms: kernels start within microseconds", diag) &&
           good;
    good = expect(accelerator->gemm_wave_frac >= 0 && accelerator->gemm_wave_frac <= 1, accelerator,
                  place, "the lost share of a wave is from 0 to 1", diag) &&
           good;
    bool points = accelerator->attention_point_count <= ATTENTION_POINT_MAX;
    for (uint32_t i = 0; points && i < accelerator->attention_point_count; i++) {
        const struct attention_point *point = &accelerator->attention[i];
        points = point->head_dim > (i == 0 ? 0 : accelerator->attention[i - 1].head_dim);
        for (enum attention_table table = 0; table < TABLE_COUNT; table++) {
            points = points && is_frac(point_frac(point, table));
        }
    }
    return expect(points, accelerator, place,
                  "attention fractions must be over 0 and at most 1, by ascending head dimension",
                  diag) &&
           good;
}

static bool check_at(const struct accelerator *accelerator, struct diag_place place,
                     struct diag *diag)
{
    bool good = expect(
        accelerator->memory_bytes > 0 && (double)accelerator->memory_bytes <= MEMORY_BYTES_MAX,
        accelerator, place, "memory must be over 0 and at most 100 TB, such as \"80 GiB\"", diag);
    good =
        expect(is_positive(accelerator->memory_Bps) && accelerator->memory_Bps <= MEMORY_BPS_MAX,
               accelerator, place,
               "memory bandwidth must be over 0 B/s and at most 1000 PB/s, such as \"3350 GB/s\"",
               diag) &&
        good;
    good =
        expect(!(accelerator->boost_clock_hz > CLOCK_HZ_MAX) && !(accelerator->tdp_w > TDP_W_MAX),
               accelerator, place, "a clock over 100 GHz, or over 1 MW, is not of one device",
               diag) &&
        good;
    good =
        expect(is_not_negative(accelerator->boost_clock_hz) && is_not_negative(accelerator->tdp_w),
               accelerator, place, "clock and power must not be negative", diag) &&
        good;
    good = check_peaks(accelerator, place, diag) && good;
    return check_kernels(accelerator, place, diag) && good;
}

bool accelerator_check(const struct accelerator *accelerator, struct diag *diag)
{
    return check_at(accelerator, (struct diag_place){.file = NULL}, diag);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_memory(struct json_value object, struct accelerator *out, struct diag *diag)
{
    double bytes;
    bool good = json_read_quantity(object, "memory", UNIT_BYTES, &bytes, diag);
    /* beyond what is checked a double need not fit an integer */
    out->memory_bytes = !good ? 0 : bytes <= 2.0 * MEMORY_BYTES_MAX ? (uint64_t)bytes : UINT64_MAX;
    good = json_read_quantity(object, "memory_bandwidth", UNIT_BYTES_PER_SECOND, &out->memory_Bps,
                              diag) &&
           good;
    return json_read_double(object, "memory_efficiency", 0, 1, &out->memory_efficiency_frac,
                            diag) &&
           good;
}

/* Peaks of formats that training uses; fp64 and int8 are figures for people. */
static bool read_peaks(struct json_value object, struct accelerator *out, struct diag *diag)
{
    const char *keys[DTYPE_COUNT + 3] = {"fp64", "int8"};
    struct json_value peak;
    if (!member_read_object(object, "peak",
                            "the FLOP/s by number format, as in {\"bf16\": \"989 "
                            "TFLOP/s\"}",
                            &peak, diag)) {
        return false;
    }
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        keys[2 + dtype] = dtype_name(dtype);
    }
    bool good = json_check_keys(peak, keys, diag);
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        good = json_read_quantity_or(peak, dtype_name(dtype), UNIT_FLOPS_PER_SECOND, 0,
                                     &out->peak_flops_per_s[dtype], diag) &&
               good;
    }
    return good;
}

static bool read_tiles(struct json_value gemm, struct accelerator *out, struct diag *diag)
{
    struct json_value tiles;
    if (!member_read_array(gemm, "tile_factor",
                           "five fractions, for tiles of 256x128, 128x256, "
                           "128x128, 128x64 and 64x64",
                           &tiles, diag)) {
        return false;
    }
    bool good = json_count(tiles) == GEMM_TILE_COUNT;
    for (uint32_t i = 0; good && i < GEMM_TILE_COUNT; i++) {
        good = json_value_double(json_find_index(tiles, i), &out->gemm_tile_frac[i]);
    }
    return good || diag_push(diag, DIAG_T304, json_place(tiles), NULL,
                             "'tile_factor' must hold %d fractions, for tiles of 256x128, 128x256, "
                             "128x128, 128x64 and 64x64",
                             GEMM_TILE_COUNT);
}

static bool read_gemm(struct json_value object, struct arena *arena, struct accelerator *out,
                      struct diag *diag)
{
    static const char *const keys[] = {"efficiency", "k_overhead",  "low_k_overhead", "wave",
                                       "launch",     "tile_factor", "source",         NULL};
    struct json_value gemm;
    if (!member_read_object(object, "gemm", "how matrix products run", &gemm, diag)) {
        return false;
    }
    bool good = json_check_keys(gemm, keys, diag);
    good = json_read_double(gemm, "efficiency", 0, 1, &out->gemm_efficiency_frac, diag) && good;
    good = json_read_double(gemm, "k_overhead", 0, K_OVERHEAD_MAX, &out->gemm_k_overhead, diag) &&
           good;
    good = json_read_double_or(gemm, "low_k_overhead", 0, K_OVERHEAD_MAX, out->gemm_k_overhead,
                               &out->gemm_low_k_overhead, diag) &&
           good;
    good = json_read_double_or(gemm, "wave", 0, 1, 1, &out->gemm_wave_frac, diag) && good;
    good = json_read_quantity(gemm, "launch", UNIT_SECONDS, &out->launch_s, diag) && good;
    good = json_read_string_or(gemm, "source", "", arena, &out->gemm_source, diag) && good;
    return read_tiles(gemm, out, diag) && good;
}

/* "128" to 128; 0 if it is no number within range. */
static uint32_t head_dim_of(const char *key)
{
    uint32_t dim = 0;
    for (; *key >= '0' && *key <= '9' && dim <= HEAD_DIM_MAX; key++) {
        dim = dim * 10 + (uint32_t)(*key - '0');
    }
    return *key == '\0' && dim <= HEAD_DIM_MAX ? dim : 0;
}

/* The head dimensions are the keys of the first table; the others must have the same. */
static bool read_head_dims(struct json_value first, struct accelerator *out, struct diag *diag)
{
    const uint32_t count = json_count(first);
    bool good = count >= 1 && count <= ATTENTION_POINT_MAX;
    uint32_t below = 0;
    for (uint32_t i = 0; good && i < count; i++) {
        const uint32_t dim = head_dim_of(json_key(json_find_index(first, i)));
        good = dim > below;
        below = dim;
        out->attention[i].head_dim = dim;
    }
    out->attention_point_count = good ? count : 0;
    return good || diag_push(diag, DIAG_T304, json_place(first), NULL,
                             "the keys must be 1 to %d head dimensions in ascending order, as in "
                             "{\"64\": 0.5, \"128\": 0.6}",
                             ATTENTION_POINT_MAX);
}

static bool read_table(struct json_value attention, enum attention_table table,
                       struct accelerator *out, struct diag *diag)
{
    static const char *const masks[] = {"full", "causal", NULL};
    struct json_value direction, fracs;
    if (!member_read_object(attention, tables[table].direction,
                            "fractions by mask, \"full\" and "
                            "\"causal\"",
                            &direction, diag) ||
        !member_read_object(direction, tables[table].mask, "fractions by head dimension", &fracs,
                            diag)) {
        return false;
    }
    bool good = json_check_keys(direction, masks, diag);
    if (table == CAUSAL_FORWARD) {
        good = read_head_dims(fracs, out, diag) && good;
    } else if (json_count(fracs) != out->attention_point_count) {
        good = diag_push(diag, DIAG_T304, json_place(fracs), NULL,
                         "'%s' has %u head dimensions under '%s' and %u under 'forward_frac' "
                         "'causal': give the same in all",
                         tables[table].direction, json_count(fracs), tables[table].mask,
                         out->attention_point_count);
    }
    for (uint32_t i = 0; good && i < out->attention_point_count; i++) {
        struct attention_point *point = &out->attention[i];
        const char *key = text_build(diag->arena, "%u", point->head_dim);
        good = json_read_double(fracs, key, 0, 1, point_slot(point, table), diag);
    }
    return good;
}

static bool read_attention(struct json_value object, struct arena *arena, struct accelerator *out,
                           struct diag *diag)
{
    static const char *const keys[] = {"forward_frac", "backward_frac", "half_keys",
                                       "tail",         "source",        NULL};
    struct json_value attention;
    if (!member_read_object(object, "attention", "how attention kernels run", &attention, diag)) {
        return false;
    }
    bool good = json_check_keys(attention, keys, diag);
    good =
        json_read_string_or(attention, "source", "", arena, &out->attention_source, diag) && good;
    for (enum attention_table table = 0; good && table < TABLE_COUNT; table++) {
        good = read_table(attention, table, out, diag);
    }
    return accelerator_read_short(attention, out, diag) && good;
}

bool accelerator_read_json(struct json_value object, struct arena *arena, struct accelerator *out,
                           struct diag *diag)
{
    static const char *const keys[] = {"format",
                                       "name",
                                       "aliases",
                                       "vendor",
                                       "year",
                                       "kind",
                                       "memory",
                                       "memory_bandwidth",
                                       "peak",
                                       "compute_units",
                                       "boost_clock",
                                       "l2",
                                       "shared_memory_per_unit",
                                       "gemm",
                                       "attention",
                                       "bench",
                                       "training",
                                       "memory_efficiency",
                                       "scaleup",
                                       "scaleup_link",
                                       "pcie_gen",
                                       "tdp",
                                       "source",
                                       "notes",
                                       "odd_width",
                                       NULL};
    struct accelerator read = {.name = ""};
    if (!member_check_format(object, FORMAT, diag) ||
        !json_read_string(object, "name", arena, &read.name, diag)) {
        return false;
    }
    bool good = json_check_keys(object, keys, diag);
    good = json_read_string_or(object, "vendor", "", arena, &read.vendor, diag) && good;
    good = json_read_string_or(object, "kind", "", arena, &read.kind, diag) && good;
    good = json_read_u32_or(object, "year", 1, YEAR_MAX, 0, &read.year, diag) && good;
    good = json_read_string_or(object, "source", "", arena, &read.source, diag) && good;
    good = json_read_u32_or(object, "compute_units", 1, COMPUTE_UNITS_MAX, 0, &read.compute_units,
                            diag) &&
           good;
    good =
        json_read_quantity_or(object, "boost_clock", UNIT_HERTZ, 0, &read.boost_clock_hz, diag) &&
        good;
    good = json_read_quantity_or(object, "tdp", UNIT_WATTS, 0, &read.tdp_w, diag) && good;
    good = json_read_u32_or(object, "pcie_gen", 1, 7, 0, &read.pci_generation, diag) && good;
    good = scaleup_read(object, arena, &read.scaleup, diag) && good;
    good = read_memory(object, &read, diag) && good;
    good = read_peaks(object, &read, diag) && good;
    good = read_gemm(object, arena, &read, diag) && good;
    good = read_attention(object, arena, &read, diag) && good;
    good = accelerator_read_bench(object, arena, &read.bench, diag) && good;
    good = accelerator_read_training(object, arena, &read.training, diag) && good;
    if (!good || !check_at(&read, json_place(object), diag)) {
        return false;
    }
    *out = read;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void dump_text(const char *key, const char *value, struct json_writer *out)
{
    if (value != NULL && value[0] != '\0') {
        json_push_key_string(out, key, value);
    }
}

static void dump_kernels(const struct accelerator *accelerator, struct json_writer *out)
{
    json_push_key(out, "gemm");
    json_push_object(out);
    json_push_key_double(out, "efficiency", accelerator->gemm_efficiency_frac);
    json_push_key_double(out, "k_overhead", accelerator->gemm_k_overhead);
    if (accelerator->gemm_low_k_overhead != accelerator->gemm_k_overhead) {
        json_push_key_double(out, "low_k_overhead", accelerator->gemm_low_k_overhead);
    }
    if (accelerator->gemm_wave_frac != 1) {
        json_push_key_double(out, "wave", accelerator->gemm_wave_frac);
    }
    json_push_key_quantity(out, "launch", UNIT_SECONDS, accelerator->launch_s);
    json_push_key(out, "tile_factor");
    json_push_array(out);
    for (uint32_t i = 0; i < GEMM_TILE_COUNT; i++) {
        json_push_double(out, accelerator->gemm_tile_frac[i]);
    }
    json_pop_array(out);
    dump_text("source", accelerator->gemm_source, out);
    json_pop_object(out);
}

static void dump_table(const struct accelerator *accelerator, enum attention_table table,
                       struct json_writer *out)
{
    json_push_key(out, tables[table].mask);
    json_push_object(out);
    for (uint32_t i = 0; i < accelerator->attention_point_count; i++) {
        char key[16] = "";
        uint32_t at = sizeof key - 1;
        for (uint32_t dim = accelerator->attention[i].head_dim; dim > 0; dim /= 10) {
            key[--at] = (char)('0' + dim % 10);
        }
        json_push_key_double(out, key + at, point_frac(&accelerator->attention[i], table));
    }
    json_pop_object(out);
}

static void dump_attention(const struct accelerator *accelerator, struct json_writer *out)
{
    json_push_key(out, "attention");
    json_push_object(out);
    json_push_key(out, "forward_frac");
    json_push_object(out);
    dump_table(accelerator, FULL_FORWARD, out);
    dump_table(accelerator, CAUSAL_FORWARD, out);
    json_pop_object(out);
    json_push_key(out, "backward_frac");
    json_push_object(out);
    dump_table(accelerator, FULL_BACKWARD, out);
    dump_table(accelerator, CAUSAL_BACKWARD, out);
    json_pop_object(out);
    accelerator_dump_short(accelerator, out);
    dump_text("source", accelerator->attention_source, out);
    json_pop_object(out);
}

static void dump_peaks(const struct accelerator *accelerator, struct json_writer *out)
{
    json_push_key(out, "peak");
    json_push_object(out);
    for (enum dtype dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        if (accelerator->peak_flops_per_s[dtype] > 0) {
            json_push_key_quantity(out, dtype_name(dtype), UNIT_FLOPS_PER_SECOND,
                                   accelerator->peak_flops_per_s[dtype]);
        }
    }
    json_pop_object(out);
}

void accelerator_dump(const struct accelerator *accelerator, struct json_writer *out)
{
    json_push_object(out);
    json_push_key_string(out, "format", FORMAT);
    json_push_key_string(out, "name", accelerator->name);
    dump_text("vendor", accelerator->vendor, out);
    if (accelerator->year > 0) {
        json_push_key_u64(out, "year", accelerator->year);
    }
    dump_text("kind", accelerator->kind, out);
    json_push_key_quantity(out, "memory", UNIT_BYTES, (double)accelerator->memory_bytes);
    json_push_key_quantity(out, "memory_bandwidth", UNIT_BYTES_PER_SECOND, accelerator->memory_Bps);
    dump_peaks(accelerator, out);
    if (accelerator->compute_units > 0) {
        json_push_key_u64(out, "compute_units", accelerator->compute_units);
    }
    if (accelerator->boost_clock_hz > 0) {
        json_push_key_quantity(out, "boost_clock", UNIT_HERTZ, accelerator->boost_clock_hz);
    }
    dump_kernels(accelerator, out);
    dump_attention(accelerator, out);
    accelerator_dump_bench(&accelerator->bench, out);
    accelerator_dump_training(&accelerator->training, out);
    json_push_key_double(out, "memory_efficiency", accelerator->memory_efficiency_frac);
    if (accelerator->tdp_w > 0) {
        json_push_key_quantity(out, "tdp", UNIT_WATTS, accelerator->tdp_w);
    }
    dump_text("source", accelerator->source, out);
    json_pop_object(out);
}

/* --- finding ---------------------------------------------------------------------------------- */

bool accelerator_read(const char *name, struct diag_place place, struct arena *arena,
                      struct accelerator *out, struct diag *diag)
{
    static const struct catalogue catalogue = {
        .folder = "topologies/accelerators", .noun = "accelerator", .unknown = DIAG_T301};
    const char *path;
    struct json *document;
    if (!catalogue_find(&catalogue, name, place, arena, &path, diag) ||
        !json_open(path, false, arena, &document, diag)) {
        return false;
    }
    const bool good = accelerator_read_json(json_root(document), arena, out, diag);
    json_close(document);
    return good;
}
