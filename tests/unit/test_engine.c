/* Tasks, streams, flows that share links: by hand. */
#include "sim/engine.h"

#include <string.h>

#include "sim/emit.h"
#include "sim/flows.h"
#include "tests/tap_main.h"

static struct arena arena;
static struct diag diag;
static struct engine engine;

static void begin(void)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    engine_init(&engine, WORLD_PS_PER_S, &arena);
}

static struct engine_label name(const char *text)
{
    return (struct engine_label){.name = text};
}

static uint32_t push_flow(const uint32_t *resources, uint32_t count, double bytes)
{
    const struct world_flow flow = {.resources = resources,
                                    .resource_count = count,
                                    .weight = 1,
                                    .cap_Bps = 1e18,
                                    .bytes = bytes};
    return engine_push_flow(&engine, name("flow"), &flow);
}

static void run(void)
{
    ck_assert_msg(engine_run(&engine, &diag), "%s", diag.kept > 0 ? diag.entries[0].message : "");
}

static void ends_at(uint32_t task, double seconds)
{
    ck_assert_msg(engine_find_end(&engine, task) == (uint64_t)(seconds * 1e12 + 0.5),
                  "task %u ends at %.15g s, not %.15g s", task, engine_find_end_s(&engine, task),
                  seconds);
}

START_TEST(delays_and_streams)
{
    begin();
    uint32_t stream = ENGINE_NO_TASK;
    const uint32_t a = engine_push_delay(&engine, name("a"), 1),
                   b = engine_push_delay(&engine, name("b"), 2);
    const uint32_t c = engine_push_delay(&engine, name("c"), 0),
                   d = engine_push_delay(&engine, name("d"), 3);
    engine_place(&engine, &stream, a);
    engine_place(&engine, &stream, b);
    engine_place(&engine, &stream, c);
    engine_push_edge(&engine, a, d);
    engine_push_edge(&engine, ENGINE_NO_TASK, d);
    engine_push_release(&engine, b, 1.5);
    run();
    ends_at(a, 1);
    ends_at(b, 3.5);
    ends_at(c, 3.5);
    ends_at(d, 4);
    ck_assert_uint_eq(engine_find_start(&engine, b), 1500000000000u);
    arena_release(&arena);
}
END_TEST

/* Three flows on one link of 12: 4 each; the shortest leaves, then 6 each. */
START_TEST(equal_shares)
{
    begin();
    const uint32_t link = engine_push_resource(&engine, 12);
    const uint32_t a = push_flow(&link, 1, 4), b = push_flow(&link, 1, 10),
                   c = push_flow(&link, 1, 16);
    run();
    ends_at(a, 1);
    ends_at(b, 2);
    ends_at(c, 2.5);
    arena_release(&arena);
}
END_TEST

/* The textbook chain: A over links 1 and 2, B over 1, C over 2, capacities 10 and 4. A and C get
 * 2 each, B the 8 that A leaves. When C's 2 bytes are through, A has 4 of link 2. */
START_TEST(max_min_over_two_links)
{
    begin();
    const uint32_t links[] = {engine_push_resource(&engine, 10), engine_push_resource(&engine, 4)};
    const uint32_t a = push_flow(links, 2, 10), b = push_flow(&links[0], 1, 8),
                   c = push_flow(&links[1], 1, 2);
    run();
    ends_at(c, 1);
    ends_at(b, 1);
    ends_at(a, 3); /* 2 in the first second, then 4 a second */
    arena_release(&arena);
}
END_TEST

/* A cap leaves the rest to others; a flow at half a protocol's rate takes twice its bytes of the
 * link. */
START_TEST(caps_and_weights)
{
    begin();
    const uint32_t link = engine_push_resource(&engine, 10);
    struct world_flow capped = {
        .resources = &link, .resource_count = 1, .weight = 1, .cap_Bps = 2, .bytes = 4};
    const uint32_t a = engine_push_flow(&engine, name("a"), &capped);
    const uint32_t b = push_flow(&link, 1, 16);
    run();
    ends_at(a, 2);
    ends_at(b, 2);
    arena_release(&arena);
    begin();
    const uint32_t other = engine_push_resource(&engine, 9);
    struct world_flow heavy = {
        .resources = &other, .resource_count = 1, .weight = 2, .cap_Bps = 4.5, .bytes = 3};
    const uint32_t c = engine_push_flow(&engine, name("c"), &heavy);
    const uint32_t d = push_flow(&other, 1, 12);
    run();
    ends_at(c, 1); /* 3 a second each: 6 + 3 of 9 */
    ends_at(d, 2);
    arena_release(&arena);
}
END_TEST

