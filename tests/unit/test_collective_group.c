/* Groups know their place: which consecutive ranks are close, whether a switch above all
 * reduces. */
#include "plan/collective_group.h"

#include <string.h>

#include "base/random.h"
#include "tests/tap_main.h"

/* --- levels ----------------------------------------------------------------------------------- */

/* 8 devices a node, 4 nodes a rack, 4 racks; switches of nodes and of the top reduce. */
static struct cluster racks(void)
{
    struct cluster cluster = {.name = "racks", .device_count = 128, .level_count = 3};
    cluster.levels[0] = (struct level){.name = "node", .degree = 8, .reduces = true};
    cluster.levels[1] = (struct level){.name = "rack", .degree = 4};
    cluster.levels[2] = (struct level){.name = "top", .degree = 4, .reduces = true};
    return cluster;
}

static const struct {
    const char *what;
    struct rank_group group;
    uint32_t base;
    uint32_t inner;
    bool reduces;
} rows[] = {
    {"one device", {.ranks = 1}, 3, 1, false},
    {"a node", {.ranks = 8, .step_count = 1, .steps = {{1, 8, 1}}}, 16, 8, true},
    {"half a node", {.ranks = 4, .step_count = 1, .steps = {{1, 4, 1}}}, 20, 4, true},
    {"every other of a node", {.ranks = 4, .step_count = 1, .steps = {{2, 4, 1}}}, 9, 4, true},
    {"across a border", {.ranks = 2, .step_count = 1, .steps = {{1, 2, 1}}}, 7, 1, false},
    {"uneven across a border", {.ranks = 3, .step_count = 1, .steps = {{1, 3, 1}}}, 6, 1, false},
    {"half and half", {.ranks = 8, .step_count = 1, .steps = {{1, 8, 1}}}, 4, 4, false},
    {"4 and 8", {.ranks = 12, .step_count = 1, .steps = {{1, 12, 1}}}, 4, 4, false},
    {"2, 8 and 2", {.ranks = 12, .step_count = 1, .steps = {{1, 12, 1}}}, 6, 2, false},
    {"a rack", {.ranks = 32, .step_count = 1, .steps = {{1, 32, 1}}}, 32, 8, false},
    {"all", {.ranks = 128, .step_count = 1, .steps = {{1, 128, 1}}}, 0, 8, true},
    {"one of each node of a rack",
     {.ranks = 4, .step_count = 1, .steps = {{8, 4, 1}}},
     35,
     1,
     false},
    {"one of each node", {.ranks = 16, .step_count = 1, .steps = {{8, 16, 1}}}, 5, 4, true},
    {"one of each rack", {.ranks = 4, .step_count = 1, .steps = {{32, 4, 1}}}, 0, 1, true},
    {"two of each node",
     {.ranks = 8, .step_count = 2, .steps = {{1, 2, 1}, {8, 4, 1}}},
     2,
     2,
     false},
    {"nodes first", {.ranks = 8, .step_count = 2, .steps = {{8, 4, 1}, {1, 2, 1}}}, 2, 1, false},
    {"racks first", {.ranks = 16, .step_count = 2, .steps = {{32, 4, 1}, {8, 4, 1}}}, 0, 1, true},
};

START_TEST(test_levels)
{
    const struct cluster cluster = racks();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct collective_group group;
        collective_group_find(&cluster, &rows[i].group, rows[i].base, &group);
        ck_assert_uint_eq(group.ranks, rows[i].group.ranks);
        ck_assert_uint_eq(group.pipeline, 1);
        ck_assert_msg(group.inner == rows[i].inner, "%s: inner %u, not %u", rows[i].what,
                      group.inner, rows[i].inner);
        ck_assert_msg(group.reduces == rows[i].reduces, "%s: %s", rows[i].what,
                      group.reduces ? "reduces" : "does not reduce");
    }
}
END_TEST

/* One device a node: the innermost level that holds more than one device is the next. */
START_TEST(test_levels_of_one_are_passed_over)
{
    struct cluster cluster = racks();
    cluster.levels[0].degree = 1;
    cluster.device_count = 16;
    const struct rank_group rack = {.ranks = 4, .step_count = 1, .steps = {{1, 4, 1}}};
    const struct rank_group all = {.ranks = 16, .step_count = 1, .steps = {{1, 16, 1}}};
    struct collective_group group;
    collective_group_find(&cluster, &rack, 4, &group);
    ck_assert_uint_eq(group.inner, 4);
    ck_assert(!group.reduces);
    collective_group_find(&cluster, &all, 0, &group);
    ck_assert_uint_eq(group.inner, 4);
    ck_assert(group.reduces);
}
END_TEST

/* What inner promises, on every base and many shapes: aligned blocks lie in one domain of one
 * level, and no larger divisor would do for the innermost level. */
