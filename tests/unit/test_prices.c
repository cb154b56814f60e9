/* Prices of kernels against measured anchors, of messages against their definition. */
#include <string.h>

#include "plan/collective.h"
#include "prices/prices.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct accelerator device;
static struct prices prices;

static void begin(const char *name)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert_msg(accelerator_read(name, (struct diag_place){0}, &arena, &device, &diag), "%s",
                  diag.entries[0].message);
    device.training = (struct accelerator_training){0}; /* kernels alone, not in a long run */
    prices = (struct prices){.accelerators = &device, .accelerator_count = 1};
}

static double seconds_of(const struct work_compute *item)
{
    enum provenance provenance = PROVENANCE_COUNT;
    const double seconds = prices_compute_s(&prices, 0, &item, 1, &provenance);
    ck_assert_int_lt((int)provenance, (int)PROVENANCE_COUNT);
    ck_assert(seconds > 0.0);
    return seconds;
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
                                 .flops = 2.0 * (double)m * (double)n * (double)k,
                                 .density_frac = 1.0};
}

static double matmul_s(uint64_t m, uint64_t n, uint64_t k)
{
    const struct work_compute item = matmul(m, n, k);
    return seconds_of(&item);
}

static void expect_rate(const char *what, double rate, double measured, double tolerance_frac)
{
    ck_assert_msg(rate > measured * (1.0 - tolerance_frac) &&
                      rate < measured * (1.0 + tolerance_frac),
                  "%s: %.4g, measured %.4g, off by %.1f %%", what, rate, measured,
                  100.0 * (rate / measured - 1.0));
}

/* --- matrix multiplies ------------------------------------------------------------------------ */

/* Square bf16 on H100 (one public cuBLAS log). Smaller ones are mostly launch in that log; at 2048
 * the price is too good by some 17 %, at 4096 by 8: that log shows whole waves lost, the larger
 * tables behind the constants do not. */
START_TEST(squares_on_h100)
{
    static const struct {
        uint64_t n;
        double flops_per_s, tolerance_frac;
    } anchors[] = {{2048, 492e12, 0.18}, {4096, 666e12, 0.08}, {8192, 736e12, 0.06}};
    begin("h100");
    for (uint32_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
        const uint64_t n = anchors[i].n;
        const double cube = (double)n * (double)n * (double)n;
        expect_rate(text_build(&arena, "square of %u", (unsigned)n), 2.0 * cube / matmul_s(n, n, n),
                    anchors[i].flops_per_s, anchors[i].tolerance_frac);
    }
    arena_release(&arena);
}
END_TEST

/* Medians over many shapes of A100 PCIe by FLOPs (SimuMax), as shares of the peak; here the cube of
 * that many FLOPs. */
START_TEST(sizes_on_a100_pcie)
{
    static const struct {
        uint32_t bits;
        double frac;
    } anchors[] = {{34, .594}, {37, .70}, {40, .747}};
    begin("a100-pcie-80gb");
    for (uint32_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++) {
        const uint64_t side = (uint64_t)1 << (anchors[i].bits - 1) / 3;
        const double flops = 2.0 * (double)side * (double)side * (double)side;
        expect_rate(text_build(&arena, "2^%u FLOPs", anchors[i].bits),
                    flops / matmul_s(side, side, side) / 312e12, anchors[i].frac, 0.06);
    }
    arena_release(&arena);
}
END_TEST

/* More work never takes less time. In K only once it may be split all ways: at 1024 a split comes
 * within reach that 1023 has not. */
START_TEST(larger_takes_no_less)
{
    static const char *const names[] = {"h100", "a100", "b200", "mi300x"};
    uint32_t state = 1;
    for (uint32_t d = 0; d < sizeof names / sizeof names[0]; d++) {
        begin(names[d]);
        for (uint32_t i = 0; i < 3000; i++) {
            uint64_t size[3];
            for (uint32_t a = 0; a < 3; a++) {
                state = state * 1664525u + 1013904223u;
                size[a] = 1 + (state >> 8) % 5000;
            }
            size[2] += 4096;
            const double before = matmul_s(size[0], size[1], size[2]);
            size[i % 3] += 1 + (state >> 4) % 700;
            const double after = matmul_s(size[0], size[1], size[2]);
            ck_assert_msg(after >= before, "%s: %u x %u x %u takes less than a smaller one",
                          names[d], (unsigned)size[0], (unsigned)size[1], (unsigned)size[2]);
        }
        arena_release(&arena);
    }
}
END_TEST

