/* Clusters: what is read and refused, which way transfers take, what a dump reads back to. */
#include "topologies/cluster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

static void begin(void)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
}

static bool read_text(const char *text, struct cluster *out)
{
    struct json *document;
    if (!json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag)) {
        return false;
    }
    const bool good = cluster_read_json(json_root(document), "t", &arena, out, &diag);
    json_close(document);
    return good;
}

static struct cluster read_good(const char *text)
{
    struct cluster cluster;
    begin();
    ck_assert_msg(read_text(text, &cluster), "%s: %s", text, diag.entries[0].message);
    ck_assert(cluster_check(&cluster, &diag));
    return cluster;
}

static struct cluster read_zoo(const char *name)
{
    struct cluster cluster;
    begin();
    ck_assert_msg(cluster_read(name, &arena, &cluster, &diag), "%s: %s", name,
                  diag.entries[0].message);
    return cluster;
}

static struct path find(const struct cluster *cluster, uint32_t from, uint32_t to)
{
    struct path path;
    ck_assert(cluster_find_path(cluster, from, to, &path));
    for (uint32_t i = 0; i < path.hop_count; i++) {
        ck_assert_uint_lt(path.hops[i].resource, cluster_count_resources(cluster));
    }
    return path;
}

static void expect_path(const struct cluster *cluster, uint32_t from, uint32_t to,
                        const char *resources, double bandwidth_Bps, double latency_s)
{
    const struct path path = find(cluster, from, to);
    struct text text;
    text_init(&text, &arena);
    for (uint32_t i = 0; i < path.hop_count; i++) {
        text_push(&text, "%s%u", i == 0 ? "" : " ", path.hops[i].resource);
    }
    ck_assert_str_eq(text.bytes, resources);
    ck_assert_double_eq(path.bandwidth_Bps, bandwidth_Bps);
    ck_assert_double_eq_tol(path.latency_s, latency_s, 1e-15);
}

static const char *dump(const struct cluster *cluster)
{
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    cluster_dump(cluster, &writer);
    return text.bytes;
}

#define HEAD "{\"format\": \"shardplan/cluster/1\", \"name\": \"x\", "
#define DEVICE "\"device\": \"H100\", "
#define LEVEL(kind, degree, rate) \
    "{\"name\": \"l\", \"kind\": \"" kind "\", \"degree\": " degree ", \"bandwidth\": \"" rate \
    "\", \"latency\": \"1 us\"}"
#define LEVELS(levels) HEAD DEVICE "\"levels\": [" levels "]}"
#define AB "\"devices\": [{\"id\": \"a\", \"kind\": \"H100\"}, {\"id\": \"b\", \"kind\": \"H100\"}]"
#define LINK(from, to, rate) \
    "{\"from\": \"" from "\", \"to\": \"" to "\", \"bandwidth\": \"" rate \
    "\", \"latency\": \"1 us\"}"
#define GRAPH(devices, links) \
    HEAD "\"devices\": [{\"id\": \"" devices "\", \"kind\": \"H100\"}], " \
         "\"switches\": [{\"id\": \"s\"}], \"links\": [" links "]}"

/* The two forms exactly as the contract of the command line prints them. */
START_TEST(contract_examples_are_read)
{
    struct cluster star = read_good(
        "{\"format\": \"shardplan/cluster/1\", \"name\": \"star16\", \"device\": \"H100-SXM5\",\n"
        " \"levels\": [{\"name\": \"node\", \"kind\": \"switch\", \"degree\": 16, \"bandwidth\": "
        "\"100 GB/s\", \"latency\": \"0 s\"}]}");
    ck_assert_str_eq(star.name, "star16");
    ck_assert_uint_eq(star.device_count, 16);
    ck_assert_uint_eq(cluster_count_resources(&star), 32);
    ck_assert_str_eq(star.levels[0].link, LINK_RAW);
    expect_path(&star, 3, 12, "6 25", 100e9, 0);
    arena_release(&arena);

    struct cluster pair = read_good(
        "{\"format\": \"shardplan/cluster/1\", \"name\": \"pair\",\n"
        " \"devices\": [{\"id\": \"a\", \"kind\": \"A100-SXM4-80GB\"}, {\"id\": \"b\", \"kind\": "
        "\"V100-SXM2-32GB\"}], \"switches\": [{\"id\": \"s\"}],\n"
        " \"links\": [{\"from\": \"a\", \"to\": \"s\", \"bandwidth\": \"12 GB/s\", \"latency\": "
        "\"2 us\","
        " \"duplex\": \"full\"}, {\"from\": \"b\", \"to\": \"s\", \"bandwidth\": \"3 GB/s\", "
        "\"latency\": "
        "\"2 us\", \"duplex\": \"full\"}]}");
    ck_assert_str_eq(cluster_find_accelerator(&pair, 0)->name, "A100-SXM4-80GB");
    ck_assert_str_eq(cluster_find_accelerator(&pair, 1)->name, "V100-SXM2-32GB");
    expect_path(&pair, 0, 1, "0 3", 3e9, 4e-6);
    expect_path(&pair, 1, 0, "2 1", 3e9, 4e-6);
    arena_release(&arena);
}
END_TEST