static uint32_t find_highest(const struct cluster *cluster, const struct rank_group *group,
                             uint32_t base, uint32_t block)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < group->ranks; i++) {
        const uint32_t level =
            cluster_find_level(cluster, rank_group_find_device(group, base, i - i % block),
                               rank_group_find_device(group, base, i));
        highest = level > highest ? level : highest;
    }
    return highest;
}

static void expect_promise(const struct cluster *cluster, const struct rank_group *group,
                           uint32_t base)
{
    struct collective_group found;
    collective_group_find(cluster, group, base, &found);
    ck_assert_uint_eq(group->ranks % found.inner, 0);
    const uint32_t level = find_highest(cluster, group, base, found.inner);
    const uint32_t all = find_highest(cluster, group, base, group->ranks);
    ck_assert(found.inner == 1 || level == 0 || level < all);
    ck_assert(found.reduces == (group->ranks > 1 && cluster->levels[all].reduces));
    for (uint32_t larger = found.inner + 1; larger <= group->ranks; larger++) {
        ck_assert(group->ranks % larger != 0 || find_highest(cluster, group, base, larger) > 0);
    }
}

START_TEST(test_levels_keep_their_promise)
{
    const struct cluster cluster = racks();
    const uint32_t strides[] = {1, 2, 3, 4, 8, 16, 32};
    for (uint32_t i = 0; i < 7 * 16; i++) {
        const struct rank_group group = {
            .ranks = 1 + i % 16, .step_count = 1, .steps = {{strides[i / 16], 1 + i % 16, 1}}};
        const uint32_t reach = strides[i / 16] * (i % 16);
        for (uint32_t base = 0; base + reach < cluster.device_count; base++) {
            expect_promise(&cluster, &group, base);
        }
    }
}
END_TEST

START_TEST(test_large_groups)
{
    struct cluster cluster = racks();
    cluster.levels[2].degree = 3200;
    cluster.device_count = 102400;
    const struct rank_group all = {.ranks = 102400, .step_count = 1, .steps = {{1, 102400, 1}}};
    struct collective_group group;
    collective_group_find(&cluster, &all, 0, &group);
    ck_assert_uint_eq(group.inner, 8);
    ck_assert(group.reduces);
}
END_TEST

/* --- graphs ----------------------------------------------------------------------------------- */

#define HEAD \
    "{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", \"device\": \"H100\", " \
    "\"devices\": [{\"id\": \"d[0-7]\"}], \"switches\": "
#define LINK(from, to, rate) \
    "{\"from\": \"" from "\", \"to\": \"" to "\", \"bandwidth\": \"" rate " GB/s\"}"

/* clang-format off */

/* Two boxes of 4 devices: nodes 8 and 9 switch inside a box, 10 and 11 join all devices. */
static const char *const boxes =
    HEAD "[{\"id\": \"in[0-1]\"}, {\"id\": \"out[0-1]\"}], \"links\": ["
    LINK("d[0-3]", "in0", "100") ", " LINK("d[4-7]", "in1", "100") ", "
    LINK("d[0-7]", "out0", "10") ", " LINK("d[0-7]", "out1", "10") "]}";

/* Every device is a leaf: its only link leads to the switch, node 8. */
static const char *const star =
    HEAD "[{\"id\": \"s\"}], \"links\": [" LINK("d[0-7]", "s", "100") "]}";

/* A row: each device is linked to the next, the fourth by less. */
static const char *const row =
    HEAD "[], \"links\": [" LINK("d[0-2]", "d[1-3]", "9") ", " LINK("d3", "d4", "1") ", "
    LINK("d[4-6]", "d[5-7]", "9") "]}";

/* clang-format on */

static struct arena arena;

static struct cluster read_graph(const char *text)
{
    struct cluster cluster;
    struct diag diag;
    struct json *document;
    arena_init(&arena);
    diag_init(&diag, &arena);
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "t", &arena, &cluster, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
    return cluster;
}

static struct collective_group find_in_graph(const struct cluster *cluster, uint32_t base,
                                             uint32_t stride, uint32_t size)
{
    const struct rank_group ranks = {.ranks = size, .step_count = 1, .steps = {{stride, size, 1}}};
    struct collective_group group;
    collective_group_find(cluster, &ranks, base, &group);
    return group;
}

START_TEST(test_graph_blocks_end_where_ways_narrow)
{
    const struct cluster cluster = read_graph(boxes);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 1, 8).inner, 4);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 1, 4).inner, 4);
    ck_assert_uint_eq(find_in_graph(&cluster, 2, 1, 4).inner, 2);
    ck_assert_uint_eq(find_in_graph(&cluster, 1, 2, 4).inner, 2);
    ck_assert_uint_eq(find_in_graph(&cluster, 2, 1, 3).inner, 1);
    ck_assert_uint_eq(find_in_graph(&cluster, 3, 1, 3).inner, 1);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 4, 2).inner, 2);
    ck_assert_uint_eq(find_in_graph(&cluster, 5, 1, 1).inner, 1);
    arena_release(&arena);
}
END_TEST