/* Joined matrices are one wider kernel. */
START_TEST(joined_matrices_are_one)
{
    begin("h100");
    struct work_compute q = matmul(4096, 4096, 4096), kv = matmul(4096, 2048, 4096);
    const struct work_compute *const both[] = {&q, &kv};
    enum provenance provenance;
    ck_assert(prices_compute_s(&prices, 0, both, 2, &provenance) == matmul_s(4096, 6144, 4096));
    q.pass = kv.pass = PASS_INPUT_GRADIENT;
    q.k = 4096, kv.k = 2048;
    q.n = kv.n = 4096;
    ck_assert(prices_compute_s(&prices, 0, both, 2, &provenance) == matmul_s(4096, 4096, 6144));
    arena_release(&arena);
}
END_TEST

/* --- attention -------------------------------------------------------------------------------- */

static double flash_rate(uint64_t length, uint64_t head_dim, bool causal, enum work_pass pass)
{
    struct work_compute item = {.name = "attention",
                                .kind = OP_ATTENTION,
                                .pass = pass,
                                .flash = true,
                                .batch = 16384 / length,
                                .heads = 2048 / head_dim,
                                .kv_heads = 2048 / head_dim,
                                .queries = length,
                                .keys = length,
                                .head_dim = head_dim,
                                .density_frac = causal ? 0.5 : 1.0,
                                .dtype = DTYPE_BF16};
    item.flops = 4.0 * 16384.0 * (double)length * 2048.0 * item.density_frac *
                 (pass == PASS_FORWARD ? 1.0 : 2.5);
    return item.flops / seconds_of(&item);
}

/* cuDNN forward on H100, 16k tokens, width 2048 (charts of the FlashAttention-3 paper), TFLOP/s. */
START_TEST(flash_on_h100)
{
    static const struct {
        uint64_t head_dim;
        bool causal;
        double rates[6];
        double tolerance_frac;
    } rows[] = {{64, false, {335, 373, 395, 408, 412, 413}, 0.10},
                {64, true, {225, 288, 334, 363, 379, 388}, 0.15},
                {128, false, {497, 574, 617, 609, 600, 595}, 0.12},
                {128, true, {310, 410, 484, 518, 529, 539}, 0.12}};
    begin("h100");
    for (uint32_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (uint32_t i = 0; i < 6; i++) {
            const uint64_t length = (uint64_t)512 << i;
            expect_rate(
                text_build(&arena, "head dim %u, %u tokens, causal %d",
                           (unsigned)rows[row].head_dim, (unsigned)length, rows[row].causal),
                flash_rate(length, rows[row].head_dim, rows[row].causal, PASS_FORWARD) / 1e12,
                rows[row].rates[i], rows[row].tolerance_frac);
        }
    }
    arena_release(&arena);
}
END_TEST

/* Plain attention moves its scores through memory: dearer than flash, the more the longer. */
START_TEST(plain_attention_is_dearer)
{
    begin("a100");
    double last = 1.0;
    for (uint64_t length = 2048; length <= 16384; length *= 2) {
        struct work_compute item = {.name = "attention",
                                    .kind = OP_ATTENTION,
                                    .flash = true,
                                    .batch = 1,
                                    .heads = 32,
                                    .kv_heads = 32,
                                    .queries = length,
                                    .keys = length,
                                    .head_dim = 128,
                                    .density_frac = 0.5,
                                    .dtype = DTYPE_BF16};
        item.flops = 4.0 * 32.0 * 128.0 * (double)length * (double)length * 0.5;
        const double flash = seconds_of(&item);
        item.flash = false;
        const double ratio = seconds_of(&item) / flash;
        ck_assert_msg(ratio > last, "%u tokens: %g times flash, %g before", (unsigned)length, ratio,
                      last);
        last = ratio;
    }
    arena_release(&arena);
}
END_TEST