/* Each fault: its text, and the one code that is reported for it. */
static const struct {
    const char *text;
    enum diag_code code;
} faults[] = {
    {"[]", DIAG_B112},
    {"{\"name\": \"x\"}", DIAG_B112},
    {"{\"format\": \"shardplan/cluster/2\"}", DIAG_B112},
    {HEAD "\"device\": \"H100\"}", DIAG_T307},
    {HEAD DEVICE "\"levels\": []}", DIAG_T307},
    {HEAD DEVICE "\"levels\": 3}", DIAG_B107},
    {HEAD DEVICE "\"levels\": [3]}", DIAG_B107},
    {HEAD AB ", " DEVICE "\"levels\": [" LEVEL("switch", "2", "1 GB/s") "]}", DIAG_T307},
    {HEAD "\"levels\": [" LEVEL("switch", "2", "1 GB/s") "]}", DIAG_B106},
    {HEAD "\"device\": \"H1000\", \"levels\": [" LEVEL("switch", "2", "1 GB/s") "]}", DIAG_T301},
    {LEVELS(LEVEL("switch", "8", "0 GB/s")), DIAG_T308},
    {LEVELS(LEVEL("switch", "8", "-1 GB/s")), DIAG_B109},
    {LEVELS(LEVEL("switch", "8", "NaN GB/s")), DIAG_B109},
    {LEVELS(LEVEL("switch", "8", "1e999 GB/s")), DIAG_B109},
    {LEVELS(LEVEL("switch", "8", "450")), DIAG_B109},
    {LEVELS(LEVEL("star", "8", "1 GB/s")), DIAG_B110},
    {LEVELS(LEVEL("switch", "0", "1 GB/s")), DIAG_B108},
    {LEVELS(LEVEL("ring", "129", "1 GB/s")), DIAG_T315},
    {LEVELS(LEVEL("switch", "100000", "1 GB/s") "," LEVEL("switch", "100000", "1 GB/s")),
     DIAG_T314},
    {LEVELS(LEVEL("fullmesh", "50000", "1 GB/s")), DIAG_T314},
    {HEAD AB "}", DIAG_B106},
    {HEAD AB ", \"links\": []}", DIAG_T313},
    {HEAD "\"devices\": [], \"links\": []}", DIAG_T307},
    {HEAD AB ", \"links\": [" LINK("a", "b", "0 B/s") "]}", DIAG_T308},
    {HEAD AB ", \"links\": [" LINK("a", "a", "1 B/s") "]}", DIAG_T312},
    {HEAD AB ", \"links\": [" LINK("a", "c", "1 B/s") "]}", DIAG_T311},
    {HEAD AB ", \"links\": [" LINK("a", "", "1 B/s") "]}", DIAG_T309},
    {HEAD AB ", \"links\": [" LINK("a", "b[1-0]", "1 B/s") "]}", DIAG_T309},
    {HEAD AB ", \"links\": [" LINK("a[0-2]", "b[0-1]", "1 B/s") "]}", DIAG_T309},
    {HEAD AB ", \"switches\": [{\"id\": \"a\"}], \"links\": [" LINK("a", "b", "1 B/s") "]}",
     DIAG_T310},
    {HEAD AB ", \"switches\": [{\"id\": \"s[0-999999]\"}], \"links\": []}", DIAG_T314},
    {GRAPH("d[0-7]", LINK("d[0-6]", "s", "1 B/s")), DIAG_T313},
    {GRAPH("d[0-4096]",
           LINK("d[0-4096]", "s", "1 B/s") ", " LINK("d[0-4095]", "d[1-4096]", "1 B/s")),
     DIAG_T314},
    {GRAPH("d[0-99]", LINK("d[0-98]", "d[1-99]", "1 B/s") ", " LINK("d0", "s", "1 B/s")),
     DIAG_T315},
    {HEAD DEVICE "\"accelerators\": [3], \"levels\": [" LEVEL("switch", "2", "1 GB/s") "]}",
     DIAG_B112},
    {HEAD "\"device\": [{\"kind\": \"H100\", \"count\": 3}], \"levels\": [" LEVEL("switch", "2",
                                                                                  "1 GB/s") "]}",
     DIAG_T307},
};

