/* How often and when layers agree: worked examples of systems that schedule gradient sums. */
#include "sim/engine.h"
#include "sim/sim.h"
#include "tests/law/random_plan.h"

/* --- DreamDDP --------------------------------------------------------------------------------- */

#define LAYERS 4u

static struct policy_use use;

static struct policy_value *value_of(const char *key)
{
    for (uint32_t i = 0; i < use.kind->field_count; i++) {
        if (strcmp(use.kind->fields[i].key, key) == 0) {
            use.values[i].present = true;
            return &use.values[i];
        }
    }
    ck_abort_msg("policy sync has no field %s", key);
}

/* Two replicas of four layers agree every so many steps, all at once or in turn. Step in units of
 * half of what a layer's gradient takes to travel: a layer's backward. */
static double run_replicas(uint32_t every, bool turns, bool overlaps)
{
    struct group group = {.mesh_count = 1, .mesh = {{.dim = dim_find("dp"), .degree = 2}}};
    struct plan plan = {.groups = &group, .group_count = 1, .policies = &use, .policy_count = 1};
    struct work work;
    struct stream stream;
    struct prices prices;
    struct sim sim;
    struct load load;
    struct sim_result result;
    const struct sim_options options = {
        .granularity = SIM_SLOTS, .arrival = true, .overlap = true, .rounding = true, .seed = 1};
    begin("toy-4l");
    use = (struct policy_use){.kind = policy_find("sync")};
    value_of("every")->count = every;
    value_of("turns")->flag = turns;
    plan.schedule =
        (struct plan_schedule){.schedule = schedule_find("1f1b"), .micro_batch = 1, .chunks = 1};
    setup.global_batch = 2;
    setup.spare_devices = cluster.device_count - 2;
    runtime.overlaps_gradient_reduce = overlaps;
    runtime.step_overhead_s = 0;
    ck_assert(plan_check_costed(&problem, &plan, &diag));
    work_build(&problem, &plan, &arena, &work);
    work.norm.bytes = 0;
    ck_assert(stream_build(plan.schedule.schedule, &work.shape, &arena, &stream, &diag));
    ck_assert(prices_read(&cluster, &runtime, &arena, &prices, &diag));
    sim_init(&sim, &problem, &prices, &options, &arena);
    const uint32_t layers[1] = {LAYERS};
    sim_build_load(&sim, &work, &stream, layers, &arena, &load);
    struct piece *pieces = ARENA_PUSH(&arena, struct piece, work.block_count);
    uint32_t *counts = ARENA_PUSH(&arena, uint32_t, WORK_BLOCK_MAX);
    double unit_s = 0;
    for (uint32_t b = 0; b < work.block_count; b++) {
        pieces[b].block = &work.blocks[b]; /* the ends of the chain are left out */
        if (load.counts[b] == LAYERS) {
            counts[b] = LAYERS;
            unit_s = load.pieces[b].sync_s * (double)every / 2;
            pieces[b].forward_total_s = unit_s / 2;
            pieces[b].backward_total_s = unit_s;
        }
    }
    load.pieces = pieces;
    load.counts = counts;
    ck_assert(unit_s > 0 && sim_run(&sim, &load, &arena, &result, &diag));
    ck_assert_uint_eq(result.iterations, every);
    arena_release(&arena);
    return result.estimate.step_s / unit_s;
}

/* Forward 2, backward 1 and sum 2 per layer. The least over two steps of all ways to say in which
 * of them each layer agrees. */
static double find_least(void)
{
    double least = 1e9;
    for (uint32_t ways = 0; ways < 1u << LAYERS; ways++) {
        double both = 0;
        for (uint32_t step = 0; step < 2; step++) {
            double moved = 0;
            for (uint32_t done = 1; done <= LAYERS; done++) {
                const bool due = (ways >> (done - 1) & 1) == step;
                moved = due ? (moved > done ? moved : done) + 2 : moved;
            }
            both += 2 + (moved > LAYERS ? moved : LAYERS);
        }
        least = both < least ? both : least;
    }
    return least;
}

/* DreamDDP (arXiv 2502.11058), four layers, a period of two, both steps together: sums in every
 * step under the backward 22; all of them behind the second step 20, under its backward 17; layers
 * in turn 15, which no other choice beats. */
