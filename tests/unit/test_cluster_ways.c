/* Which way transfers take through levels and graphs, by hand. */
#include "tests/unit/cluster_text.h"

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
    const char *parallel =
        text_build(&arena, "%s, %s, %s, %s", LINK("a", "b", "5 GB/s"), LINK("a", "b", "9 GB/s"),
                   LINK("b", "c", "3 GB/s"), LINK("c", "d", "3 GB/s"));
    snprintf(text, sizeof text, square, parallel);
    ck_assert(read_text(text, &cluster));
    expect_path(&cluster, 0, 2, "2 4", 3e9, 2e-6);
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

TAP_MAIN("cluster_ways", inner_and_outer_levels_have_ports_of_their_own, fullmesh_splits_over_peers,
         ring_takes_the_shorter_way, outer_ring_uses_links_of_sender_and_receiver,
         of_equally_short_ways_the_widest, half_duplex_is_one_resource, longest_way_is_exact)
