/* Measured kernels in a profile: read, written, and followed by prices. */
#include <math.h>
#include <string.h>

#include "base/logarithm.h"
#include "prices/measured_kernels.h"
#include "prices/profile.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct accelerator device;
static struct prices prices;
static struct profile profile;

static void begin(void)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(accelerator_read("h100", (struct diag_place){.file = NULL}, &arena, &device, &diag));
    prices = (struct prices){.accelerators = &device, .accelerator_count = 1, .bench = true};
    profile = (struct profile){.name = "t", .accelerator = "H100", .source = "typed", .notes = ""};
    profile.matmuls = ARENA_PUSH(&arena, struct profile_matmul, 512);
}

static struct work_compute matmul(uint64_t m, uint64_t n, uint64_t k)
{
    return (struct work_compute){.name = "matmul",
                                 .kind = OP_CONTRACT,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .groups = 1,
                                 .dtype = DTYPE_BF16,
                                 .density_frac = 1.0};
}

static double price_s(uint64_t m, uint64_t n, uint64_t k, enum provenance *provenance)
{
    const struct work_compute item = matmul(m, n, k);
    const struct work_compute *const one = &item;
    return prices_compute_s(&prices, 0, &one, 1, provenance);
}

static void measure(uint64_t m, uint64_t n, uint64_t k, double ratio)
{
    enum provenance provenance;
    struct profile_matmul *row = &profile.matmuls[profile.matmul_count++];
    *row = (struct profile_matmul){DTYPE_BF16, m, n, k, 1, ratio * price_s(m, n, k, &provenance)};
}

/* --- logarithms ------------------------------------------------------------------------------- */

START_TEST(logarithms_are_those_of_libm)
{
    for (double value = 1e-30; value < 1e30; value *= 1.37) {
        ck_assert_double_eq_tol(logarithm_of(value), log2(value), 1e-13);
        ck_assert_double_eq_tol(logarithm_power(logarithm_of(value)) / value, 1.0, 1e-12);
    }
    ck_assert(logarithm_of(1.0) == 0.0 && logarithm_of(8.0) == 3.0);
    ck_assert(logarithm_power(-4.0) == 0.0625);
}
END_TEST

/* --- residuals -------------------------------------------------------------------------------- */

/* A law of scale that is a plane in logarithms comes back from its samples. */
START_TEST(planes_are_found_between_points)
{
    struct residual_table table = {.axes = 2};
    enum provenance provenance;
    begin();
    table.points = ARENA_PUSH(&arena, struct residual_point, 64);
    for (int x = 0; x < 8; x++) {
        for (int y = 0; y < 8; y++) {
            struct residual_point *point = &table.points[table.count++];
            memset(point, 0, sizeof *point);
            point->at[0] = x;
            point->at[1] = y;
            point->residual = 0.1 + 0.05 * x - 0.03 * y;
        }
    }
    residual_close(&table, &arena);
    for (double x = 1.5; x < 6.0; x += 1.0) {
        const double at[RESIDUAL_AXES_MAX] = {x, 3.25};
        const double found = logarithm_of(residual_find(&table, at, UINT32_MAX, &provenance));
        ck_assert_int_eq((int)provenance, (int)PROVENANCE_INTERPOLATED);
        ck_assert_double_eq_tol(found, 0.1 + 0.05 * x - 0.03 * 3.25, 0.005);
    }
    const double far[RESIDUAL_AXES_MAX] = {40.0, 40.0};
    ck_assert_double_eq_tol(logarithm_of(residual_find(&table, far, UINT32_MAX, &provenance)),
                            table.median, 1e-12);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_EXTRAPOLATED);
    arena_release(&arena);
}
END_TEST

/* A point left out does not speak: its own value cannot come back from noise. */
START_TEST(a_point_left_out_is_silent)
{
    struct residual_table table = {.axes = 1};
    enum provenance provenance;
    begin();
    table.points = ARENA_PUSH(&arena, struct residual_point, 5);
    memset(table.points, 0, 5 * sizeof *table.points);
    for (uint32_t i = 0; i < 5; i++) {
        table.points[i].at[0] = i;
        table.points[i].residual = i == 2 ? 3.0 : 0.0;
    }
    table.count = 5;
    residual_close(&table, &arena);
    const double ratio = residual_find(&table, table.points[2].at, 2, &provenance);
    ck_assert_double_eq_tol(ratio, 1.0, 1e-9);
    ck_assert_double_eq_tol(residual_find(&table, table.points[2].at, UINT32_MAX, &provenance), 8.0,
                            1e-12);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_MEASURED);
    arena_release(&arena);
}
END_TEST

