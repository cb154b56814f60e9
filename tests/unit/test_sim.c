/* What each switch of the simulator does to a step: rare sums, stale ones, shared ports, jitter,
 * what is kept of the run. */
#include "sim/sim.h"

#include <string.h>

#include "sim/trace.h"
#include "tests/law/random_plan.h"

#define STAGES 4u
#define MICRO_BATCHES 8u

static struct plan plan;
static struct group group;
static struct policy_use uses[2];
static struct prices prices;
static struct work work;
static struct stream stream;
static struct load load;
static struct sim sim;

static struct mesh_dim mesh(const char *dim, uint32_t degree)
{
    return (struct mesh_dim){.dim = dim_find(dim), .degree = degree};
}

static void build(const struct sim_options *options)
{
    static const uint32_t layers[STAGES] = {2, 2, 2, 2};
    ck_assert_msg(plan_check(&problem, &plan, &diag), "%s", diag.entries[0].message);
    work_build(&problem, &plan, &arena, &work);
    ck_assert(stream_build(plan.schedule.schedule, &work.shape, &arena, &stream, &diag));
    ck_assert(prices_read(&cluster, &runtime, &arena, &prices, &diag));
    sim_init(&sim, &problem, &prices, options, &arena);
    sim_build_load(&sim, &work, &stream, layers, &arena, &load);
}

/* 8 layers over 4 nodes as stages, 4 replicas of 2 devices in each. */
static void start(void)
{
    begin("toy-gqa-8l");
    setup.global_batch = (uint64_t)4 * MICRO_BATCHES;
    group = (struct group){.mesh_count = 3};
    group.mesh[0] = mesh("tp", 2);
    group.mesh[1] = mesh("dp", 4);
    group.mesh[2] = mesh("pp", STAGES);
    memset(uses, 0, sizeof uses);
    plan = (struct plan){.groups = &group, .group_count = 1, .policies = uses};
    plan.schedule.schedule = schedule_find("1f1b");
    plan.schedule.micro_batch = 1;
    plan.schedule.chunks = 1;
}

/* Replicas agree once in `every` steps, a step late. */
static void agree(uint64_t every, uint64_t stale)
{
    uses[0] = (struct policy_use){.kind = policy_find("sync")};
    for (uint32_t i = 0; i < uses[0].kind->field_count; i++) {
        const char *key = uses[0].kind->fields[i].key;
        struct policy_value *value = &uses[0].values[i];
        if (strcmp(key, "every") == 0) {
            *value = (struct policy_value){.present = true, .count = every};
        } else if (strcmp(key, "stale") == 0) {
            *value = (struct policy_value){.present = true, .count = stale};
        }
    }
    plan.policy_count = 1;
}

static struct sim_result simulate(void)
{
    struct sim_result result;
    ck_assert_msg(sim_run(&sim, &load, &arena, &result, &diag), "%s", diag.entries[0].message);
    return result;
}

static double step_s(void)
{
    return simulate().estimate.step_s;
}

/* With nothing to hide under, one sum in k steps costs a k-th of one in each. */
START_TEST(rare_sums)
{
    start();
    runtime.overlaps_gradient_reduce = false;
    struct sim_options options = sim_full_options();
    options.contention = false;
    double saved_s[5];
    double always_s = 0;
    for (uint32_t every = 1; every <= 4; every++) {
        agree(every, 0);
        build(&options);
        const struct sim_result result = simulate();
        always_s = every == 1 ? result.estimate.step_s : always_s;
        saved_s[every] = always_s - result.estimate.step_s;
        ck_assert_uint_eq(result.iterations, every);
        /* fewer steps than one sum: its share in each */
        sim.options.iterations = 1;
        ck_assert_double_eq_tol(step_s(), result.estimate.step_s, 1e-9 * always_s);
        sim.options.overlap = false;
        ck_assert_double_eq_tol(step_s(), result.estimate.step_s, 1e-9 * always_s);
    }
    ck_assert_double_gt(saved_s[2], 0.001 * always_s);
    ck_assert_double_eq_tol(saved_s[3], saved_s[2] * 4 / 3, 1e-9 * always_s);
    ck_assert_double_eq_tol(saved_s[4], saved_s[2] * 3 / 2, 1e-9 * always_s);
    arena_release(&arena);
}
END_TEST

