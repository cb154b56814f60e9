/* Steps from pieces against closed forms: pipelines, sends, gathers before, sums behind, the
 * barrier. */
#include <string.h>

#include "base/number.h"
#include "tests/law/judged_plan.h"

#define OVERHEAD_S 0.25
#define STAGE_MAX 16
#define LAYER_MAX 40

/* A load made by hand: two kinds of block, the second one the layers of the middle. */
struct bench {
    struct runtime runtime;
    struct setup setup;
    struct problem problem;
    struct model model;
    struct cluster cluster;
    struct accelerator accelerator;
    struct work work;
    struct stream stream;
    struct piece pieces[2];
    uint32_t counts[STAGE_MAX * WORK_BLOCK_MAX];
    struct costmodel judge;
    struct load load;
};

static struct bench *open_bench(const char *schedule, struct schedule_shape shape)
{
    arena_init(&arena);
    diag_init(&diag, &arena);
    struct bench *bench = ARENA_PUSH(&arena, struct bench, 1);
    bench->accelerator.memory_bytes = 1u << 30;
    bench->cluster.accelerators = &bench->accelerator;
    bench->cluster.accelerator_count = 1;
    bench->runtime.overlaps_gradient_reduce = true;
    bench->runtime.overlaps_parameter_gather = true;
    bench->runtime.overlaps_send = true;
    bench->runtime.step_overhead_s = OVERHEAD_S;
    bench->setup.runtime = &bench->runtime;
    bench->problem = (struct problem){&bench->model, &bench->cluster, &bench->setup};
    bench->work.problem = &bench->problem;
    bench->work.shape = shape;
    bench->work.block_count = 2;
    bench->work.blocks[1].part = 1;
    for (uint32_t i = 0; i < 2; i++) {
        bench->pieces[i].block = &bench->work.blocks[i];
    }
    ck_assert_uint_le(shape.stages * shape.chunks, STAGE_MAX);
    ck_assert_msg(stream_build(schedule_find(schedule), &shape, &arena, &bench->stream, &diag),
                  "%s", diag.entries[0].message);
    costmodel_init(&bench->judge, &bench->problem, NULL, &arena);
    bench->load = (struct load){.work = &bench->work,
                                .stream = &bench->stream,
                                .pieces = bench->pieces,
                                .counts = bench->counts};
    return bench;
}

static void close_bench(struct bench *bench)
{
    costmodel_release(&bench->judge);
    arena_release(&arena);
}

static uint32_t *count_at(struct bench *bench, uint32_t chunk, uint32_t block)
{
    return &bench->counts[(size_t)chunk * WORK_BLOCK_MAX + block];
}

static void set_times(struct bench *bench, uint32_t block, double forward_s, double backward_s)
{
    struct piece *piece = &bench->pieces[block];
    piece->forward_total_s = piece->forward_s[COST_COMPUTE] = forward_s;
    piece->backward_total_s = piece->backward_s[COST_COMPUTE] = backward_s;
}

/* Every chunk has that many layers of the second block. */
static void set_equal(struct bench *bench, uint32_t layers)
{
    for (uint32_t i = 0; i < bench->work.shape.stages * bench->work.shape.chunks; i++) {
        *count_at(bench, i, 1) = layers;
    }
}

static double step_of(struct bench *bench)
{
    struct estimate estimate;
    costmodel_combine(&bench->judge, &bench->load, false, &arena, &estimate);
    return estimate.step_s - OVERHEAD_S;
}

static void expect_step(struct bench *bench, double expected, const char *what)
{
    const double step = step_of(bench);
    const struct schedule_shape *shape = &bench->work.shape;
    ck_assert_msg(same(step, expected), "%s, %u stages x %u, %u micro-batches: %.9g s, not %.9g s",
                  what, shape->stages, shape->chunks, shape->micro_batches, step, expected);
}

/* --- pipelines -------------------------------------------------------------------------------- */

/* (m + p - 1) (F + B); v chunks each a v-th of it: m (F + B) + (p - 1) (F + B) / v. Sends that run
 * beside the work delay a way down and a way back. */
