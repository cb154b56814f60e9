/* Clusters: what is read and refused, what a dump reads back to. */
#include <math.h>
#include <stdlib.h>

#include "tests/unit/cluster_text.h"

static struct cluster read_zoo(const char *name)
{
    struct cluster cluster;
    begin();
    ck_assert_msg(cluster_read(name, &arena, &cluster, &diag), "%s: %s", name,
                  diag.entries[0].message);
    return cluster;
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
     "name it: --fabric ib-hdr, or describe the whole as one native JSON cluster"},
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

#define HALF(from, to) \
    "{\"from\": \"" from "\", \"to\": \"" to \
    "\", \"bandwidth\": \"12 GB/s\", \"latency\": \"1 us\", \"duplex\": \"half\"}"

static const char *const round_trips[] = {
    GRAPH("a[0-3]", LINK("a[0-1]", "s", "12 GB/s") ", " HALF("a[2-3]", "s")),
    GRAPH("a[0-1]", LINK("a0", "s", "12 GB/s") ", " LINK("a0", "s", "12 GB/s") ", " LINK(
                        "a1", "s", "12 GB/s")),
    HEAD "\"devices\": [{\"id\": \"a[0-1]\", \"kind\": \"H100\"}, {\"id\": \"a[2-3]\", \"kind\": "
         "\"A100\"}], \"switches\": [{\"id\": \"s0\"}, {\"id\": \"s1\", \"in_network_reduction\": "
         "true}], \"links\": [" LINK("a[0-3]", "s0", "1 GB/s") ", " LINK("s0", "s1", "1 GB/s") "]}",
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

static void expect_same_parts(const struct cluster *first, const struct cluster *second)
{
    ck_assert_uint_eq(second->device_count, first->device_count);
    for (uint32_t i = 0; i < first->device_count; i++) {
        ck_assert_str_eq(cluster_find_accelerator(second, i)->name,
                         cluster_find_accelerator(first, i)->name);
    }
    ck_assert_uint_eq(second->node_count, first->node_count);
    for (uint32_t i = 0; i < first->node_count; i++) {
        ck_assert_str_eq(second->nodes[i].id, first->nodes[i].id);
        ck_assert(second->nodes[i].reduces == first->nodes[i].reduces);
    }
    ck_assert_uint_eq(second->link_count, first->link_count);
    for (uint32_t i = 0; i < first->link_count; i++) {
        ck_assert_uint_eq(second->links[i].from, first->links[i].from);
        ck_assert_uint_eq(second->links[i].to, first->links[i].to);
        ck_assert(second->links[i].half_duplex == first->links[i].half_duplex);
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
        expect_same_parts(&first, &second);
        expect_same_ways(&first, &second);
        arena_release(&arena);
    }
}
END_TEST

/* Names of one kind are one kind; an oversubscribed level is as slow as its share. */
START_TEST(names_and_shares_are_resolved)
{
    struct cluster cluster = read_good(
        HEAD
        "\"device\": [{\"kind\": \"H100\", \"count\": 3}, {\"kind\": \"h100-SXM5\", \"count\": "
        "1}], \"levels\": [{\"kind\": \"switch\", \"degree\": 4, \"bandwidth\": \"9 GB/s\", "
        "\"oversubscription\": 3}]}");
    ck_assert_uint_eq(cluster.accelerator_count, 1);
    ck_assert_double_eq(cluster.levels[0].bandwidth_Bps, 3e9);
    ck_assert_str_eq(cluster.levels[0].name, "level0");
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
         built_cluster_is_checked, ranges_stand_for_many, large_star_is_small,
         large_levels_cost_nothing, nodes_replace_the_last_degree, bad_name_is_refused,
         dump_reads_back, names_and_shares_are_resolved, embedded_kind_is_preferred)