/* Latency passes before bytes flow; none of both takes no time; a later flow changes the end of
 * an earlier one. */
START_TEST(latency_and_late_flows)
{
    begin();
    const uint32_t link = engine_push_resource(&engine, 10);
    struct world_flow late = {.resources = &link,
                              .resource_count = 1,
                              .weight = 1,
                              .cap_Bps = 10,
                              .latency_s = 1,
                              .bytes = 10};
    const uint32_t a = push_flow(&link, 1, 20), b = engine_push_flow(&engine, name("late"), &late);
    struct world_flow nothing = {
        .resources = &link, .resource_count = 1, .weight = 1, .cap_Bps = 10};
    const uint32_t c = engine_push_flow(&engine, name("nothing"), &nothing);
    nothing.latency_s = 0.5;
    const uint32_t d = engine_push_flow(&engine, name("only latency"), &nothing);
    engine_push_edge(&engine, c, d);
    run();
    ends_at(c, 0);
    ends_at(d, 0.5);
    ends_at(a, 3); /* 10 by itself, then 5 a second for 2 s */
    ends_at(b, 3);
    arena_release(&arena);
}
END_TEST

START_TEST(rounded_half_up)
{
    begin();
    const uint32_t a = engine_push_delay(&engine, name("a"), 0.4e-12),
                   b = engine_push_delay(&engine, name("b"), 0.5e-12);
    const uint32_t c = engine_push_delay(&engine, name("c"), 1.6e-12);
    run();
    ck_assert_uint_eq(engine_find_end(&engine, a), 0);
    ck_assert_uint_eq(engine_find_end(&engine, b), 1);
    ck_assert_uint_eq(engine_find_end(&engine, c), 2);
    arena_release(&arena);
}
END_TEST

static void push_deadlock(void)
{
    const uint32_t a = engine_push_delay(&engine, name("alpha"), 1);
    const uint32_t b = engine_push_delay(&engine, name("beta"), 1);
    const uint32_t c = engine_push_delay(&engine, name("gamma"), 1);
    engine_push_delay(&engine, name("delta"), 1);
    engine_push_edge(&engine, a, b);
    engine_push_edge(&engine, b, a);
    engine_push_edge(&engine, b, c);
}

static void run_deadlock(void)
{
    begin();
    push_deadlock();
    engine_run(&engine, &diag);
}

START_TEST(a_deadlock_is_named)
{
    begin();
    push_deadlock();
    struct text cycle;
    text_init(&cycle, &arena);
    ck_assert_int_eq(engine_try(&engine), ENGINE_STUCK);
    engine_dump_cycle(&engine, &cycle);
    ck_assert_str_eq(cycle.bytes, "'alpha' waits for 'beta' waits for 'alpha'");
    ck_assert_int_eq(tap_find_end(run_deadlock), 3);
    arena_release(&arena);
}
END_TEST

START_TEST(the_end_of_time)
{
    begin();
    engine_push_delay(&engine, name("long"), 1e30);
    ck_assert(!engine_run(&engine, &diag));
    ck_assert_int_eq(diag.entries[0].code, DIAG_S802);
    arena_release(&arena);
}
END_TEST

/* --- overlap ---------------------------------------------------------------------------------- */

/* Communication of `a` seconds feeds work of `x` in k equal pieces: one stream each. */
static double flow_shop(double a, double x, uint32_t k)
{
    begin();
    uint32_t wire = ENGINE_NO_TASK, device = ENGINE_NO_TASK;
    for (uint32_t i = 0; i < k; i++) {
        const uint32_t arrives = engine_push_delay(&engine, name("message"), a / k);
        const uint32_t works = engine_push_delay(&engine, name("kernel"), x / k);
        engine_place(&engine, &wire, arrives);
        engine_place(&engine, &device, works);
        engine_push_edge(&engine, arrives, works);
    }
    run();
    const double seconds = engine_find_end_s(&engine, device);
    arena_release(&arena);
    return seconds;
}