START_TEST(equal_stages_take_the_closed_form)
{
    static const struct {
        const char *schedule;
        struct schedule_shape shape;
    } cases[] = {{"1f1b", {1, 1, 5}},        {"1f1b", {2, 1, 4}},       {"1f1b", {4, 1, 8}},
                 {"1f1b", {8, 1, 8}},        {"1f1b", {8, 1, 3}},       {"gpipe", {4, 1, 8}},
                 {"gpipe", {8, 1, 2}},       {"gpipe", {3, 1, 7}},      {"interleaved", {4, 2, 8}},
                 {"interleaved", {4, 4, 8}}, {"interleaved", {2, 3, 6}}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = open_bench(cases[i].schedule, cases[i].shape);
        const double p = cases[i].shape.stages, v = cases[i].shape.chunks,
                     m = cases[i].shape.micro_batches;
        set_times(bench, 1, 0.3, 0.7);
        set_equal(bench, 3);
        const double device = 3.0 * v * (0.3 + 0.7);
        expect_step(bench, m * device + (p - 1.0) * device / v, cases[i].schedule);
        if (strcmp(cases[i].schedule, "gpipe") == 0) {
            bench->load.send_s = 0.11;
            expect_step(bench, (m + p - 1.0) * device + 2.0 * (p - 1.0) * 0.11, "sends");
        }
        close_bench(bench);
    }
}
END_TEST

/* Unequal stages: all forwards, then all backwards, each a flow shop of equal jobs. */
START_TEST(unequal_stages_wait_for_the_slowest)
{
    struct random random;
    random_init(&random, 3);
    for (uint32_t round = 0; round < 200; round++) {
        const uint32_t p = 1 + random_pop_below(&random, 6), m = 1 + random_pop_below(&random, 9);
        struct bench *bench = open_bench("gpipe", (struct schedule_shape){p, 1, m});
        set_times(bench, 0, random_pop_unit(&random), random_pop_unit(&random));
        set_times(bench, 1, random_pop_unit(&random), random_pop_unit(&random));
        double sum = 0.0, forward = 0.0, backward = 0.0;
        for (uint32_t i = 0; i < p; i++) {
            const uint32_t ends = random_pop_below(&random, 2),
                           layers = 1 + random_pop_below(&random, 4);
            *count_at(bench, i, 0) = ends;
            *count_at(bench, i, 1) = layers;
            const double f =
                ends * bench->pieces[0].forward_total_s + layers * bench->pieces[1].forward_total_s;
            const double b = ends * bench->pieces[0].backward_total_s +
                             layers * bench->pieces[1].backward_total_s;
            sum += f + b;
            forward = number_larger(forward, f);
            backward = number_larger(backward, b);
        }
        expect_step(bench, sum + (m - 1.0) * (forward + backward), "gpipe");
        close_bench(bench);
    }
}
END_TEST

/* --- gathers before, sums behind -------------------------------------------------------------- */

/* Layer k may start when k gathers have ended. */
START_TEST(forwards_chase_their_gathers)
{
    static const double gathers[] = {0.0, 0.2, 0.29, 0.31, 2.0};
    for (uint32_t i = 0; i < sizeof gathers / sizeof gathers[0]; i++) {
        for (uint32_t p = 1; p <= 4; p++) {
            struct bench *bench = open_bench("1f1b", (struct schedule_shape){p, 1, 6});
            const double g = gathers[i], layers = 5.0, device = layers * (0.3 + 0.7);
            set_times(bench, 1, 0.3, 0.7);
            set_equal(bench, 5);
            bench->pieces[1].gather_s = g;
            double now = 0.0, gathered = 0.0;
            for (uint32_t k = 0; k < 5; k++) {
                gathered += g;
                now = number_larger(now, gathered) + 0.3;
            }
            const double wait = now - layers * 0.3;
            expect_step(bench, wait + (6.0 + p - 1.0) * device, "gathers under the forward");
            bench->runtime.overlaps_parameter_gather = false;
            expect_step(bench, layers * g + (6.0 + p - 1.0) * device, "gathers before it");
            close_bench(bench);
        }
    }
}
END_TEST

