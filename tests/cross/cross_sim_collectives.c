/* Collectives message by message take what the analytic judge says they take on an idle, even
 * cluster. */
#include <string.h>

#include "base/random.h"
#include "costmodel/collective_cost.h"
#include "sim/collective_run.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct prices prices;

#define GBPS 1e9

static struct level make_level(enum level_kind kind, uint32_t degree, double bandwidth_Bps,
                               double latency_s, const char *link)
{
    return (struct level){.name = "l",
                          .kind = kind,
                          .degree = degree,
                          .bandwidth_Bps = bandwidth_Bps,
                          .latency_s = latency_s,
                          .link = link,
                          .reduces = true};
}

static struct accelerator accelerator = {.name = "device"};

static void build_cluster(struct cluster *cluster, struct level inner, struct level outer)
{
    memset(cluster, 0, sizeof *cluster);
    cluster->name = "test";
    cluster->accelerators = &accelerator;
    cluster->accelerator_count = 1;
    cluster->levels[cluster->level_count++] = inner;
    if (outer.degree > 1) {
        cluster->levels[cluster->level_count++] = outer;
    }
    cluster->device_count = inner.degree * (outer.degree > 1 ? outer.degree : 1);
    diag_init(&diag, &arena);
    ck_assert_msg(prices_read(cluster, NULL, &arena, &prices, &diag), "%s",
                  diag.entries[0].message);
}

static double simulate(const struct cluster *cluster, const struct collective *member,
                       enum collective_kind kind, const struct rank_group *group,
                       const struct collective_choice *choice, double bytes)
{
    const struct collective_run_request request = {.cluster = cluster,
                                                   .prices = &prices,
                                                   .kind = kind,
                                                   .group = group,
                                                   .bytes = bytes,
                                                   .member = member,
                                                   .protocol = choice->protocol,
                                                   .pipeline = choice->pipeline};
    struct collective_run_result result;
    ck_assert(collective_run(&request, &arena, &result, &diag));
    ck_assert_ptr_eq(result.member, member);
    return result.seconds;
}

static struct collective_choice price(struct collective_book *book, const struct cluster *cluster,
                                      const struct collective *member, enum collective_kind kind,
                                      const struct rank_group *group, double bytes)
{
    const struct collective_request request = {.cluster = cluster,
                                               .prices = &prices,
                                               .kind = kind,
                                               .group = group,
                                               .bytes = bytes,
                                               .member = member};
    return collective_cost_find(book, &request);
}

/* One picosecond per round, one for the base. */
static void compare(struct collective_book *book, const struct cluster *cluster, uint32_t ranks,
                    double bytes)
{
    const struct rank_group group = {.ranks = ranks, .step_count = 1, .steps = {{1, ranks, 1}}};
    struct collective_group shape;
    collective_group_find(cluster, &group, 0, &shape);
    for (uint32_t i = 0; i < collective_table_count; i++) {
        const struct collective *member = collective_table[i];
        for (uint32_t k = 0; k < member->kind_count; k++) {
            const enum collective_kind kind = member->kinds[k];
            const struct collective_choice choice =
                price(book, cluster, member, kind, &group, bytes);
            if (choice.member == NULL) {
                continue;
            }
            const double simulated_s = simulate(cluster, member, kind, &group, &choice, bytes);
            shape.pipeline = choice.pipeline;
            const double slack_s =
                1e-12 * (1 + member->round_count(kind, &shape)) + 1e-15 * choice.seconds;
            ck_assert_msg(
                simulated_s - choice.seconds <= slack_s && choice.seconds - simulated_s <= slack_s,
                "%s %s, %u ranks, %g bytes: simulated %.15g s, priced %.15g s", member->name,
                collective_kind_name(kind), ranks, bytes, simulated_s, choice.seconds);
        }
    }
}

static const double sizes[] = {0, 1, 1000, 65536, 12345678.9, 1e9};