/* A sum that the next step waits for is hidden by that step. */
START_TEST(stale_sums)
{
    start();
    runtime.overlaps_gradient_reduce = false;
    struct sim_options options = sim_full_options();
    options.contention = false;
    agree(1, 0);
    build(&options);
    const double fresh_s = step_s();
    agree(1, 1);
    build(&options);
    const double stale_s = step_s();
    ck_assert_double_lt(stale_s, fresh_s);
    ck_assert_uint_eq(simulate().iterations, 1);
    arena_release(&arena);
}
END_TEST

/* Sums and sends share a port: both judges agree on what each takes alone, together they last
 * longer; nothing else does. */
START_TEST(shared_ports)
{
    start();
    runtime.op_overhead_s = runtime.op_gap_s = 0.0; /* messages, not small kernels, set the pace */
    struct sim_options options = sim_full_options();
    build(&options);
    const double shared_s = step_s();
    sim.options.contention = false;
    const double alone_s = step_s();
    ck_assert_double_gt(shared_s, alone_s);
    group.mesh[1] = mesh("dp", 1);
    setup.global_batch = MICRO_BATCHES;
    setup.spare_devices = 24;
    options.contention = true;
    build(&options);
    const double single_s = step_s();
    sim.options.contention = false;
    ck_assert_double_eq_tol(step_s(), single_s, 0.01 * single_s);
    arena_release(&arena);
}
END_TEST

/* A thousandth of jitter moves a step by less; seeds say all. */
START_TEST(jitter)
{
    start();
    struct sim_options options = sim_full_options();
    build(&options);
    const double steady_s = step_s();
    sim.options.compute_jitter_frac = 0.001;
    sim.options.network_jitter_frac = 0.001;
    double *first_s, *second_s;
    ck_assert(sim_run_many(&sim, &load, 9, &arena, &first_s, &diag));
    ck_assert(sim_run_many(&sim, &load, 9, &arena, &second_s, &diag));
    for (uint32_t i = 0; i < 9; i++) {
        ck_assert_double_eq(first_s[i], second_s[i]);
        ck_assert_double_eq_tol(first_s[i], steady_s, 0.001 * steady_s);
        ck_assert(i == 0 || first_s[i] >= first_s[i - 1]);
    }
    ck_assert_double_gt(first_s[8], first_s[0]);
    /* whoever exchanges messages inside a slot waits for the slowest */
    sim.options.arrival = false;
    ck_assert(sim_run_many(&sim, &load, 9, &arena, &second_s, &diag));
    ck_assert_double_gt(first_s[4], second_s[4]);
    arena_release(&arena);
}
END_TEST