/* --- streams, messages ------------------------------------------------------------------------ */

START_TEST(streams_move_their_bytes)
{
    begin("h100");
    struct work_compute norm = {.name = "norm", .kind = OP_STREAM, .bytes = 1e9};
    const double expected = 1e9 / (3350e9 * 0.9) + device.launch_s;
    ck_assert_double_eq_tol(seconds_of(&norm), expected, 1e-15);
    const struct work_compute *const both[] = {&norm, &norm};
    enum provenance provenance;
    ck_assert_double_eq_tol(prices_compute_s(&prices, 0, both, 2, &provenance),
                            2e9 / (3350e9 * 0.9) + device.launch_s, 1e-15);
    const struct runtime runtime = {.op_overhead_s = 8e-6, .op_gap_s = 3e-6, .attention_frac = 1.0};
    prices.runtime = &runtime; /* small kernels around each */
    ck_assert_double_eq_tol(seconds_of(&norm), expected + 3e-6, 1e-15);
    struct work_item items[3] = {{.compute = norm}, {.compute = norm}, {.is_message = true}};
    items[1].compute.joined = true; /* one launch with the one before */
    const struct work_items list = {.items = items, .count = 3};
    ck_assert_double_eq_tol(prices_host_s(&prices, &list), 2 * 8e-6, 1e-15);
    struct runtime routing = runtime;
    prices.runtime = &routing;
    routing.dispatch_overhead_s = 1e-3; /* the host's, and the device's where it waits for counts */
    items[0].compute.reorders = true;
    ck_assert_double_eq_tol(prices_host_s(&prices, &list), 2 * 8e-6 + 1e-3, 1e-15);
    ck_assert_double_eq_tol(seconds_of(&items[0].compute), expected + 3e-6, 1e-15);
    items[0].compute.counts = true;
    ck_assert_double_eq_tol(seconds_of(&items[0].compute), expected + 3e-6 + 1e-3, 1e-15);
    prices.runtime = NULL;
    ck_assert(prices_host_s(&prices, &list) == 0.0);
    arena_release(&arena);
}
END_TEST

static void read_cluster(const char *text, struct cluster *out)
{
    struct json *document;
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "t", &arena, out, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
    ck_assert_msg(prices_read(out, NULL, &arena, &prices, &diag), "%s", diag.entries[0].message);
}

/* A raw link is what its level says: a + n / B. Others lose to their protocols. */
START_TEST(raw_messages_cost_what_the_level_says)
{
    struct cluster cluster;
    struct path path;
    begin("h100");
    read_cluster("{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", \"device\": \"H100\", "
                 "\"levels\": [{\"name\": \"node\", \"kind\": \"switch\", \"degree\": 4, "
                 "\"bandwidth\": \"100 GB/s\", \"latency\": \"2 us\"}, {\"name\": \"fabric\", "
                 "\"kind\": \"switch\", \"degree\": 2, \"bandwidth\": \"50 GB/s\", \"latency\": "
                 "\"1 us\", \"link\": \"ib-ndr\"}]}",
                 &cluster);
    ck_assert(cluster_find_path(&cluster, 0, 1, &path));
    struct message_price price = prices_message(&prices, &path, 0, false);
    ck_assert(price.latency_s == 2e-6 && price.rate_Bps == 100e9);
    price = prices_message(&prices, &path, 0, true);
    ck_assert(price.latency_s == 2e-6 && price.rate_Bps == 100e9);
    ck_assert(cluster_find_path(&cluster, 0, 4, &path));
    const struct link_kind *link = prices_find_link(&prices, "ib-ndr");
    for (uint32_t protocol = 0; protocol < link->protocol_count; protocol++) {
        price = prices_message(&prices, &path, protocol, false);
        ck_assert(price.latency_s == 1e-6 + link->protocols[protocol].latency_s);
        ck_assert(price.rate_Bps > 0.0 && price.rate_Bps <= 50e9);
    }
    arena_release(&arena);
}
END_TEST