START_TEST(test_graph_reduces_under_one_reducing_switch)
{
    struct cluster cluster = read_graph(boxes);
    ck_assert(!find_in_graph(&cluster, 0, 1, 8).reduces);
    cluster.nodes[9].reduces = true;
    ck_assert(!find_in_graph(&cluster, 0, 1, 8).reduces);
    ck_assert(!find_in_graph(&cluster, 0, 1, 4).reduces);
    ck_assert(find_in_graph(&cluster, 4, 1, 4).reduces);
    ck_assert(find_in_graph(&cluster, 5, 2, 2).reduces);
    ck_assert(!find_in_graph(&cluster, 3, 1, 2).reduces);
    cluster.nodes[11].reduces = true;
    ck_assert(find_in_graph(&cluster, 0, 1, 8).reduces);
    ck_assert(find_in_graph(&cluster, 3, 1, 2).reduces);
    ck_assert(!find_in_graph(&cluster, 3, 1, 1).reduces);
    arena_release(&arena);
}
END_TEST

START_TEST(test_graph_star_of_leaves)
{
    struct cluster cluster = read_graph(star);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 1, 8).inner, 8);
    ck_assert(!find_in_graph(&cluster, 0, 1, 8).reduces);
    cluster.nodes[8].reduces = true;
    ck_assert(find_in_graph(&cluster, 0, 1, 8).reduces);
    ck_assert(find_in_graph(&cluster, 3, 2, 3).reduces);
    arena_release(&arena);
}
END_TEST

START_TEST(test_graph_without_switches)
{
    const struct cluster cluster = read_graph(row);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 1, 8).inner, 4);
    ck_assert_uint_eq(find_in_graph(&cluster, 0, 1, 3).inner, 3);
    ck_assert_uint_eq(find_in_graph(&cluster, 2, 1, 4).inner, 2);
    ck_assert_uint_eq(find_in_graph(&cluster, 3, 1, 2).inner, 2);
    ck_assert(!find_in_graph(&cluster, 0, 1, 8).reduces);
    arena_release(&arena);
}
END_TEST

/* --- grids ------------------------------------------------------------------------------------ */

/* A torus of 4 x 6 places, the second axis open, of 2 devices each. */
static struct cluster grid(void)
{
    struct cluster cluster = {.name = "grid", .device_count = 48, .level_count = 2};
    cluster.levels[0] = (struct level){.name = "pair", .degree = 2};
    cluster.levels[1] = (struct level){.name = "grid",
                                       .kind = LEVEL_TORUS,
                                       .degree = 24,
                                       .axis_count = 2,
                                       .shape = {4, 6},
                                       .wraps_at = 4};
    return cluster;
}

static const struct {
    const char *what;
    struct rank_group group;
    uint32_t base;
    const char *axes; /* "4o 6-": size, o closed, - open */
} grid_rows[] = {
    {"a pair", {.ranks = 2, .step_count = 1, .steps = {{1, 2, 1}}}, 0, ""},
    {"all first ones", {.ranks = 24, .step_count = 1, .steps = {{2, 24, 1}}}, 0, "4o 6-"},
    {"all second ones", {.ranks = 24, .step_count = 1, .steps = {{2, 24, 1}}}, 1, "4o 6-"},
    {"all of both", {.ranks = 48, .step_count = 1, .steps = {{1, 48, 1}}}, 0, ""},
    {"a row", {.ranks = 4, .step_count = 1, .steps = {{2, 4, 1}}}, 8, "4o"},
    {"half a row", {.ranks = 2, .step_count = 1, .steps = {{2, 2, 1}}}, 8, "2-"},
    {"every other of a row", {.ranks = 2, .step_count = 1, .steps = {{4, 2, 1}}}, 8, "2o"},
    {"a column", {.ranks = 6, .step_count = 1, .steps = {{8, 6, 1}}}, 2, "6-"},
    {"a box", {.ranks = 4, .step_count = 2, .steps = {{2, 2, 1}, {8, 2, 1}}}, 0, "2- 2-"},
    {"a box, columns first", {.ranks = 4, .step_count = 2, .steps = {{8, 2, 1}, {2, 2, 1}}}, 0, ""},
    {"a row and a half", {.ranks = 6, .step_count = 1, .steps = {{2, 6, 1}}}, 0, ""},
    {"across the end of a row", {.ranks = 4, .step_count = 1, .steps = {{2, 4, 1}}}, 4, ""},
};

