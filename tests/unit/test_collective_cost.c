/* Collectives on raw links against their textbook forms. */
#include <string.h>

#include "costmodel/collective_cost.h"
#include "tests/law/single_plan.h"
#include "tests/tap_main.h"

#define BANDWIDTH 100e9
#define OUTER_BANDWIDTH 25e9

static struct arena arena;
static struct diag diag;
static struct cluster cluster;
static struct prices prices;
static struct collective_book *book;

/* `outer` domains of `inner` devices; outer 1: one level. */
static void begin(const char *kind, uint32_t inner, uint32_t outer, double latency_us)
{
    struct json *document;
    arena_init(&arena);
    diag_init(&diag, &arena);
    const char *second =
        outer == 1 ? ""
                   : text_build(&arena,
                                ", {\"name\": \"fabric\", \"kind\": \"switch\", \"degree\": %u, "
                                "\"bandwidth\": \"25 GB/s\", \"latency\": \"%g us\"}",
                                outer, 3.0 * latency_us);
    const char *text = text_build(
        &arena,
        "{\"format\": \"shardplan/cluster/1\", \"name\": \"t\", \"device\": \"H100\", \"levels\": "
        "[{\"name\": \"node\", \"kind\": \"%s\", \"degree\": %u, \"bandwidth\": \"100 GB/s\", "
        "\"latency\": \"%g us\"%s}%s]}",
        kind, inner, latency_us,
        strcmp(kind, "switch") == 0 ? ", \"in_network_reduction\": true" : "", second);
    ck_assert(json_open_text("t.json", text, strlen(text), false, &arena, &document, &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "t", &arena, &cluster, &diag), "%s: %s",
                  text, diag.entries[0].message);
    json_close(document);
    ck_assert(prices_read(&cluster, NULL, &arena, &prices, &diag));
    book = collective_book_init(&arena);
}

static const struct collective *find_member(const char *name)
{
    for (uint32_t i = 0; i < collective_table_count; i++) {
        if (strcmp(collective_table[i]->name, name) == 0) {
            return collective_table[i];
        }
    }
    ck_abort_msg("no collective '%s'", name);
}

/* All devices; name NULL: the cheapest. */
static struct collective_choice ask(const char *name, enum collective_kind kind, double bytes)
{
    struct rank_group group = {.ranks = cluster.device_count, .step_count = 1};
    group.steps[0].stride = 1;
    group.steps[0].size = cluster.device_count;
    const struct collective_request request = {.cluster = &cluster,
                                               .prices = &prices,
                                               .kind = kind,
                                               .group = &group,
                                               .bytes = bytes,
                                               .member = name == NULL ? NULL : find_member(name)};
    return collective_cost_find(book, &request);
}

static double cost(const char *name, enum collective_kind kind, double bytes)
{
    const struct collective_choice choice = ask(name, kind, bytes);
    ck_assert_msg(choice.member != NULL, "'%s' does not serve %s over %u ranks", name,
                  collective_kind_name(kind), cluster.device_count);
    return choice.seconds;
}

static void expect(const char *name, enum collective_kind kind, double bytes, double expected)
{
    const double seconds = cost(name, kind, bytes);
    ck_assert_msg(same(seconds, expected), "%s %s over %u ranks, %g bytes: %.9g s, not %.9g s",
                  name, collective_kind_name(kind), cluster.device_count, bytes, seconds, expected);
}

static double log2_of(uint32_t p)
{
    double bits = 0.0;
    while (p > 1) {
        p /= 2;
        bits += 1.0;
    }
    return bits;
}

/* On one switch: a per round, B per port and direction. */
static void expect_switch_forms(uint32_t p, double n, double a)
{
    const double share = (p - 1.0) / p * n / BANDWIDTH, steps = p - 1.0;
    expect("ring", COLLECTIVE_ALL_REDUCE, n, 2.0 * (steps * a + share));
    expect("ring", COLLECTIVE_ALL_GATHER, n, steps * a + share);
    expect("ring", COLLECTIVE_REDUCE_SCATTER, n, steps * a + share);
    expect("pairwise", COLLECTIVE_ALL_TO_ALL, n, steps * a + share);
    expect("direct", COLLECTIVE_ALL_GATHER, n, a + share);
    expect("direct", COLLECTIVE_REDUCE_SCATTER, n, a + share);
    expect("direct", COLLECTIVE_ALL_REDUCE, n, 2.0 * (a + share));
    expect("switch", COLLECTIVE_ALL_REDUCE, n, 2.0 * a + n / BANDWIDTH);
    if ((p & (p - 1)) == 0) {
        expect("halving-doubling", COLLECTIVE_ALL_REDUCE, n, 2.0 * (log2_of(p) * a + share));
        expect("halving-doubling", COLLECTIVE_ALL_GATHER, n, log2_of(p) * a + share);
    }
}

START_TEST(one_switch_gives_the_closed_forms)
{
    static const uint32_t ranks[] = {2, 3, 4, 6, 8, 16, 32, 64};
    static const double sizes[] = {1e3, 1e6, 1e9};
    for (uint32_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        begin("switch", ranks[i], 1, 2.0);
        for (uint32_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            expect_switch_forms(ranks[i], sizes[k], 2e-6);
        }
        arena_release(&arena);
    }
}
END_TEST