START_TEST(even_clusters)
{
    static const char *const links[] = {"raw", "nvlink4", "ib-ndr"};
    for (uint32_t ranks = 2; ranks <= 17; ranks++) {
        for (size_t l = 0; l < sizeof links / sizeof links[0]; l++) {
            arena_init(&arena);
            struct cluster cluster;
            build_cluster(&cluster, make_level(LEVEL_SWITCH, ranks, 100 * GBPS, 1e-6, links[l]),
                          (struct level){.degree = 1});
            struct collective_book *book = collective_book_init(&arena);
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                compare(book, &cluster, ranks, sizes[i]);
            }
            arena_release(&arena);
        }
    }
}
END_TEST

/* Members that know domains and those that do not: nodes of 2, 4, 8 under a slower switch. */
START_TEST(two_levels)
{
    for (uint32_t inner = 2; inner <= 8; inner *= 2) {
        for (uint32_t outer = 2; outer <= 5; outer++) {
            arena_init(&arena);
            struct cluster cluster;
            build_cluster(&cluster, make_level(LEVEL_SWITCH, inner, 450 * GBPS, 0, "nvlink4"),
                          make_level(LEVEL_SWITCH, outer, 50 * GBPS, 2e-6, "ib-ndr"));
            struct collective_book *book = collective_book_init(&arena);
            for (size_t i = 1; i < sizeof sizes / sizeof sizes[0]; i++) {
                compare(book, &cluster, inner * outer, sizes[i]);
            }
            arena_release(&arena);
        }
    }
}
END_TEST

/* Where messages share links the analytic judge lets each have an equal share for the whole round;
 * max-min fair shares and ranks that need not wait are never slower. */
static void bound_members(const struct cluster *cluster, uint32_t ranks)
{
    const struct rank_group group = {.ranks = ranks, .step_count = 1, .steps = {{1, ranks, 1}}};
    struct collective_book *book = collective_book_init(&arena);
    for (uint32_t i = 0; i < collective_table_count * COLLECTIVE_KIND_COUNT; i++) {
        const struct collective *member = collective_table[i / COLLECTIVE_KIND_COUNT];
        const enum collective_kind kind = (enum collective_kind)(i % COLLECTIVE_KIND_COUNT);
        const struct collective_choice choice = price(book, cluster, member, kind, &group, 1e6);
        if (choice.member != NULL) {
            const double simulated_s = simulate(cluster, member, kind, &group, &choice, 1e6);
            ck_assert_double_le(simulated_s, choice.seconds * (1 + 1e-9) + 1e-10);
            ck_assert_double_ge(simulated_s, choice.seconds * 0.3);
        }
    }
}

START_TEST(shared_links)
{
    for (uint32_t ranks = 3; ranks <= 12; ranks++) {
        for (uint32_t kind = LEVEL_FULLMESH; kind <= LEVEL_RING; kind++) {
            arena_init(&arena);
            struct cluster cluster;
            struct level level = make_level((enum level_kind)kind, ranks, 100 * GBPS, 1e-6, "raw");
            level.reduces = false; /* switches do */
            build_cluster(&cluster, level, (struct level){.degree = 1});
            bound_members(&cluster, ranks);
            arena_release(&arena);
        }
    }
}
END_TEST

static double run_s(const struct cluster *cluster, const char *member, enum collective_kind kind,
                    uint32_t ranks, double bytes)
{
    const struct rank_group group = {.ranks = ranks, .step_count = 1, .steps = {{1, ranks, 1}}};
    const struct collective_choice choice = {NULL, 0, 1, 0};
    return simulate(cluster, collective_find(member), kind, &group, &choice, bytes);
}

/* On a full mesh of 8 each pair has a link of its own; a ring uses one of a device's seven. */
START_TEST(full_mesh_of_eight)
{
    arena_init(&arena);
    struct cluster cluster;
    build_cluster(&cluster, make_level(LEVEL_FULLMESH, 8, 700 * GBPS, 0, "raw"),
                  (struct level){.degree = 1});
    const double direct_s = run_s(&cluster, "direct", COLLECTIVE_ALL_GATHER, 8, 8e9);
    const double ring_s = run_s(&cluster, "ring", COLLECTIVE_ALL_GATHER, 8, 8e9);
    ck_assert_double_eq_tol(direct_s, 1e9 / (100 * GBPS), 1e-12);
    ck_assert_double_eq_tol(ring_s / direct_s, 7, 1e-9);
    arena_release(&arena);
}
END_TEST

