/* The cases on which ASTRA-sim, SimGrid and LogGOPSim were measured: what is exact, what they say.
 *
 * Peers' figures were measured with ASTRA-sim 518bd513 (analytical network, aware of congestion and
 * not, endpoint delay 10 ns), SimGrid 3.32 (CM02), LogGOPSim; in ns, 0 where there is none. They
 * are not asserted but to be no nearer than ours. */
#include "tests/published/peers_cases.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;

/* Half a picosecond for each message of a sequence, twice: latency and bytes. */
static double slack_s(uint32_t steps)
{
    return 1e-12 * steps + 1e-12;
}

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* A ring all-reduce: 2(N-1) steps of latency and S/(N B); over a switch two links' latency. */
static const struct {
    enum level_kind level;
    uint32_t ranks;
    double bytes, astra_ns, unaware_ns, simgrid_ns;
} rings[] = {
    {LEVEL_RING, 8, MIB, 43025, 43025, 41180},
    {LEVEL_RING, 64, MIB, 104590, 104590, 101452},
    {LEVEL_RING, 512, MIB, 561599, 561599, 549986},
    {LEVEL_RING, 8, GIB, 36768756, 36768756, 35007000},
    {LEVEL_RING, 64, GIB, 41420935, 41420935, 39438000},
    {LEVEL_SWITCH, 8, MIB, 84199, 50025, 0},
    {LEVEL_SWITCH, 8, GIB, 71775756, 36775756, 0},
    {LEVEL_SWITCH, 64, GIB, 80858935, 41483935, 0},
};

START_TEST(ring_all_reduce)
{
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        arena_init(&arena);
        diag_init(&diag, &arena);
        const uint32_t ranks = rings[i].ranks, steps = 2 * (ranks - 1);
        const double hop_s = rings[i].level == LEVEL_RING ? LINK_S : 2 * LINK_S;
        const double exact_s = steps * (hop_s + rings[i].bytes / ranks / LINK_BPS);
        struct collective_run_result result;
        const struct peers_collective asked = {rings[i].level, COLLECTIVE_ALL_REDUCE, "ring", ranks,
                                               rings[i].bytes};
        ck_assert(peers_collective(&asked, &arena, &result, &diag));
        const double off_s = distance(result.seconds, exact_s);
        ck_assert_msg(off_s <= slack_s(steps), "%u ranks, %g bytes: %.15g s, exact %.15g s", ranks,
                      rings[i].bytes, result.seconds, exact_s);
        ck_assert(off_s < distance(rings[i].astra_ns * 1e-9, exact_s));
        ck_assert(off_s < distance(rings[i].unaware_ns * 1e-9, exact_s));
        ck_assert(rings[i].simgrid_ns == 0 ||
                  distance(result.seconds, rings[i].simgrid_ns * 1e-9) < 1e-9);
        arena_release(&arena);
    }
}
END_TEST

/* All pairs at once through a switch: S (N-1)/N behind the latency of two links. */
static const struct {
    uint32_t ranks;
    double exact_ns, astra_ns, unaware_ns;
} pairs[] = {{8, 18089.8, 20548, 3461}, {64, 20226.1, 20540, 1325}, {256, 20455.0, 20476, 1096}};

START_TEST(all_to_all)
{
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        arena_init(&arena);
        diag_init(&diag, &arena);
        const uint32_t ranks = pairs[i].ranks;
        const double exact_s = 2 * LINK_S + MIB * (ranks - 1) / ranks / LINK_BPS;
        struct collective_run_result result;
        const struct peers_collective asked = {LEVEL_SWITCH, COLLECTIVE_ALL_TO_ALL, "direct", ranks,
                                               MIB};
        ck_assert(peers_collective(&asked, &arena, &result, &diag));
        ck_assert_double_le(distance(result.seconds, exact_s), slack_s(1));
        ck_assert_double_le(distance(result.seconds * 1e9, pairs[i].exact_ns), 0.06);
        ck_assert(distance(result.seconds, exact_s) < distance(pairs[i].astra_ns * 1e-9, exact_s));
        ck_assert(distance(result.seconds, exact_s) <
                  distance(pairs[i].unaware_ns * 1e-9, exact_s));
        arena_release(&arena);
    }
}
END_TEST

/* Unequal flows through a switch of 64: SimGrid and a bare solver loop say the same. */
static const struct {
    uint32_t flows;
    double last_s;
} unequal[] = {{1000, 0.000718715}, {3000, 0.001777425}};

START_TEST(unequal_flows)
{
    for (size_t i = 0; i < sizeof unequal / sizeof unequal[0]; i++) {
        arena_init(&arena);
        diag_init(&diag, &arena);
        const struct cluster cluster = peers_cluster(LEVEL_SWITCH, 64);
        const struct flows_transfer *transfers = peers_transfers(64, unequal[i].flows, &arena);
        struct flows_result result;
        double last_s = 0;
        ck_assert(flows_run(&cluster, transfers, unequal[i].flows, &arena, &result, &diag));
        for (uint32_t f = 0; f < unequal[i].flows; f++) {
            last_s = result.finish_s[f] > last_s ? result.finish_s[f] : last_s;
        }
        ck_assert_msg(distance(last_s, unequal[i].last_s) < 1.5e-9, "%u flows: %.12f s, not %.12f",
                      unequal[i].flows, last_s, unequal[i].last_s);
        arena_release(&arena);
    }
}
END_TEST

/* --- unequal flows, replayed ------------------------------------------------------------------ */

#define DEVICES 64u
#define REPLAYED 600u

struct replay {
    const struct flows_transfer *transfers;
    long double left_bytes[REPLAYED], rate_Bps[REPLAYED];
    bool is_free[REPLAYED]; /* has no rate yet */
};