START_TEST(test_grids)
{
    const struct cluster cluster = grid();
    struct arena own;
    arena_init(&own);
    for (uint32_t i = 0; i < sizeof grid_rows / sizeof grid_rows[0]; i++) {
        struct collective_group found;
        struct text axes;
        text_init(&axes, &own);
        collective_group_find(&cluster, &grid_rows[i].group, grid_rows[i].base, &found);
        for (uint32_t axis = 0; axis < found.axis_count; axis++) {
            text_push(&axes, "%s%u%s", axis == 0 ? "" : " ", found.axes[axis],
                      found.closes[axis] ? "o" : "-");
        }
        ck_assert_msg(strcmp(axes.bytes, grid_rows[i].axes) == 0, "%s: %s, not %s",
                      grid_rows[i].what, axes.bytes, grid_rows[i].axes);
    }
    arena_release(&own);
}
END_TEST

/* --- blocks that lie alike -------------------------------------------------------------------- */

/* Two ranks of a block meet as those in their places of the first block: the same level, latency
 * and number of hops. */
static void hold_blocks(const struct cluster *cluster, const struct rank_group *group,
                        uint32_t base, uint32_t block)
{
    for (uint32_t a = block; a < group->ranks; a++) {
        for (uint32_t b = a / block * block; b < a; b++) {
            struct path here, first;
            cluster_find_path(cluster, rank_group_find_device(group, base, a),
                              rank_group_find_device(group, base, b), &here);
            cluster_find_path(cluster, rank_group_find_device(group, base, a % block),
                              rank_group_find_device(group, base, b % block), &first);
            ck_assert_msg(here.level == first.level && here.hop_count == first.hop_count &&
                              here.latency_s == first.latency_s,
                          "blocks of %u, base %u: ranks %u and %u meet otherwise than %u and %u",
                          block, base, a, b, a % block, b % block);
        }
    }
}

static struct cluster throw_levels(struct random *dice)
{
    struct cluster cluster = {.name = "thrown", .device_count = 1, .level_count = 3};
    for (uint32_t level = 0; level < 3; level++) {
        const uint32_t degree = 1 + random_pop_below(dice, 4);
        const bool is_ring = random_pop_below(dice, 3) == 0;
        cluster.device_count *= degree;
        cluster.levels[level] = (struct level){.name = "l",
                                               .kind = is_ring ? LEVEL_RING : LEVEL_SWITCH,
                                               .degree = degree,
                                               .bandwidth_Bps = 1e9,
                                               .latency_s = 1e-6 * (level + 1),
                                               .link = LINK_RAW};
    }
    return cluster;
}

/* Up to two strides of random sizes that stay inside the cluster. */
static struct rank_group throw_group(struct random *dice, uint32_t devices, uint32_t *base)
{
    struct rank_group group = {.ranks = 1, .step_count = 2};
    uint32_t stride = 1 + random_pop_below(dice, 2), reach = 0;
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t size = 1 + random_pop_below(dice, 8);
        while (size > 1 && reach + stride * (size - 1) >= devices) {
            size--;
        }
        group.steps[s].stride = stride;
        group.steps[s].size = size;
        group.ranks *= size;
        reach += stride * (size - 1);
        stride *= size * (1 + random_pop_below(dice, 2));
    }
    *base = random_pop_below(dice, devices - reach);
    return group;
}

START_TEST(test_blocks_that_repeat_lie_alike)
{
    struct random dice;
    uint32_t repeats = 0;
    random_init(&dice, 1);
    for (uint32_t i = 0; i < 4000; i++) {
        uint32_t base;
        const struct cluster cluster = throw_levels(&dice);
        const struct rank_group group = throw_group(&dice, cluster.device_count, &base);
        for (uint32_t block = 1; block < group.ranks; block++) {
            if (group.ranks % block == 0 &&
                collective_group_repeats(&cluster, &group, base, block)) {
                hold_blocks(&cluster, &group, base, block);
                repeats += block > 1;
            }
        }
        ck_assert(collective_group_repeats(&cluster, &group, base, group.ranks));
    }
    ck_assert_uint_gt(repeats, 500);
}
END_TEST

START_TEST(test_halves_of_nodes_repeat)
{
    const struct cluster cluster = racks();
    const struct rank_group all = {.ranks = 128, .step_count = 1, .steps = {{1, 128, 1}}};
    for (uint32_t block = 1; block <= 128; block *= 2) {
        ck_assert(collective_group_repeats(&cluster, &all, 0, block));
    }
}
END_TEST

TAP_MAIN("collective_group", test_blocks_that_repeat_lie_alike, test_halves_of_nodes_repeat,
         test_grids, test_levels, test_levels_of_one_are_passed_over,
         test_levels_keep_their_promise, test_large_groups, test_graph_blocks_end_where_ways_narrow,
         test_graph_reduces_under_one_reducing_switch, test_graph_star_of_leaves,
         test_graph_without_switches)