/* The same with the first of k pieces on the device already, as work programs say it. */
static double travel_under(double a, double x, uint32_t k)
{
    begin();
    static const struct lump_list none;
    static const struct work_message message = {.cause = CAUSE_GATHER};
    struct bar bar = {.name = "kernel", .is_kernel = true, .kernel_s = x, .pieces = k};
    const struct script script = {.bars = &bar, .bar_count = 1};
    bar.moves[bar.move_count++] = (struct move){&none, 1, a, &message};
    struct emit emit = {.engine = &engine,
                        .arena = &arena,
                        .kernel_factor = 1,
                        .message_factor = 1,
                        .cursor = ENGINE_NO_TASK};
    emit_delay(&emit, "start", 0);
    emit_script(&emit, &script, EMIT_ALL);
    run();
    const double seconds = engine_find_end_s(&engine, emit.cursor);
    ck_assert_uint_eq(emit.segment_count, 1);
    ck_assert_uint_eq(emit.segments[0].task, emit.cursor);
    arena_release(&arena);
    return seconds;
}

/* One after another a + x; in k slices max + min / k (a two-machine flow shop); in pieces from
 * k - 1 peers all of it vanishes under the work. */
START_TEST(overlap_in_pieces)
{
    ck_assert_double_eq_tol(flow_shop(7, 8, 1), 15, 1e-12);
    ck_assert_double_eq_tol(flow_shop(7, 8, 4), 9.75, 1e-12);
    ck_assert_double_eq_tol(travel_under(7, 8, 8), 8, 1e-12);
    ck_assert_double_eq_tol(travel_under(14, 8, 8), 1 + 14, 1e-12);
    ck_assert_double_eq_tol(travel_under(7, 8, 1), 8, 1e-12);
    ck_assert_double_eq_tol(travel_under(9, 8, 1), 9, 1e-12);
    ck_assert_double_eq_tol(flow_shop(1, 1, 4), 1.25, 1e-12);
}
END_TEST

/* --- bare transfers --------------------------------------------------------------------------- */

static struct cluster star(uint32_t devices, double bandwidth_Bps, double latency_s)
{
    struct cluster cluster = {.name = "star", .device_count = devices, .level_count = 1};
    cluster.levels[0] = (struct level){.name = "l",
                                       .kind = LEVEL_SWITCH,
                                       .degree = devices,
                                       .bandwidth_Bps = bandwidth_Bps,
                                       .latency_s = latency_s,
                                       .link = LINK_RAW};
    return cluster;
}

/* Three senders into one port of 100 GB/s, one out of a sender's own: max-min fair, then the
 * rest. */
START_TEST(incast)
{
    begin();
    const struct cluster cluster = star(16, 100e9, 2e-6);
    const struct flows_transfer transfers[] = {
        {1, 0, 100e9, 0}, {2, 0, 100e9, 0}, {1, 3, 100e9, 0}, {4, 4, 5, 7}, {5, 6, 0, 1}};
    struct flows_result result;
    ck_assert(flows_run(&cluster, transfers, 5, &arena, &result, &diag));
    /* 50 GB/s each until 2 s; all three end together */
    ck_assert_double_eq_tol(result.finish_s[0], 2 + 2e-6, 1e-12);
    ck_assert_double_eq_tol(result.finish_s[1], 2 + 2e-6, 1e-12);
    ck_assert_double_eq_tol(result.finish_s[2], 2 + 2e-6, 1e-12);
    ck_assert_double_eq(result.finish_s[3], 7);
    ck_assert_double_eq_tol(result.finish_s[4], 1 + 2e-6, 1e-12);
    arena_release(&arena);
}
END_TEST

/* All to one and one to all: total bytes over the port that all share. */
START_TEST(ports_are_full)
{
    begin();
    const struct cluster cluster = star(8, 10e9, 0);
    struct flows_transfer transfers[14];
    for (uint32_t i = 0; i < 7; i++) {
        transfers[i] = (struct flows_transfer){i + 1, 0, (i + 1) * 1e9, 0};
        transfers[i + 7] = (struct flows_transfer){0, i + 1, 1e9, 0};
    }
    struct flows_result result;
    double last_in_s = 0, last_out_s = 0;
    ck_assert(flows_run(&cluster, transfers, 14, &arena, &result, &diag));
    for (uint32_t i = 0; i < 7; i++) {
        last_in_s = result.finish_s[i] > last_in_s ? result.finish_s[i] : last_in_s;
        last_out_s = result.finish_s[i + 7] > last_out_s ? result.finish_s[i + 7] : last_out_s;
        ck_assert(i == 0 || result.finish_s[i] > result.finish_s[i - 1]);
    }
    ck_assert_double_eq_tol(last_in_s, 2.8, 1e-11);
    ck_assert_double_eq_tol(last_out_s, 0.7, 1e-11);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("engine", delays_and_streams, equal_shares, max_min_over_two_links, caps_and_weights,
         latency_and_late_flows, rounded_half_up, a_deadlock_is_named, the_end_of_time,
         overlap_in_pieces, incast, ports_are_full)