/* Large messages between two ranks alone go by the link's last protocol; other kinds choose. */
START_TEST(pairs_have_their_protocols)
{
    struct cluster cluster;
    begin("h100");
    read_cluster("{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", \"device\": \"H100\", "
                 "\"levels\": [{\"name\": \"node\", \"kind\": \"switch\", \"degree\": 8, "
                 "\"bandwidth\": \"450 GB/s\", \"latency\": \"0 s\", \"link\": \"nvlink4\"}]}",
                 &cluster);
    const struct link_kind *link = prices_find_link(&prices, "nvlink4");
    const uint32_t last = link->protocol_count - 1;
    ck_assert_uint_eq(prices_find_protocol(link, 0, COLLECTIVE_SEND, 16384.0), 0);
    ck_assert_uint_eq(prices_find_protocol(link, 0, COLLECTIVE_SEND, 16385.0), last);
    ck_assert_uint_eq(prices_find_protocol(link, 1, COLLECTIVE_ALL_TO_ALL, 1.0), last);
    ck_assert_uint_eq(prices_find_protocol(link, 1, COLLECTIVE_ALL_REDUCE, 1e9), 1);
    ck_assert_uint_eq(prices_find_protocol(link, 9, COLLECTIVE_ALL_REDUCE, 1.0), last);
    /* the last one fills buffers: at its rate, up to what they hold, never through a switch */
    const double rate_Bps = 450e9 * link->protocols[last].rate_frac;
    ck_assert_double_eq(prices_fill_s(link, last, false, 450e9, 1e6), 1e6 / rate_Bps);
    ck_assert_double_eq(prices_fill_s(link, last, false, 450e9, 1e9), link->fill_bytes / rate_Bps);
    ck_assert(prices_fill_s(link, last, true, 450e9, 1e9) == 0.0);
    ck_assert(prices_fill_s(link, 0, false, 450e9, 1e9) == 0.0);
    arena_release(&arena);
}
END_TEST

/* Algorithms are those of the links' library, of all where the links have none or several. */
START_TEST(libraries_offer_their_algorithms)
{
    static const struct {
        const char *link;
        bool halves;
    } rows[] = {{"nvlink4", false}, {"raw", true}, {"ici", true}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cluster cluster;
        begin("h100");
        read_cluster(text_build(&arena,
                                "{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", "
                                "\"device\": \"H100\", \"levels\": [{\"name\": \"node\", "
                                "\"kind\": \"switch\", \"degree\": 8, \"bandwidth\": \"450 "
                                "GB/s\", \"latency\": \"0 s\", \"link\": \"%s\"}]}",
                                rows[i].link),
                     &cluster);
        ck_assert(prices_offers(&prices, COLLECTIVE_ALL_GATHER, collective_find("ring")));
        ck_assert(prices_offers(&prices, COLLECTIVE_ALL_GATHER,
                                collective_find("halving-doubling")) == rows[i].halves);
        arena_release(&arena);
    }
}
END_TEST

/* A long kernel settles `gain` below its first rate, a short one does not. */
START_TEST(long_kernels_settle)
{
    begin("h100");
    const double gain = device.bench.gain;
    ck_assert(gain > 1.0 && device.bench.settle_s > 0.0);
    prices.bench = true;
    const double long_s = matmul_s(1u << 18, 16384, 16384), short_s = matmul_s(1024, 2048, 2048);
    device.bench.gain = 1.0;
    ck_assert_double_eq_tol(long_s / matmul_s(1u << 18, 16384, 16384), gain, 0.01);
    const double slower = short_s / matmul_s(1024, 2048, 2048);
    ck_assert(slower >= 1.0 && slower < 1.0 + 0.2 * (gain - 1.0));
    prices.bench = false; /* training knows no first clock */
    const double before_s = matmul_s(4096, 4096, 4096);
    device.bench.gain = gain;
    ck_assert(matmul_s(4096, 4096, 4096) == before_s);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("prices", squares_on_h100, sizes_on_a100_pcie, larger_takes_no_less,
         joined_matrices_are_one, flash_on_h100, plain_attention_is_dearer,
         streams_move_their_bytes, raw_messages_cost_what_the_level_says,
         pairs_have_their_protocols, libraries_offer_their_algorithms, long_kernels_settle)