/* A switch that sums takes n / B, a ring 2 (p - 1) / p n / B: 1.9375 times as long at 32. */
START_TEST(switch_against_ring)
{
    arena_init(&arena);
    struct cluster cluster;
    build_cluster(&cluster, make_level(LEVEL_SWITCH, 32, 100 * GBPS, 0, "raw"),
                  (struct level){.degree = 1});
    const double switch_s = run_s(&cluster, "switch", COLLECTIVE_ALL_REDUCE, 32, 32e9);
    const double ring_s = run_s(&cluster, "ring", COLLECTIVE_ALL_REDUCE, 32, 32e9);
    ck_assert_double_eq_tol(ring_s / switch_s, 1.9375, 1e-9);
    arena_release(&arena);
}
END_TEST

/* A late rank delays its neighbours round by round, and only as far as the program says: all wait
 * for it. */
START_TEST(a_late_rank)
{
    arena_init(&arena);
    struct cluster cluster;
    build_cluster(&cluster, make_level(LEVEL_SWITCH, 4, 1 * GBPS, 0, "raw"),
                  (struct level){.degree = 1});
    const struct rank_group group = {.ranks = 4, .step_count = 1, .steps = {{1, 4, 1}}};
    const double arrival_s[] = {0, 0, 5, 0};
    const struct collective_run_request request = {.cluster = &cluster,
                                                   .prices = &prices,
                                                   .kind = COLLECTIVE_ALL_GATHER,
                                                   .group = &group,
                                                   .bytes = 4e9,
                                                   .member = collective_find("ring"),
                                                   .protocol = 0,
                                                   .pipeline = 1,
                                                   .arrival_s = arrival_s};
    struct collective_run_result result;
    ck_assert(collective_run(&request, &arena, &result, &diag));
    /* Three rounds of one second. Rank 2 comes at 5: the last round of it and its neighbours ends
     * at 8. Rank 0 has done a round with 1 and 3's share needs rank 3, which waits for rank 2. */
    ck_assert_double_eq_tol(result.seconds, 8, 1e-12);
    ck_assert_double_eq_tol(result.finish_s[2], 8, 1e-12);
    ck_assert_double_ge(result.finish_s[0], 7);
    arena_release(&arena);
}
END_TEST

/* Nobody named: no member, protocol or pipelining does better than the one taken. */
START_TEST(the_best_is_taken)
{
    arena_init(&arena);
    struct cluster cluster;
    build_cluster(&cluster, make_level(LEVEL_SWITCH, 8, 450 * GBPS, 0, "nvlink4"),
                  (struct level){.degree = 1});
    const struct rank_group group = {.ranks = 8, .step_count = 1, .steps = {{1, 8, 1}}};
    for (size_t i = 1; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct collective_run_request request = {.cluster = &cluster,
                                                 .prices = &prices,
                                                 .kind = COLLECTIVE_ALL_REDUCE,
                                                 .group = &group,
                                                 .bytes = sizes[i],
                                                 .protocol = COLLECTIVE_RUN_ANY,
                                                 .pipeline = COLLECTIVE_RUN_ANY};
        struct collective_run_result best, other;
        ck_assert(collective_run(&request, &arena, &best, &diag));
        const struct collective_choice priced = price(collective_book_init(&arena), &cluster, NULL,
                                                      COLLECTIVE_ALL_REDUCE, &group, sizes[i]);
        ck_assert_ptr_eq(best.member, priced.member);
        ck_assert(prices_offers(&prices, COLLECTIVE_ALL_REDUCE, best.member));
        for (uint32_t m = 0; m < collective_table_count; m++) {
            struct collective_group shape;
            collective_group_find(&cluster, &group, 0, &shape);
            request.member = collective_table[m];
            if (collective_accepts(request.member, request.kind, &shape) &&
                prices_offers(&prices, request.kind, request.member)) {
                ck_assert(collective_run(&request, &arena, &other, &diag));
                ck_assert_double_le(best.seconds, other.seconds);
            }
        }
    }
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sim_collectives", even_clusters, two_levels, shared_links, full_mesh_of_eight,
         switch_against_ring, a_late_rank, the_best_is_taken)