START_TEST(fault_has_one_clear_message)
{
    for (uint32_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *text = faults[i].text;
        struct cluster cluster;
        begin();
        ck_assert_msg(!read_text(text, &cluster), "%s is read", text);
        ck_assert_msg(diag.entries[0].code == faults[i].code, "%s: %s is reported: %s", text,
                      diag_code_name(diag.entries[0].code), diag.entries[0].message);
        ck_assert_msg(diag.count == 1, "%s: %u faults", text, diag.count);
        ck_assert_str_eq(diag.entries[0].place.file, "t.json");
        arena_release(&arena);
    }
}
END_TEST

/* Read against the struct, since these cannot come from a file. */
START_TEST(built_cluster_is_checked)
{
    struct cluster good = read_good(GRAPH("d[0-1]", LINK("d[0-1]", "s", "1 GB/s")));
    const struct link kept = good.links[0];
    const double bad_values[] = {0, -1, (double)INFINITY, (double)NAN};
    for (uint32_t i = 0; i < sizeof bad_values / sizeof bad_values[0]; i++) {
        good.links[0].bandwidth_Bps = bad_values[i];
        ck_assert_uint_eq(diag.count, i);
        ck_assert(!cluster_check(&good, &diag));
        ck_assert_int_eq(diag.entries[i].code, DIAG_T308);
    }
    good.links[0] = kept;
    good.links[0].latency_s = -1;
    ck_assert(!cluster_check(&good, &diag));
    good.links[0] = kept;
    good.nodes[1].id = "d0";
    ck_assert(!cluster_check(&good, &diag));
    ck_assert_int_eq(diag.entries[5].code, DIAG_T310);
    good.nodes[1].id = "d[1-2]";
    ck_assert(!cluster_check(&good, &diag));
    ck_assert_int_eq(diag.entries[6].code, DIAG_T309);
    good.nodes[1].id = "d1";
    ck_assert(cluster_check(&good, &diag));
    arena_release(&arena);
}
END_TEST

START_TEST(inner_and_outer_levels_have_ports_of_their_own)
{
    struct cluster cluster =
        read_good(LEVELS(LEVEL("switch", "4", "400 GB/s") ", " LEVEL("switch", "3", "50 GB/s")));
    ck_assert_uint_eq(cluster.device_count, 12);
    ck_assert_uint_eq(cluster_count_domain(&cluster, 0), 4);
    ck_assert_uint_eq(cluster_count_domain(&cluster, 1), 12);
    ck_assert_uint_eq(cluster_find_level(&cluster, 0, 3), 0);
    ck_assert_uint_eq(cluster_find_level(&cluster, 3, 4), 1);
    ck_assert_uint_eq(cluster_count_resources(&cluster), 48);
    expect_path(&cluster, 1, 2, "4 9", 400e9, 1e-6);
    expect_path(&cluster, 1, 6, "6 27", 50e9, 1e-6);
    ck_assert_uint_eq(find(&cluster, 1, 6).level, 1);
    arena_release(&arena);
}
END_TEST

/* Device d has 2 ports per peer: out 6d + 2k and in 6d + 2k + 1 for its k-th other domain. */
START_TEST(fullmesh_splits_over_peers)
{
    struct cluster cluster =
        read_good(LEVELS(LEVEL("fullmesh", "4", "300 GB/s") ", " LEVEL("fullmesh", "2", "8 GB/s")));
    ck_assert_uint_eq(cluster_count_resources(&cluster), 8 * (6 + 2));
    expect_path(&cluster, 0, 1, "0 9", 100e9, 1e-6);
    expect_path(&cluster, 1, 0, "8 1", 100e9, 1e-6);
    expect_path(&cluster, 0, 3, "4 25", 100e9, 1e-6);
    expect_path(&cluster, 3, 2, "28 21", 100e9, 1e-6);
    expect_path(&cluster, 1, 6, "14 55", 8e9, 1e-6);
    arena_release(&arena);
}
END_TEST

