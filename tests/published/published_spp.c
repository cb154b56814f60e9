/* SPP's order of devices, partition and order of blocks (INFOCOM 2022, arXiv 2204.10562) on an
 * instance small enough to be worked out by hand: four devices in two servers, six layers. */
#include "planner/block_order.h"
#include "planner/device_web.h"
#include "tests/tap_main.h"

#define DEVICES 4u
#define LAYERS 6u

static const double twos[LAYERS] = {2, 2, 2, 2, 2, 2}, fours[LAYERS] = {4, 4, 4, 4, 4, 4};
static const double weights[LAYERS] = {1, 1, 1, 1, 1, 30}, cuts[LAYERS] = {4, 4, 4, 4, 1, 0};

static struct arena arena;

/* Devices 0 and 2 in one server, 1 and 3 in the other: 10 bytes a second inside, 1 between. */
static struct device_web build_web(void)
{
    struct device_web web = {DEVICES, ARENA_PUSH(&arena, double, DEVICES *DEVICES)};
    for (uint32_t a = 0; a < DEVICES; a++) {
        for (uint32_t b = 0; b < DEVICES; b++) {
            web.bandwidth_Bps[a * DEVICES + b] = a == b ? 0.0 : a % 2 == b % 2 ? 10.0 : 1.0;
        }
    }
    return web;
}

/* The places in that order. */
static struct replica_row build_row(const struct device_web *web, const uint32_t *order)
{
    double *bandwidth_Bps = ARENA_PUSH(&arena, double, DEVICES *DEVICES);
    for (uint32_t a = 0; a < DEVICES; a++) {
        for (uint32_t b = 0; b < DEVICES; b++) {
            bandwidth_Bps[a * DEVICES + b] = web->bandwidth_Bps[order[a] * DEVICES + order[b]];
        }
    }
    return (struct replica_row){.count = DEVICES, .bandwidth_Bps = bandwidth_Bps};
}

static struct replica_chain build_chain(uint32_t micro_batches)
{
    return (struct replica_chain){LAYERS, micro_batches, twos, fours, weights, cuts, cuts};
}

START_TEST(the_minimum_cut_is_between_the_servers)
{
    uint32_t order[DEVICES];
    const uint32_t members[DEVICES] = {0, 1, 2, 3};
    bool side[DEVICES] = {false};
    arena_init(&arena);
    const struct device_web web = build_web();
    ck_assert_double_eq(device_web_find_cut(&web, members, DEVICES, &arena, side), 4.0);
    ck_assert(side[0] == side[2] && side[1] == side[3] && side[0] != side[1]);
    device_web_sort(&web, &arena, order);
    ck_assert_uint_eq(order[0] % 2, order[1] % 2);
    ck_assert_uint_eq(order[2] % 2, order[3] % 2);
    arena_release(&arena);
}
END_TEST

/* W of every number of stages, T of its partition; SPP keeps the least T. */
static const struct row {
    uint32_t micro_batches;
    double busy_s[DEVICES], step_s[DEVICES], best_s;
} rows[] = {
    {2, {70.5, 21.2, 24.0, 24.0}, {70.5, 29.3, 44.1, 57.6}, 29.3},
    {4, {88.5, 39.2, 48.0, 48.0}, {88.5, 47.3, 68.1, 81.6}, 47.3},
    {8, {124.5, 75.2, 96.0, 96.0}, {124.5, 83.3, 116.1, 129.6}, 83.3},
    {16, {196.5, 147.2, 192.0, 192.0}, {196.5, 155.3, 212.1, 225.6}, 155.3},
};

/* Step of the best partition into so many stages. Those of three and more are not unique: their W
 * is. */
static double plan_s(const struct row *row, const struct replica_row *places, uint32_t stages)
{
    struct replica_stage out[DEVICES];
    struct replica_times times;
    const struct replica_chain chain = build_chain(row->micro_batches);
    ck_assert_double_eq_tol(replica_partition_find(&chain, places, stages, 0, &arena, out),
                            row->busy_s[stages - 1], 1e-9);
    replica_partition_time(&chain, places, out, stages, &arena, &times);
    const double step_s = block_order_find(&times, row->micro_batches, &arena);
    ck_assert_double_ge(step_s, row->busy_s[stages - 1] - 1e-9);
    ck_assert_double_ge(step_s, block_order_least_s(&times, row->micro_batches) - 1e-9);
    ck_assert_double_le(step_s, block_order_most_s(&times, row->micro_batches) + 1e-9);
    if (stages <= 2) {
        ck_assert_double_eq_tol(step_s, row->step_s[stages - 1], 1e-9);
    }
    return step_s;
}

START_TEST(partitions_and_steps_of_the_instance)
{
    uint32_t order[DEVICES];
    arena_init(&arena);
    const struct device_web web = build_web();
    device_web_sort(&web, &arena, order);
    const struct replica_row places = build_row(&web, order);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double best_s = 1e300;
        for (uint32_t stages = 1; stages <= DEVICES; stages++) {
            const double step_s = plan_s(&rows[i], &places, stages);
            best_s = step_s < best_s ? step_s : best_s;
        }
        ck_assert_double_eq_tol(best_s, rows[i].best_s, 1e-9);
    }
    arena_release(&arena);
}
END_TEST

/* Four micro-batches on two stages: three layers in each server. */
START_TEST(the_bound_of_the_cyclic_order)
{
    uint32_t order[DEVICES];
    struct replica_stage out[DEVICES];
    struct replica_times times;
    arena_init(&arena);
    const struct device_web web = build_web();
    device_web_sort(&web, &arena, order);
    const struct replica_row places = build_row(&web, order);
    const struct replica_chain chain = build_chain(4);
    (void)replica_partition_find(&chain, &places, 2, 0, &arena, out);
    ck_assert_uint_eq(out[0].layers, 3);
    ck_assert_uint_eq(out[0].replicas, 2);
    replica_partition_time(&chain, &places, out, 2, &arena, &times);
    ck_assert_double_eq_tol(block_order_most_s(&times, 4), 72.3, 1e-9);
    ck_assert_double_eq_tol(block_order_least_s(&times, 4), 47.3, 1e-9);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("spp", the_minimum_cut_is_between_the_servers, partitions_and_steps_of_the_instance,
         the_bound_of_the_cyclic_order)