/* Slots of a stage do not overlap and are all there; memory rises and falls to nothing kept. */
START_TEST(what_is_kept)
{
    start();
    struct sim_options options = sim_full_options();
    options.spans = true;
    build(&options);
    const struct sim_result result = simulate();
    double last_s[STAGES] = {0}, top_bytes[STAGES] = {0}, end_bytes[STAGES] = {0};
    uint32_t slots[STAGES] = {0};
    for (uint32_t i = 0; i < result.span_count; i++) {
        const struct sim_span *span = &result.spans[i];
        ck_assert_double_le(span->start_s, span->end_s);
        ck_assert_double_le(span->end_s, result.estimate.step_s * (1 + 1e-12));
        if (strcmp(span->stream, "slots") == 0) {
            ck_assert_double_ge(span->start_s, last_s[span->stage]);
            last_s[span->stage] = span->end_s;
            slots[span->stage]++;
        }
    }
    for (uint32_t i = 0; i < result.level_count; i++) {
        const struct sim_level *level = &result.levels[i];
        top_bytes[level->stage] =
            level->bytes > top_bytes[level->stage] ? level->bytes : top_bytes[level->stage];
        end_bytes[level->stage] = level->bytes;
    }
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        const struct sim_stage *own = &result.stages[stage];
        ck_assert_uint_eq(slots[stage], 2 * MICRO_BATCHES);
        ck_assert_double_eq_tol(top_bytes[stage], own->peak_bytes, 1);
        ck_assert_double_lt(end_bytes[stage], top_bytes[stage]);
        /* one forward, one backward in turn: stage s holds p - s */
        ck_assert_double_eq(own->live_micro_batches, STAGES - stage);
        ck_assert_double_le(own->peak_at_s, own->end_s);
        ck_assert_uint_ne(own->peak_block, NO_INDEX);
    }
    arena_release(&arena);
}
END_TEST

static double sum_parts(const struct sim_chain *chain)
{
    double sum_s = 0;
    for (uint32_t part = 0; part < SIM_CHAIN_COUNT; part++) {
        ck_assert_double_ge(chain->part_s[part], 0);
        sum_s += chain->part_s[part];
    }
    return sum_s;
}

/* The chain is the step, whatever it is made of; what it holds of the overhead is all of it. */
static void hold_chain(void)
{
    const struct sim_result result = simulate();
    const double step = result.estimate.step_s;
    double stages_s = 0;
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        stages_s += result.chain.stage_s[stage];
    }
    ck_assert_double_eq_tol(sum_parts(&result.chain), step, 1e-9 * step);
    ck_assert_double_eq_tol(stages_s, step, 1e-9 * step);
    ck_assert_double_eq_tol(result.chain.part_s[SIM_CHAIN_OVERHEAD], runtime.step_overhead_s,
                            2e-12);
    ck_assert_double_gt(
        result.chain.part_s[SIM_CHAIN_KERNELS] + result.chain.part_s[SIM_CHAIN_HOST], 0.2 * step);
    ck_assert(sim.options.contention || result.chain.part_s[SIM_CHAIN_SHARED] == 0);
    bool is_used = false;
    for (uint32_t i = 0; i < 2 * STAGES * result.port_levels; i++) {
        ck_assert_double_ge(result.port_busy_frac[i], 0);
        ck_assert_double_le(result.port_busy_frac[i], 1 + 1e-9);
        is_used = is_used || result.port_busy_frac[i] > 0;
    }
    ck_assert(is_used == sim.options.contention);
}

START_TEST(the_chain_is_the_step)
{
    for (uint32_t i = 0; i < 12; i++) {
        start();
        struct sim_options options = sim_full_options();
        options.chain = true;
        options.contention = i % 2 == 0;
        options.granularity = i % 4 < 2 ? SIM_OPS : SIM_SLOTS;
        runtime.overlaps_gradient_reduce = i >= 6;
        if (i % 3 > 0) {
            agree(1 + i % 3, i % 3 - 1);
        }
        build(&options);
        hold_chain();
        arena_release(&arena);
    }
}
END_TEST

/* Nothing to hide under and one stage after the other: sends and sums are on the chain, and what
 * they take there goes when they do. */
START_TEST(the_chain_names_what_counts)
{
    start();
    runtime.overlaps_gradient_reduce = false;
    struct sim_options options = sim_full_options();
    options.chain = true;
    options.contention = false;
    build(&options);
    const struct sim_result result = simulate();
    ck_assert_double_ge(result.chain.crossings, STAGES - 1);
    ck_assert_double_gt(result.chain.part_s[SIM_CHAIN_SEND], 0);
    ck_assert_double_gt(result.chain.part_s[SIM_CHAIN_DATA], 0);
    agree(1, 1); /* sums may end a step later */
    build(&options);
    ck_assert_double_lt(simulate().chain.part_s[SIM_CHAIN_DATA],
                        result.chain.part_s[SIM_CHAIN_DATA]);
    arena_release(&arena);
}
END_TEST