/* Up the ring from device d is 2d, down 2d + 1. */
START_TEST(ring_takes_the_shorter_way)
{
    struct cluster cluster = read_good(LEVELS(LEVEL("ring", "6", "100 GB/s")));
    expect_path(&cluster, 0, 1, "0", 50e9, 1e-6);
    expect_path(&cluster, 1, 0, "3", 50e9, 1e-6);
    expect_path(&cluster, 4, 0, "8 10", 50e9, 2e-6);
    expect_path(&cluster, 0, 4, "1 11", 50e9, 2e-6);
    expect_path(&cluster, 0, 3, "0 2 4", 50e9, 3e-6);
    expect_path(&cluster, 3, 0, "7 5 3", 50e9, 3e-6);
    arena_release(&arena);
    cluster = read_good(LEVELS(LEVEL("ring", "2", "100 GB/s")));
    expect_path(&cluster, 0, 1, "0", 100e9, 1e-6);
    expect_path(&cluster, 1, 0, "3", 100e9, 1e-6);
    arena_release(&arena);
}
END_TEST

/* Nodes of two devices on a ring of five: ports of device d start at 4d, the ring's at 4d + 2. */
START_TEST(outer_ring_uses_links_of_sender_and_receiver)
{
    struct cluster cluster =
        read_good(LEVELS(LEVEL("switch", "2", "400 GB/s") ", " LEVEL("ring", "5", "20 GB/s")));
    expect_path(&cluster, 0, 2, "2", 10e9, 1e-6);
    expect_path(&cluster, 0, 3, "2 6", 10e9, 1e-6);
    expect_path(&cluster, 0, 4, "2 10", 10e9, 2e-6);
    expect_path(&cluster, 0, 5, "2 14", 10e9, 2e-6);
    expect_path(&cluster, 0, 9, "3 7", 10e9, 1e-6);
    arena_release(&arena);
}
END_TEST

/* A square a-b-d, a-c-d: both ways take two links; the one over c is wider. */
START_TEST(of_equally_short_ways_the_widest)
{
    static const char *const square = HEAD
        "\"devices\": [{\"id\": \"a\", \"kind\": \"H100\"}, {\"id\": \"b\", \"kind\": \"H100\"}, "
        "{\"id\": \"c\", \"kind\": \"H100\"}, {\"id\": \"d\", \"kind\": \"H100\"}], \"links\": "
        "[%s]}";
    begin();
    const char *wider =
        text_build(&arena, "%s, %s, %s, %s", LINK("a", "b", "5 GB/s"), LINK("b", "d", "9 GB/s"),
                   LINK("a", "c", "6 GB/s"), LINK("c", "d", "7 GB/s"));
    struct cluster cluster;
    char text[2048];
    snprintf(text, sizeof text, square, wider);
    ck_assert(read_text(text, &cluster));
    expect_path(&cluster, 0, 3, "4 6", 6e9, 2e-6);
    expect_path(&cluster, 3, 0, "7 5", 6e9, 2e-6);
    const char *even =
        text_build(&arena, "%s, %s, %s, %s, %s", LINK("d", "c", "5 GB/s"), LINK("a", "c", "5 GB/s"),
                   LINK("d", "b", "5 GB/s"), LINK("a", "b", "2 GB/s"), LINK("b", "a", "5 GB/s"));
    snprintf(text, sizeof text, square, even);
    ck_assert(read_text(text, &cluster));
    expect_path(&cluster, 0, 3, "9 5", 5e9, 2e-6);
    arena_release(&arena);
}
END_TEST

START_TEST(half_duplex_is_one_resource)
{
    struct cluster cluster = read_good(
        HEAD AB ", \"links\": [{\"from\": \"a\", \"to\": \"b\", \"bandwidth\": \"1 GB/s\", "
                "\"latency\": \"1 us\", \"duplex\": \"half\", \"link\": \"pcie\"}]}");
    expect_path(&cluster, 0, 1, "0", 1e9, 1e-6);
    expect_path(&cluster, 1, 0, "0", 1e9, 1e-6);
    ck_assert_str_eq(find(&cluster, 0, 1).link, "pcie");
    arena_release(&arena);
}
END_TEST

