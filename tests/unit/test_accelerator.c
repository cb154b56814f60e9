/* Accelerators: found by any of their names, read in full, refused when impossible. */
#include "topologies/accelerator.h"

#include <string.h>

#include "base/data_folder.h"
#include "tests/fresh.h"
#include "topologies/catalogue.h"

static bool read_name(const char *name, struct accelerator *out)
{
    return accelerator_read(name, (struct diag_place){.file = NULL}, &arena, out, &diag);
}

static bool read_text(const char *text, struct accelerator *out)
{
    struct json *document;
    if (!json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag)) {
        return false;
    }
    const bool good = accelerator_read_json(json_root(document), &arena, out, &diag);
    json_close(document);
    return good;
}

static const char *const same_names[] = {"H100-SXM5", "h100-sxm5", "H100", "h100", "H100-80gb"};

START_TEST(every_name_finds_it)
{
    for (uint32_t i = 0; i < sizeof same_names / sizeof same_names[0]; i++) {
        struct accelerator found;
        begin();
        ck_assert_msg(read_name(same_names[i], &found), "%s", same_names[i]);
        ck_assert_str_eq(found.name, "H100-SXM5");
        arena_release(&arena);
    }
}
END_TEST

START_TEST(figures_are_in_base_units)
{
    struct accelerator h100;
    begin();
    ck_assert(read_name("H100-SXM5", &h100));
    ck_assert_str_eq(h100.vendor, "NVIDIA");
    ck_assert_str_eq(h100.kind, "gpu");
    ck_assert_uint_eq(h100.memory_bytes, (uint64_t)80 << 30);
    ck_assert_double_eq(h100.memory_Bps, 3.35e12);
    ck_assert_double_eq(h100.peak_flops_per_s[DTYPE_BF16], 989.4e12);
    ck_assert_double_eq(h100.peak_flops_per_s[DTYPE_FP8], 1978.9e12);
    ck_assert_double_eq(h100.peak_flops_per_s[DTYPE_FP4], 0);
    ck_assert_uint_eq(h100.compute_units, 132);
    ck_assert_double_eq(h100.boost_clock_hz, 1.83e9);
    ck_assert_double_eq(h100.tdp_w, 700);
    ck_assert_uint_ge(h100.attention_point_count, 1);
    ck_assert_uint_eq(h100.attention[0].head_dim, 64);
    arena_release(&arena);
}
END_TEST

START_TEST(unknown_name_is_reported_with_the_nearest)
{
    struct accelerator found;
    begin();
    ck_assert(!read_name("h100-sxm", &found) || strcmp(found.name, "H100-SXM5") == 0);
    ck_assert(!read_name("h100-sxm6", &found));
    ck_assert_uint_eq(diag.count, 1);
    ck_assert_int_eq(diag.entries[0].code, DIAG_T301);
    ck_assert_str_eq(diag.entries[0].hint, "did you mean 'H100-SXM5'?");
    arena_release(&arena);
}
END_TEST

START_TEST(match_ignores_case_only)
{
    ck_assert(catalogue_is_match("TPU v5p", "tpu V5P"));
    ck_assert(!catalogue_is_match("H100", "H10"));
    ck_assert(!catalogue_is_match("H10", "H100"));
    ck_assert(!catalogue_is_match("a[", "a{"));
    ck_assert(catalogue_is_match("", ""));
}
END_TEST