/* A slow stage: its kernels last as said, the others' as before, the step no longer than if all
 * were slow. */
START_TEST(a_slow_stage_holds_up_the_step)
{
    static const double one_slow[STAGES] = {1, 1, 1.5, 1}, all_slow[STAGES] = {1.5, 1.5, 1.5, 1.5};
    static const double none_slow[STAGES] = {1, 1, 1, 1};
    start();
    runtime.op_overhead_s = 0.0;
    struct sim_options options = sim_full_options();
    build(&options);
    const struct sim_result plain = simulate();
    sim.options.slowness = none_slow;
    ck_assert_double_eq(step_s(), plain.estimate.step_s);
    sim.options.slowness = all_slow;
    const double all_s = step_s();
    sim.options.slowness = one_slow;
    const struct sim_result slow = simulate();
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        const double expected_s = plain.stages[stage].busy_s * one_slow[stage];
        ck_assert_double_eq_tol(slow.stages[stage].busy_s, expected_s, 1e-7 * expected_s);
    }
    ck_assert_double_gt(slow.estimate.step_s, 1.05 * plain.estimate.step_s);
    ck_assert_double_lt(slow.estimate.step_s, all_s);
    arena_release(&arena);
}
END_TEST

START_TEST(a_trace_reads_back)
{
    start();
    struct sim_options options = sim_full_options();
    options.spans = true;
    build(&options);
    const struct sim_result result = simulate();
    struct text text;
    struct json_writer writer;
    text_init(&text, &arena);
    json_writer_init(&writer, &text, true);
    trace_dump(&result, &arena, &writer);
    struct json *document;
    ck_assert(json_open_text("trace", text.bytes, text.length, false, &arena, &document, &diag));
    json_close(document);
    ck_assert_ptr_nonnull(strstr(text.bytes, "\"thread_name\""));
    ck_assert_ptr_nonnull(strstr(text.bytes, "\"stage 3\""));
    ck_assert_ptr_nonnull(strstr(text.bytes, "\"F7\""));
    uint32_t spans = 0;
    for (const char *at = text.bytes; (at = strstr(at, "\"ph\":\"X\"")) != NULL; at++) {
        spans++;
    }
    ck_assert_uint_eq(spans, result.span_count);
    arena_release(&arena);
}
END_TEST

#define HEAD "{\"format\": \"shardplan/cluster/1\", \"name\": \"x\", "
#define LINK(devices, latency) \
    "{\"from\": \"" devices \
    "\", \"to\": \"s\", \"bandwidth\": \"100 GB/s\", \"latency\": \"" latency "\"}"

static double gradient_bytes; /* of the whole model, of the last step, in two bytes each */

static double step_on(const char *cluster_text, const struct sim_options *options)
{
    struct json *document;
    start();
    group.mesh[1] = mesh("dp", 2);
    setup.global_batch = (uint64_t)2 * MICRO_BATCHES;
    ck_assert(json_open_text("t.json", cluster_text, strlen(cluster_text), false, &arena, &document,
                             &diag));
    ck_assert_msg(cluster_read_json(json_root(document), "t", &arena, &cluster, &diag), "%s",
                  diag.entries[0].message);
    json_close(document);
    build(options);
    const double seconds = step_s();
    gradient_bytes = 2.0 * (double)model_count_parameters(&model);
    arena_release(&arena);
    return seconds;
}