START_TEST(ranges_stand_for_many)
{
    struct cluster cluster = read_good(
        HEAD
        "\"devices\": [{\"id\": \"n[0-1]g[00-02]\", \"kind\": \"H100\"}], "
        "\"switches\": [{\"id\": \"s[0-1]\"}], \"links\": [" LINK(
            "n0g[00-02]", "s0", "9 GB/s") ", " LINK("s1", "n1g[00-02]",
                                                    "8 GB/s") ", " LINK("s0", "s1", "1 GB/s") "]}");
    ck_assert_uint_eq(cluster.device_count, 6);
    ck_assert_str_eq(cluster.nodes[2].id, "n0g02");
    ck_assert_str_eq(cluster.nodes[3].id, "n1g00");
    ck_assert_str_eq(cluster.nodes[7].id, "s1");
    expect_path(&cluster, 1, 5, "2 12 10", 1e9, 3e-6);
    arena_release(&arena);
}
END_TEST

/* A star of 100,000 devices costs no table, and is written as it was. */
START_TEST(large_star_is_small)
{
    const char *text = GRAPH("a[0-99999]", LINK("a[0-99999]", "s", "12 GB/s"));
    struct cluster cluster = read_good(text);
    ck_assert_uint_eq(cluster.device_count, 100000);
    ck_assert_uint_eq(cluster.core_count, 1);
    expect_path(&cluster, 99999, 0, "199998 1", 12e9, 2e-6);
    const char *dumped = dump(&cluster);
    ck_assert_ptr_nonnull(strstr(dumped, "\"a[0-99999]\""));
    ck_assert_uint_lt(strlen(dumped), 4096);
    arena_release(&arena);
}
END_TEST

START_TEST(large_levels_cost_nothing)
{
    struct cluster cluster = read_zoo("dgx-h100:12500");
    ck_assert_uint_eq(cluster.device_count, 100000);
    ck_assert_ptr_null(cluster.device_kind);
    ck_assert_uint_lt(arena.used_bytes, 256u << 10);
    arena_release(&arena);
}
END_TEST

START_TEST(nodes_replace_the_last_degree)
{
    struct cluster cluster = read_zoo("DGX-H100:2048");
    ck_assert_str_eq(cluster.name, "dgx-h100");
    ck_assert_uint_eq(cluster.level_count, 2);
    ck_assert_uint_eq(cluster.levels[0].degree, 8);
    ck_assert_uint_eq(cluster.levels[1].degree, 2048);
    ck_assert_uint_eq(cluster.device_count, 16384);
    arena_release(&arena);
    cluster = read_zoo("dgx-h100:1");
    ck_assert_uint_eq(cluster.level_count, 2);
    ck_assert_uint_eq(cluster.device_count, 8);
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *name;
    enum diag_code code;
    const char *hint; /* or NULL */
} bad_names[] = {
    {"dgx-h10", DIAG_T302, "did you mean 'dgx-h100'?"},
    {"nothing-like-it", DIAG_T302, "`shardplan list clusters` prints all names"},
    {"dgx-h100:0", DIAG_T305, NULL},
    {"dgx-h100:", DIAG_T305, NULL},
    {"dgx-h100:-4", DIAG_T305, NULL},
    {"dgx-h100:4x", DIAG_T305, NULL},
    {"dgx-h100:99999999999999999999", DIAG_T305, NULL},
    {"dgx-h100:4294967295", DIAG_T314, NULL},
    {"dgx-a100:4,dgx-v100:8", DIAG_T306,
     "describe the parts and the fabric between them as one "
     "native JSON cluster"},
    {"no/such/file.json", DIAG_B101, NULL},
};

START_TEST(bad_name_is_refused)
{
    for (uint32_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++) {
        struct cluster cluster;
        begin();
        ck_assert(!cluster_read(bad_names[i].name, &arena, &cluster, &diag));
        ck_assert_uint_eq(diag.count, 1);
        ck_assert_msg(diag.entries[0].code == bad_names[i].code, "%s: %s", bad_names[i].name,
                      diag.entries[0].message);
        ck_assert_pstr_eq(diag.entries[0].hint, bad_names[i].hint);
        arena_release(&arena);
    }
}
END_TEST