/* Ports: of each device the one out, then the one in. */
static bool is_on(const struct flows_transfer *transfer, uint32_t port)
{
    return transfer->source == port || transfer->destination + DEVICES == port;
}

/* The port at which those that have no rate yet get the least, and what: 0 if none is left. */
static uint32_t find_narrowest(const struct replay *replay, long double *level_Bps)
{
    long double left_Bps[2 * DEVICES], count[2 * DEVICES] = {0};
    uint32_t narrowest = 0;
    for (uint32_t port = 0; port < 2 * DEVICES; port++) {
        left_Bps[port] = LINK_BPS;
    }
    for (uint32_t f = 0; f < REPLAYED; f++) {
        const struct flows_transfer *transfer = &replay->transfers[f];
        const uint32_t ports[2] = {transfer->source, transfer->destination + DEVICES};
        for (uint32_t end = 0; end < 2; end++) {
            count[ports[end]] += replay->is_free[f] ? 1 : 0;
            left_Bps[ports[end]] -= replay->is_free[f] ? 0 : replay->rate_Bps[f];
        }
    }
    *level_Bps = 0;
    for (uint32_t port = 0; port < 2 * DEVICES; port++) {
        if (count[port] > 0 && (*level_Bps == 0 || left_Bps[port] / count[port] < *level_Bps)) {
            *level_Bps = left_Bps[port] / count[port];
            narrowest = port;
        }
    }
    return narrowest;
}

/* Progressive filling from nothing. */
static void find_rates(struct replay *replay)
{
    long double level_Bps;
    for (uint32_t f = 0; f < REPLAYED; f++) {
        replay->is_free[f] = replay->left_bytes[f] > 0;
        replay->rate_Bps[f] = 0;
    }
    for (uint32_t port = find_narrowest(replay, &level_Bps); level_Bps > 0;
         port = find_narrowest(replay, &level_Bps)) {
        for (uint32_t f = 0; f < REPLAYED; f++) {
            if (replay->is_free[f] && is_on(&replay->transfers[f], port)) {
                replay->rate_Bps[f] = level_Bps;
                replay->is_free[f] = false;
            }
        }
    }
}

/* Until the next flow ends; how long that takes, 0 if there is none. */
static long double find_next_s(const struct replay *replay)
{
    long double next_s = 0;
    for (uint32_t f = 0; f < REPLAYED; f++) {
        if (replay->left_bytes[f] > 0) {
            const long double own_s = replay->left_bytes[f] / replay->rate_Bps[f];
            next_s = next_s == 0 || own_s < next_s ? own_s : next_s;
        }
    }
    return next_s;
}

/* All rates found anew at each end, in 80 bits, time not rounded: each flow ends within 10 ps. */
START_TEST(unequal_flows_one_by_one)
{
    static struct replay replay;
    arena_init(&arena);
    diag_init(&diag, &arena);
    const struct cluster cluster = peers_cluster(LEVEL_SWITCH, DEVICES);
    replay.transfers = peers_transfers(DEVICES, REPLAYED, &arena);
    struct flows_result result;
    ck_assert(flows_run(&cluster, replay.transfers, REPLAYED, &arena, &result, &diag));
    for (uint32_t f = 0; f < REPLAYED; f++) {
        replay.left_bytes[f] = replay.transfers[f].bytes;
    }
    long double now_s = 2 * LINK_S;
    find_rates(&replay);
    for (long double next_s; (next_s = find_next_s(&replay)) > 0; find_rates(&replay)) {
        now_s += next_s;
        for (uint32_t f = 0; f < REPLAYED; f++) {
            if (replay.left_bytes[f] > 0) {
                replay.left_bytes[f] -= replay.rate_Bps[f] * next_s;
                if (replay.left_bytes[f] < 1e-6L) { /* 2e-5 ps: rounding */
                    replay.left_bytes[f] = 0;
                    ck_assert_double_le(distance(result.finish_s[f], (double)now_s), 10e-12);
                }
            }
        }
    }
    arena_release(&arena);
}
END_TEST

/* (p-1)(F + C) + m F + (p-1)(B + C) + m B; ASTRA-sim and SimGrid agree, LogGOPSim, which lets one
 * end wait for the other, says 146.0, 1210.5, 2102.6 ms. */
static const struct {
    uint32_t stages, micro_batches;
    double exact_ms, loggopsim_ms;
} pipelines[] = {{8, 32, 121.382, 146.0}, {64, 256, 996.438, 1210.5}, {512, 64, 2044.886, 2102.6}};

START_TEST(all_forwards_then_all_backwards)
{
    for (size_t i = 0; i < sizeof pipelines / sizeof pipelines[0]; i++) {
        arena_init(&arena);
        diag_init(&diag, &arena);
        const uint32_t p = pipelines[i].stages, m = pipelines[i].micro_batches;
        const double send_s = 16 * MIB / LINK_BPS + LINK_S;
        const double exact_s = (p - 1) * (3e-3 + 2 * send_s) + m * 3e-3;
        struct schedule_run_result result;
        ck_assert(peers_pipeline(p, m, &arena, &result, &diag));
        ck_assert_double_le(distance(result.makespan_s, exact_s), slack_s(2 * (p + m)));
        ck_assert_double_le(distance(result.makespan_s * 1e3, pipelines[i].exact_ms), 5e-4);
        ck_assert(distance(result.makespan_s, exact_s) <
                  distance(pipelines[i].loggopsim_ms * 1e-3, exact_s));
        arena_release(&arena);
    }
}
END_TEST

TAP_MAIN("peers", ring_all_reduce, all_to_all, unequal_flows, unequal_flows_one_by_one,
         all_forwards_then_all_backwards)