/* 16 devices under one switch, said as a level or as a graph: one way is as long as two links. */
START_TEST(one_machine_said_twice)
{
    static const char level[] =
        HEAD "\"device\": \"H100-SXM5\", \"levels\": [{\"name\": \"l\", \"kind\": \"switch\", "
             "\"degree\": 16, \"bandwidth\": \"100 GB/s\", \"latency\": \"2 us\"}]}";
    static const char graph[] =
        HEAD "\"devices\": [{\"id\": \"a[0-15]\", \"kind\": \"H100-SXM5\"}], \"switches\": "
             "[{\"id\": \"s\"}], \"links\": [" LINK("a[0-15]", "1 us") "]}";
    struct sim_options options = sim_full_options();
    for (uint32_t contention = 0; contention < 2; contention++) {
        options.contention = contention == 1;
        const double level_s = step_on(level, &options);
        ck_assert_double_eq_tol(step_on(graph, &options), level_s, 1e-9 * level_s);
    }
}
END_TEST

/* Stages 0 and 1 at one end of a line, 2 and 3 at the other: all four ranks of a stage send over
 * it, one micro-batch behind the other. */
START_TEST(a_line_between_sites)
{
    static const char sites[] = HEAD
        "\"devices\": [{\"id\": \"a[0-15]\", \"kind\": \"H100-SXM5\"}], \"switches\": "
        "[{\"id\": \"s\"}, {\"id\": \"t\"}], \"links\": [" LINK(
            "a[0-7]", "1 us") ", "
                              "{\"from\": \"a[8-15]\", \"to\": \"t\", \"bandwidth\": \"100 GB/s\", "
                              "\"latency\": \"1 us\"}, {\"from\": \"s\", \"to\": \"t\", "
                              "\"bandwidth\": \"10 MB/s\", \"latency\": \"10 ms\"}]}";
    struct sim_options options = sim_full_options();
    const double folded_s = step_on(sites, &options);
    const double line_s = MICRO_BATCHES * 4.0 * work.send.bytes / 10e6;
    ck_assert_double_gt(folded_s, line_s + 0.02);
    options.fold = SIM_MESSAGES;
    ck_assert_double_eq_tol(step_on(sites, &options), folded_s, 1e-3 * folded_s);
    options = (struct sim_options){0};
    ck_assert_double_eq_tol(step_on(sites, &options), folded_s, 0.02 * folded_s);
}
END_TEST

#define AT(switch, devices) \
    "{\"from\": \"" devices "\", \"to\": \"" switch "\", \"bandwidth\": \"100 GB/s\"}, "

/* Replicas at the two ends of a line: the groups that sum gradients, two of each stage, meet on
 * it. */
START_TEST(groups_on_one_line)
{
    static const char sites[] =
        HEAD "\"devices\": [{\"id\": \"a[0-15]\", \"kind\": \"H100-SXM5\"}], \"switches\": "
             "[{\"id\": \"s\"}, {\"id\": \"t\"}], \"links\": [" AT("s", "a[0-1]") AT("t", "a[2-3]")
                 AT("s", "a[4-5]") AT("t", "a[6-7]") AT("s", "a[8-9]") AT("t", "a[10-11]")
                     AT("s", "a[12-13]") AT("t", "a[14-15]") "{\"from\": \"s\", \"to\": \"t\", "
                                                             "\"bandwidth\": \"100 MB/s\"}]}";
    struct sim_options options = sim_full_options();
    const double folded_s = step_on(sites, &options);
    /* each way, from the ranks at one end: all gradients once */
    ck_assert_double_gt(folded_s, gradient_bytes / 100e6);
    options.fold = SIM_MESSAGES;
    const double messages_s = step_on(sites, &options);
    /* the end stages hold the embedding: they go on alone when the others have ended */
    ck_assert_double_le(messages_s, folded_s);
    ck_assert_double_lt(folded_s, 1.5 * messages_s);
}
END_TEST

TAP_MAIN("sim", a_slow_stage_holds_up_the_step, the_chain_is_the_step, the_chain_names_what_counts,
         rare_sums, stale_sums, shared_ports, jitter, what_is_kept, a_trace_reads_back,
         one_machine_said_twice, a_line_between_sites, groups_on_one_line)