/* Wait-free back-propagation: e_i = max(e_(i-1), r_i) + c_i, layer by layer from the last. */
static double last_sum_s(const struct bench *bench, double backward_start_s, uint32_t ends,
                         uint32_t layers)
{
    double ready = backward_start_s, end = 0.0;
    for (uint32_t i = 0; i < layers + ends; i++) {
        const struct piece *piece = &bench->pieces[i < layers ? 1 : 0];
        ready += piece->backward_total_s;
        end = number_larger(end, ready) + piece->sync_s;
    }
    return end;
}

START_TEST(sums_follow_the_recursion)
{
    struct random random;
    random_init(&random, 5);
    for (uint32_t round = 0; round < 300; round++) {
        const uint32_t p = 1 + random_pop_below(&random, 4), m = 1 + random_pop_below(&random, 5);
        const uint32_t ends = random_pop_below(&random, 3),
                       layers = 1 + random_pop_below(&random, 8);
        struct bench *bench = open_bench("1f1b", (struct schedule_shape){p, 1, m});
        double forward = 0.0, backward = 0.0, sums = 0.0;
        for (uint32_t i = 0; i < 2; i++) {
            set_times(bench, i, random_pop_unit(&random), random_pop_unit(&random));
            bench->pieces[i].sync_s = 1.5 * random_pop_unit(&random);
            const double count = i == 0 ? ends : layers;
            forward += count * bench->pieces[i].forward_total_s;
            backward += count * bench->pieces[i].backward_total_s;
            sums += count * bench->pieces[i].sync_s;
        }
        for (uint32_t i = 0; i < p; i++) {
            *count_at(bench, i, 0) = ends;
            *count_at(bench, i, 1) = layers;
        }
        const double pipeline = (m + p - 1.0) * (forward + backward);
        const double last = last_sum_s(bench, pipeline - backward, ends, layers);
        expect_step(bench, number_larger(pipeline, last), "sums under the backward");
        bench->runtime.overlaps_gradient_reduce = false;
        expect_step(bench, pipeline + sums, "sums behind it");
        close_bench(bench);
    }
}
END_TEST

/* The norm waits for the last stage, the slowest update holds everybody up; ends sum tied weights
 * besides; sums for a later step need only end within this one. */
START_TEST(the_update_waits_for_everybody)
{
    struct bench *bench = open_bench("1f1b", (struct schedule_shape){4, 1, 8});
    set_times(bench, 1, 0.3, 0.7);
    set_equal(bench, 2);
    *count_at(bench, 2, 1) = 3;
    bench->pieces[1].update_s = 0.5;
    const double without = step_of(bench);
    bench->pieces[1].update_s = 0.0;
    ck_assert(same(without - step_of(bench), 3.0 * 0.5));
    const double plain = step_of(bench);
    bench->load.norm_s = 0.4;
    bench->load.tied_s = 0.6;
    expect_step(bench, plain + 0.4 + 0.6, "norm and tied weights");
    bench->pieces[1].stale_s = plain; /* three layers on one stage */
    expect_step(bench, 3.0 * plain, "late sums");
    close_bench(bench);
}
END_TEST

/* --- any plan --------------------------------------------------------------------------------- */

static void expect_accounts(const struct judged *judged)
{
    const struct estimate *estimate = &judged->estimate;
    ck_assert_uint_eq(estimate->stage_count, judged->work.shape.stages);
    double fullest = 0.0;
    for (uint32_t stage = 0; stage < estimate->stage_count; stage++) {
        const struct stage_estimate *account = &estimate->stages[stage];
        double sum = 0.0;
        for (uint32_t i = 0; i < COST_COUNT; i++) {
            ck_assert_msg(account->cost_s[i] >= 0.0, "cost %u is negative", i);
            sum += account->cost_s[i];
        }
        ck_assert_msg(same(sum, estimate->step_s),
                      "stage %u accounts for %.12g s of a step of %.12g s", stage, sum,
                      estimate->step_s);
        ck_assert(account->busy_s <= estimate->step_s);
        fullest = number_larger(fullest, account->peak_bytes);
        const double room = costmodel_room_bytes(&judge, &judged->load, stage);
        ck_assert(same(account->capacity_bytes - account->peak_bytes, room) ||
                  (room < 1.0 && room > -1.0));
    }
    ck_assert(estimate->peak_bytes == fullest);
    ck_assert(estimate->fits == (fullest <= estimate->capacity_bytes));
    ck_assert(costmodel_bound(&judge, &judged->load) <= estimate->step_s * (1.0 + 1e-12));
}

