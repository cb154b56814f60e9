/* One kind of device, as its file describes it. */
#include "topologies/accelerator.h"

#include "base/text.h"
#include "topologies/accelerator_inside.h"
#include "topologies/catalogue.h"
#include "topologies/member.h"

#define FORMAT "shardplan/accelerator/1"
#define K_OVERHEAD_MAX 65536.0
#define YEAR_MAX 9999u
#define COMPUTE_UNITS_MAX 100000000u

/* --- reading ---------------------------------------------------------------------------------- */

static bool read_memory(struct json_value object, struct accelerator *out, struct diag *diag)
{
    double bytes;
    bool good = json_read_quantity(object, "memory", UNIT_BYTES, &bytes, diag);
    /* beyond what is checked a double need not fit an integer */
    out->memory_bytes = !good                                  ? 0
                        : bytes <= 2.0 * ACCELERATOR_BYTES_MAX ? (uint64_t)bytes
                                                               : UINT64_MAX;
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
                                       "host",
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
    good = host_read(object, arena, &read.host, diag) && good;
    good = read_memory(object, &read, diag) && good;
    good = read_peaks(object, &read, diag) && good;
    good = read_gemm(object, arena, &read, diag) && good;
    good = accelerator_read_attention(object, arena, &read, diag) && good;
    good = accelerator_read_bench(object, arena, &read.bench, diag) && good;
    good = accelerator_read_training(object, arena, &read.training, diag) && good;
    if (!good || !accelerator_check_at(&read, json_place(object), diag)) {
        return false;
    }
    *out = read;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

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
    member_dump_text("source", accelerator->gemm_source, out);
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
    member_dump_text("vendor", accelerator->vendor, out);
    if (accelerator->year > 0) {
        json_push_key_u64(out, "year", accelerator->year);
    }
    member_dump_text("kind", accelerator->kind, out);
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
    accelerator_dump_attention(accelerator, out);
    accelerator_dump_bench(&accelerator->bench, out);
    accelerator_dump_training(&accelerator->training, out);
    json_push_key_double(out, "memory_efficiency", accelerator->memory_efficiency_frac);
    if (accelerator->tdp_w > 0) {
        json_push_key_quantity(out, "tdp", UNIT_WATTS, accelerator->tdp_w);
    }
    host_dump(&accelerator->host, out);
    member_dump_text("source", accelerator->source, out);
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