/* Two trees, each carrying half both up and down: 2 n / B and a few rounds in all. */
START_TEST(double_trees_come_near_twice_the_buffer)
{
    for (uint32_t p = 4; p <= 64; p *= 2) {
        begin("switch", p, 1, 0.0);
        const double ratio = cost("double-tree", COLLECTIVE_ALL_REDUCE, 1e9) / (2e9 / BANDWIDTH);
        ck_assert_msg(ratio >= 1.0 && ratio < 1.25, "%u ranks: %g times 2 n / B", p, ratio);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(one_message_is_latency_and_bytes)
{
    begin("switch", 2, 1, 2.0);
    expect("point-to-point", COLLECTIVE_SEND, 1e6, 2e-6 + 1e6 / BANDWIDTH);
    arena_release(&arena);
}
END_TEST

/* g per node, k nodes: reduce-scatter and all-gather inside, all-reduce of a g-th between. */
START_TEST(hierarchies_pay_each_level)
{
    static const uint32_t shapes[][2] = {{8, 4}, {4, 4}, {8, 2}, {2, 8}};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const double g = shapes[i][0], k = shapes[i][1], n = 64e6, a = 1e-6;
        begin("switch", shapes[i][0], shapes[i][1], 1.0);
        const double inside = (g - 1.0) * a + (g - 1.0) / g * n / BANDWIDTH;
        const double between = (k - 1.0) * 3.0 * a + (k - 1.0) / k * (n / g) / OUTER_BANDWIDTH;
        expect("hierarchical", COLLECTIVE_ALL_REDUCE, n, 2.0 * (inside + between));
        arena_release(&arena);
    }
}
END_TEST

/* Eight devices all linked to each other: a ring uses one link in seven. */
START_TEST(full_meshes_are_seven_times_a_ring)
{
    begin("fullmesh", 8, 1, 0.0);
    const double direct = cost("direct", COLLECTIVE_ALL_GATHER, 1e9);
    ck_assert(same(direct, 7.0 / 8.0 * 1e9 / BANDWIDTH));
    ck_assert(same(cost("ring", COLLECTIVE_ALL_GATHER, 1e9) / direct, 7.0));
    arena_release(&arena);
}
END_TEST

/* A reducing switch moves the buffer once: 2 (p - 1) / p of it less than a ring. */
START_TEST(reducing_switches_halve_the_traffic)
{
    begin("switch", 32, 1, 0.0);
    ck_assert(
        same(cost("ring", COLLECTIVE_ALL_REDUCE, 1e9) / cost("switch", COLLECTIVE_ALL_REDUCE, 1e9),
             1.9375));
    arena_release(&arena);
}
END_TEST

/* The free choice is the cheapest of all named ones. */
START_TEST(the_choice_is_the_cheapest)
{
    begin("switch", 8, 4, 1.0);
    for (uint32_t kind = 0; kind < COLLECTIVE_SEND; kind++) {
        for (double bytes = 1e3; bytes < 1e10; bytes *= 10.0) {
            const struct collective_choice best = ask(NULL, (enum collective_kind)kind, bytes);
            ck_assert_ptr_nonnull(best.member);
            for (uint32_t i = 0; i < collective_table_count; i++) {
                const struct collective_choice other =
                    ask(collective_table[i]->name, (enum collective_kind)kind, bytes);
                ck_assert(other.member == NULL || best.seconds <= other.seconds);
            }
        }
    }
    arena_release(&arena);
}
END_TEST

/* Of large groups most members are ruled out by a look at few ranks: never the cheapest. */
START_TEST(the_choice_among_many_is_the_cheapest)
{
    static const uint32_t shapes[][2] = {{8, 1024}, {8192, 1}, {16, 384}, {3, 2048}};
    static const double sizes[] = {8.0, 1e4, 1e6, 1e9};
    for (size_t i = 0; i < 16; i++) {
        double least_s = -1.0;
        begin("switch", shapes[i / 4][0], shapes[i / 4][1], 2.0);
        const double bytes = sizes[i % 4];
        const struct collective_choice choice = ask(NULL, COLLECTIVE_ALL_REDUCE, bytes);
        for (uint32_t m = 0; m < collective_table_count; m++) {
            const char *name = collective_table[m]->name;
            if (strcmp(name, "direct") == 0) {
                continue; /* not tried unasked */
            }
            const struct collective_choice own = ask(name, COLLECTIVE_ALL_REDUCE, bytes);
            if (own.member != NULL && (least_s < 0.0 || own.seconds < least_s)) {
                least_s = own.seconds;
            }
        }
        ck_assert_msg(choice.seconds == least_s, "%u x %u ranks, %g bytes: %s %.9g s, least %.9g s",
                      shapes[i / 4][0], shapes[i / 4][1], bytes, choice.member->name,
                      choice.seconds, least_s);
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("collective cost", the_choice_among_many_is_the_cheapest,
         one_switch_gives_the_closed_forms, double_trees_come_near_twice_the_buffer,
         one_message_is_latency_and_bytes, hierarchies_pay_each_level,
         full_meshes_are_seven_times_a_ring, reducing_switches_halve_the_traffic,
         the_choice_is_the_cheapest)