/* The text of a good accelerator with one piece replaced. */
static const char *replaced(const char *from, const char *to)
{
    static const char *const good =
        "{\"format\": \"shardplan/accelerator/1\", \"name\": \"x\", \"memory\": \"8 GiB\", "
        "\"memory_bandwidth\": \"1 GB/s\", \"peak\": {\"fp32\": \"1 TFLOP/s\"}, \"gemm\": "
        "{\"efficiency\": 0.5, \"k_overhead\": 8, \"launch\": \"1 us\", \"tile_factor\": "
        "[1, 1, 0.9, 0.8, 0.7]}, \"attention\": {\"forward_frac\": {\"full\": {\"64\": 0.5, "
        "\"128\": 0.6}, \"causal\": {\"64\": 0.4, \"128\": 0.5}}, \"backward_frac\": {\"full\": "
        "{\"64\": 0.3, \"128\": 0.35}, \"causal\": {\"64\": 0.2, \"128\": 0.25}}}, "
        "\"memory_efficiency\": 0.8}";
    const char *at = strstr(good, from);
    ck_assert_msg(at != NULL, "%s", from);
    return text_build(&arena, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

START_TEST(every_group_is_read)
{
    struct accelerator x;
    begin();
    ck_assert_msg(read_text(replaced("", ""), &x), "%s", diag.entries[0].message);
    ck_assert_double_eq(x.gemm_efficiency_frac, 0.5);
    ck_assert_double_eq(x.gemm_k_overhead, 8);
    ck_assert_double_eq(x.launch_s, 1e-6);
    ck_assert_double_eq(x.gemm_tile_frac[4], 0.7);
    ck_assert_double_eq(x.memory_efficiency_frac, 0.8);
    ck_assert_uint_eq(x.attention_point_count, 2);
    ck_assert_uint_eq(x.attention[1].head_dim, 128);
    ck_assert_double_eq(x.attention[1].forward_frac, 0.5);
    ck_assert_double_eq(x.attention[1].backward_frac, 0.25);
    ck_assert_double_eq(x.attention[1].full_forward_frac, 0.6);
    ck_assert_double_eq(x.attention[0].full_backward_frac, 0.3);
    ck_assert(accelerator_check(&x, &diag));
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *from, *to;
    enum diag_code code;
} faults[] = {
    {"accelerator/1", "accelerator/2", DIAG_B112},
    {"\"name\": \"x\", ", "", DIAG_B106},
    {"\"name\"", "\"nmae\": 1, \"name\"", DIAG_B105},
    {"8 GiB", "8", DIAG_B109},
    {"8 GiB", "0 GiB", DIAG_T304},
    {"8 GiB", "1000000 PB", DIAG_T304},
    {"8 GiB", "101 TB", DIAG_T304},
    {"1 GB/s", "1e10 GB/s", DIAG_T304},
    {"1 TFLOP/s", "3000 PFLOP/s", DIAG_T304},
    {"1 TFLOP/s", "1 PFLOP/s", DIAG_T304},
    {"1 us", "1 s", DIAG_T304},
    {"\"memory_efficiency\"", "\"tdp\": \"2000 kW\", \"memory_efficiency\"", DIAG_T304},
    {"\"memory_efficiency\"", "\"boost_clock\": \"1830 GHz\", \"memory_efficiency\"", DIAG_T304},
    {"1 GB/s", "0 GB/s", DIAG_T304},
    {"{\"fp32\": \"1 TFLOP/s\"}", "{}", DIAG_T304},
    {"{\"fp32\": \"1 TFLOP/s\"}", "3", DIAG_B107},
    {"\"fp32\"", "\"fp33\"", DIAG_B105},
    {"1 TFLOP/s", "1 GB/s", DIAG_B109},
    {"\"efficiency\": 0.5", "\"efficiency\": 1.5", DIAG_B108},
    {"\"efficiency\": 0.5", "\"efficiency\": 0", DIAG_T304},
    {"[1, 1, 0.9, 0.8, 0.7]", "[1, 1, 0.9, 0.8]", DIAG_T304},
    {"[1, 1, 0.9, 0.8, 0.7]", "[1, 1, 0.9, 0.8, 2]", DIAG_T304},
    {"[1, 1, 0.9, 0.8, 0.7]", "[1, 1, 0.9, 0.8, \"a\"]", DIAG_T304},
    {"\"k_overhead\": 8", "\"k_overhead\": -8", DIAG_B108},
    {"{\"64\": 0.4, \"128\": 0.5}", "{}", DIAG_T304},
    {"{\"64\": 0.4, \"128\": 0.5}", "{\"128\": 0.4, \"64\": 0.5}", DIAG_T304},
    {"{\"64\": 0.4, \"128\": 0.5}", "{\"64\": 0.4, \"12a\": 0.5}", DIAG_T304},
    {"{\"64\": 0.4, \"128\": 0.5}", "{\"64\": 0.4, \"99999999999\": 0.5}", DIAG_T304},
    {"{\"64\": 0.3, \"128\": 0.35}", "{\"64\": 0.3, \"256\": 0.35}", DIAG_B106},
    {"{\"64\": 0.3, \"128\": 0.35}", "{\"64\": 0.3}", DIAG_T304},
    {"0.35", "0", DIAG_T304},
};

START_TEST(fault_is_reported_once)
{
    for (uint32_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct accelerator x;
        begin();
        const char *text = replaced(faults[i].from, faults[i].to);
        ck_assert_msg(!read_text(text, &x), "%s is read", text);
        ck_assert_msg(diag.count == 1 && diag.entries[0].code == faults[i].code, "%s to %s: %u, %s",
                      faults[i].from, faults[i].to, diag.count, diag.entries[0].message);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("accelerator", every_name_finds_it, figures_are_in_base_units,
         unknown_name_is_reported_with_the_nearest, match_ignores_case_only, every_group_is_read,
         fault_is_reported_once)