static const char *const round_trips[] = {
    LEVELS(LEVEL("switch", "8", "450 GB/s") ", " LEVEL("ring", "4", "33.333 Gb/s") ", " LEVEL(
        "fullmesh", "3", "1 B/s")),
    HEAD
    "\"source\": \"a page\", \"device\": [{\"kind\": \"H100\", \"count\": 3}, {\"kind\": \"a100\", "
    "\"count\": 1}], \"levels\": [" LEVEL("switch", "4", "1 GB/s") "]}",
    HEAD DEVICE "\"levels\": [{\"kind\": \"switch\", \"degree\": 4, \"bandwidth\": \"9 GB/s\", "
                "\"oversubscription\": 3, \"in_network_reduction\": true}]}",
    GRAPH("a[7-12]", LINK("a[7-12]", "s", "12 GB/s")),
    GRAPH("n[0-1]g[00-11]", LINK("n[0-1]g[00-11]", "s", "12 GB/s")),
    GRAPH("d[0-15]",
          LINK("d[0-14]", "d[1-15]", "3 GB/s") ", " LINK("d15", "d0", "3 GB/s") ", " LINK(
              "s", "d[0-3]", "1 GB/s") ", " LINK("d0", "d1", "3 GB/s")),
};

static void expect_same_ways(const struct cluster *first, const struct cluster *second)
{
    for (uint32_t to = 1; to < first->device_count; to++) {
        const struct path a = find(first, 0, to);
        const struct path b = find(second, 0, to);
        ck_assert_uint_eq(a.hop_count, b.hop_count);
        for (uint32_t i = 0; i < a.hop_count; i++) {
            ck_assert_uint_eq(a.hops[i].resource, b.hops[i].resource);
            ck_assert_double_eq(a.hops[i].bandwidth_Bps, b.hops[i].bandwidth_Bps);
        }
    }
}

/* Written, read, written: the same text, digest and ways, without the data folder. */
START_TEST(dump_reads_back)
{
    for (uint32_t i = 0; i < sizeof round_trips / sizeof round_trips[0]; i++) {
        setenv("SHARDPLAN_DATA", SHARDPLAN_DATA_DIR, 1);
        struct cluster first = read_good(round_trips[i]);
        const char *dumped = dump(&first);
        struct cluster second;
        setenv("SHARDPLAN_DATA", "/nonexistent", 1);
        ck_assert_msg(read_text(dumped, &second), "%s: %s", dumped, diag.entries[0].message);
        ck_assert_str_eq(dump(&second), dumped);
        ck_assert_uint_eq(second.digest, first.digest);
        expect_same_ways(&first, &second);
        arena_release(&arena);
    }
}
END_TEST

/* A chain of 65 devices is the longest that struct path holds. */
START_TEST(longest_way_is_exact)
{
    struct cluster cluster = read_good(
        GRAPH("d[0-64]", LINK("d[0-63]", "d[1-64]", "1 B/s") ", " LINK("s", "d9", "1 B/s")));
    ck_assert_uint_eq(find(&cluster, 0, 64).hop_count, PATH_HOP_MAX);
    arena_release(&arena);
    begin();
    ck_assert(!read_text(
        GRAPH("d[0-65]", LINK("d[0-64]", "d[1-65]", "1 B/s") ", " LINK("s", "d9", "1 B/s")),
        &cluster));
    ck_assert_int_eq(diag.entries[0].code, DIAG_T315);
    arena_release(&arena);
}
END_TEST

/* A device kind that the file brings along wins over the data folder's. */
START_TEST(embedded_kind_is_preferred)
{
    struct cluster cluster = read_good(LEVELS(LEVEL("switch", "2", "1 GB/s")));
    const char *dumped = dump(&cluster);
    const char *memory = strstr(dumped, "\"80 GiB\"");
    ck_assert_ptr_nonnull(memory);
    char *changed = text_build_copy(&arena, dumped, strlen(dumped));
    changed[memory - dumped + 1] = '4';
    struct cluster other;
    ck_assert(read_text(changed, &other));
    ck_assert_uint_eq(cluster_find_accelerator(&other, 0)->memory_bytes, (uint64_t)40 << 30);
    ck_assert_uint_ne(other.digest, cluster.digest);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("cluster", contract_examples_are_read, fault_has_one_clear_message,
         built_cluster_is_checked, inner_and_outer_levels_have_ports_of_their_own,
         fullmesh_splits_over_peers, ring_takes_the_shorter_way,
         outer_ring_uses_links_of_sender_and_receiver, of_equally_short_ways_the_widest,
         half_duplex_is_one_resource, ranges_stand_for_many, large_star_is_small,
         large_levels_cost_nothing, nodes_replace_the_last_degree, bad_name_is_refused,
         dump_reads_back, longest_way_is_exact, embedded_kind_is_preferred)