static uint32_t add_chosen(struct random *random, struct plan *plan, struct policy_use *uses)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < policy_table_count; i++) {
        const struct policy *policy = policy_table[i];
        if (policy->choose != NULL && random_pop_below(random, 2) == 0 &&
            policy->choose(&problem, plan, random_pop_below(random, 3), &arena, &uses[count])) {
            count++;
        }
    }
    return count;
}

START_TEST(every_stage_accounts_for_the_step)
{
    struct random random;
    random_init(&random, 17);
    for (uint32_t m = 0; m < MODEL_COUNT; m++) {
        begin_judged(models[m]);
        uint32_t staged = 0;
        for (uint32_t i = 0; i < 25 || !is_enough(i, staged, 8); i++) {
            struct group group;
            struct plan plan;
            struct policy_use *uses = ARENA_PUSH(&arena, struct policy_use, policy_table_count);
            fill_legal(&random, &group, &plan);
            plan.policies = uses;
            plan.policy_count = add_chosen(&random, &plan, uses);
            if (plan_is_legal(&problem, &plan)) {
                expect_accounts(judge_plan(&plan));
                staged += plan_count_stages(&plan) > 1 ? 1 : 0;
            }
        }
        end_judged();
    }
}
END_TEST

static void shuffle(struct bench *bench, struct random *random)
{
    for (uint32_t b = 0; b < 2; b++) {
        set_times(bench, b, random_pop_unit(random), random_pop_unit(random));
        struct piece *piece = &bench->pieces[b];
        piece->weight_s = piece->backward_total_s * random_pop_unit(random);
        piece->sync_s = random_pop_unit(random);
        piece->gather_s = random_pop_unit(random);
        piece->update_s = random_pop_unit(random);
    }
    for (uint32_t i = 0; i < bench->work.shape.stages * bench->work.shape.chunks; i++) {
        *count_at(bench, i, 0) = random_pop_below(random, 2);
        *count_at(bench, i, 1) = 1 + random_pop_below(random, 5);
    }
    bench->load.send_s = 0.2 * random_pop_unit(random);
    bench->load.norm_s = random_pop_unit(random);
}

/* Paths found under one load bound every other load of the same stream. */
START_TEST(the_bound_is_never_above)
{
    static const struct {
        const char *schedule;
        struct schedule_shape shape;
    } cases[] = {{"1f1b", {4, 1, 8}},
                 {"gpipe", {4, 1, 4}},
                 {"interleaved", {4, 2, 8}},
                 {"zb-h1", {4, 1, 8}},
                 {"zb-v", {4, 2, 12}}};
    struct random random;
    random_init(&random, 23);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench *bench = open_bench(cases[i].schedule, cases[i].shape);
        bench->runtime.overlaps_send = i % 2 == 0;
        double tightest = 0.0;
        for (uint32_t round = 0; round < 400; round++) {
            shuffle(bench, &random);
            const double bound = costmodel_bound(&bench->judge, &bench->load);
            const double step = step_of(bench) + OVERHEAD_S;
            ck_assert_msg(bound <= step * (1.0 + 1e-12), "%s: bound %.9g s above step %.9g s",
                          cases[i].schedule, bound, step);
            tightest = number_larger(tightest, bound / step);
        }
        ck_assert_msg(tightest > 0.9, "%s: the bound never comes near (%.3f)", cases[i].schedule,
                      tightest);
        close_bench(bench);
    }
}
END_TEST

TAP_MAIN("combine", equal_stages_take_the_closed_form, unequal_stages_wait_for_the_slowest,
         forwards_chase_their_gathers, sums_follow_the_recursion, the_update_waits_for_everybody,
         every_stage_accounts_for_the_step, the_bound_is_never_above)