START_TEST(layers_take_turns)
{
    ck_assert_double_eq_tol(2 * run_replicas(1, false, true), 22, 1e-6);
    ck_assert_double_eq_tol(2 * run_replicas(2, false, false), 20, 1e-6);
    ck_assert_double_eq_tol(2 * run_replicas(2, false, true), 17, 1e-6);
    ck_assert_double_eq_tol(2 * run_replicas(2, true, true), 15, 1e-6);
    ck_assert_double_eq(find_least(), 15);
}
END_TEST

/* --- DeFT ------------------------------------------------------------------------------------- */

#define BUCKETS 5u

static const double bucket_s[BUCKETS] = {8, 6, 9, 7, 10}, ready_s[BUCKETS] = {4, 8, 12, 16, 20};

/* The buckets whose sums fill a window best, of those not taken: a bit each. */
static uint32_t fill_window(double window_s, uint32_t taken)
{
    uint32_t best = 0;
    double most_s = 0;
    for (uint32_t ways = 0; ways < 1u << BUCKETS; ways++) {
        double sum_s = 0;
        for (uint32_t i = 0; i < BUCKETS; i++) {
            sum_s += (ways >> i & 1) != 0 ? bucket_s[i] : 0;
        }
        if ((ways & taken) == 0 && sum_s <= window_s && sum_s > most_s) {
            best = ways;
            most_s = sum_s;
        }
    }
    return best;
}

/* Buckets sent one after another behind a task; what bytes they are is added. */
static void push_buckets(struct engine *engine, uint32_t buckets, uint32_t after, uint32_t *link,
                         double *sent_s)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        if ((buckets >> i & 1) != 0) {
            const uint32_t sum =
                engine_push_delay(engine, (struct engine_label){"sum", i}, bucket_s[i]);
            engine_push_edge(engine, after, sum);
            engine_place(engine, link, sum);
            *sent_s += bucket_s[i];
        }
    }
}

/* Steps of forward 10 and backward 20 whose sums of earlier gradients fill the windows: seconds of
 * the last step, which ends with its compute and its sums. */
static double run_windows(uint32_t under_forward, uint32_t under_backward, double *sent_s)
{
    struct engine engine;
    uint32_t compute = ENGINE_NO_TASK, link = ENGINE_NO_TASK, begin = ENGINE_NO_TASK;
    engine_init(&engine, WORLD_PS_PER_S, &arena);
    for (uint32_t step = 0; step < 4; step++) {
        *sent_s = 0;
        begin = compute;
        push_buckets(&engine, under_forward, compute, &link, sent_s);
        engine_place(&engine, &compute,
                     engine_push_delay(&engine, (struct engine_label){"forward", 0}, 10));
        push_buckets(&engine, under_backward, compute, &link, sent_s);
        engine_place(&engine, &compute,
                     engine_push_delay(&engine, (struct engine_label){"backward", 0}, 20));
        const uint32_t end = engine_push_delay(&engine, (struct engine_label){"update", 0}, 0);
        engine_push_edge(&engine, link, end);
        engine_place(&engine, &compute, end);
    }
    ck_assert(engine_run(&engine, &diag));
    return engine_find_end_s(&engine, compute) - engine_find_end_s(&engine, begin);
}

/* Each bucket sent as soon as it is there, all of them before the next step. */
static double run_at_once(void)
{
    struct engine engine;
    uint32_t link = ENGINE_NO_TASK;
    engine_init(&engine, WORLD_PS_PER_S, &arena);
    for (uint32_t i = 0; i < BUCKETS; i++) {
        const uint32_t sum =
            engine_push_delay(&engine, (struct engine_label){"sum", i}, bucket_s[i]);
        engine_push_release(&engine, sum, 10 + ready_s[i]);
        engine_place(&engine, &link, sum);
    }
    ck_assert(engine_run(&engine, &diag));
    return engine_find_end_s(&engine, link);
}

/* DeFT (arXiv 2503.16815): buckets that may be late fill the backward's window, then the
 * forward's. A step takes 30 instead of 54 and sends 27 of 40. */
START_TEST(late_buckets_fill_windows)
{
    double sent_s;
    arena_init(&arena);
    diag_init(&diag, &arena);
    const uint32_t under_backward = fill_window(20, 0);
    const uint32_t under_forward = fill_window(10, under_backward);
    ck_assert_double_eq(run_at_once(), 54);
    ck_assert_double_eq(run_windows(under_forward, under_backward, &sent_s), 30);
    ck_assert_double_eq(sent_s / 40, 0.675);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("sync", layers_take_turns, late_buckets_fill_windows)