/* --- prices ----------------------------------------------------------------------------------- */

START_TEST(measured_sizes_cost_what_was_measured)
{
    enum provenance provenance;
    begin();
    for (uint64_t m = 512; m <= 8192; m *= 2) {
        for (uint64_t k = 1024; k <= 8192; k *= 2) {
            measure(m, 4096, k, 1.25);
        }
    }
    const double between_s = price_s(3000, 4096, 3000, &provenance);
    const double far_s = price_s(64, 64, 1u << 20, &provenance);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_ANALYTIC);
    ck_assert(profile_apply(&profile, &arena, &prices, &diag));
    const struct profile_matmul *row = &profile.matmuls[7];
    const double again_s = price_s(row->m, row->n, row->k, &provenance);
    ck_assert_double_eq_tol(again_s / row->seconds, 1.0, 1e-9);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_MEASURED);
    ck_assert_double_eq_tol(price_s(3000, 4096, 3000, &provenance) / between_s, 1.25, 1e-3);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_INTERPOLATED);
    ck_assert_double_eq_tol(price_s(64, 64, 1u << 20, &provenance) / far_s, 1.25, 1e-3);
    ck_assert_int_eq((int)provenance, (int)PROVENANCE_EXTRAPOLATED);
    /* within a training step the same ratio holds at the sustained clock */
    prices.bench = false;
    const double with_s = price_s(3000, 4096, 3000, &provenance);
    prices.measured = NULL;
    ck_assert_double_eq_tol(with_s / price_s(3000, 4096, 3000, &provenance), 1.25, 1e-3);
    arena_release(&arena);
}
END_TEST

START_TEST(another_accelerator_is_refused)
{
    begin();
    profile.accelerator = "A100";
    ck_assert(!profile_apply(&profile, &arena, &prices, &diag));
    ck_assert(prices.measured == NULL);
    arena_release(&arena);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------ */

static const char text[] =
    "{\"format\": \"shardplan/profile/1\", \"name\": \"t\", \"accelerator\": \"H100-SXM5\", "
    "\"source\": \"typed\", \"gemm\": [{\"dtype\": \"bf16\", \"m\": 1024, \"n\": 2048, \"k\": 512, "
    "\"time\": \"7.5 us\"}], \"attention\": [{\"dtype\": \"bf16\", \"batch\": 2, \"heads\": 8, "
    "\"kv_heads\": 2, \"queries\": 1024, \"keys\": 1024, \"head_dim\": 128, \"causal\": true, "
    "\"pass\": \"backward\", \"time\": \"90 us\"}], \"stream\": [{\"bytes\": 1048576, \"time\": "
    "\"5 us\"}], \"collectives\": [{\"kind\": \"all-reduce\", \"link\": \"nvlink4\", \"ranks\": 8, "
    "\"ranks_per_node\": 8, \"bytes\": 1048576, \"time\": \"40 us\"}], \"constants\": {\"links\": "
    "{\"nvlink4\": {\"base\": \"1 us\", \"protocols\": [{\"name\": \"one\", \"latency\": \"2 us\", "
    "\"rate_frac\": 0.5}], \"source\": \"typed\"}}}, \"residuals\": {\"gemm\": "
    "{\"count\": 1, \"median_abs_error_frac\": 0.01, \"p90_abs_error_frac\": 0.02, \"bias_frac\": "
    "-0.01}}}";

static const char *dump(void)
{
    struct text out;
    struct json_writer writer;
    text_init(&out, &arena);
    json_writer_init(&writer, &out, true);
    profile_dump(&profile, &writer);
    return out.bytes;
}

static void read_profile(const char *bytes)
{
    FILE *file = fopen("profile-test.json", "w");
    ck_assert(file != NULL && fputs(bytes, file) >= 0 && fclose(file) == 0);
    ck_assert_msg(profile_read("profile-test.json", &arena, &profile, &diag), "%s",
                  diag.entries[0].message);
    ck_assert_int_eq(remove("profile-test.json"), 0);
}

START_TEST(profiles_round_trip)
{
    begin();
    read_profile(text);
    ck_assert(profile.attentions[0].backward && profile.attentions[0].kv_heads == 2);
    ck_assert(profile.links[0].protocols[0].rate_frac == 0.5);
    const char *first = dump();
    read_profile(first);
    ck_assert_str_eq(dump(), first);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("profile", logarithms_are_those_of_libm, planes_are_found_between_points,
         a_point_left_out_is_silent, measured_sizes_cost_what_was_measured,
         another_accelerator_is_refused, profiles_round_trip)
