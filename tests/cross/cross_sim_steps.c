/* Whole steps of small legal plans: the two judges agree when the simulator does nothing the
 * other does not. */
#include "tests/cross/thrown_plan.h"

#define PLAN_COUNT 240

static const char *const runtimes[] = {"any", "megatron", "torchtitan", "deepspeed"};

typedef void law(struct judged *judged);

/* Every device is of the cluster's kind, or some are of a slower and smaller one. */
static bool is_mixed;

static void mix_devices(void)
{
    struct accelerator *kinds = ARENA_PUSH(&arena, struct accelerator, 2);
    kinds[0] = cluster.accelerators[0];
    ck_assert(accelerator_read("A100-SXM4-40GB", (struct diag_place){0}, &arena, &kinds[1], &diag));
    cluster.accelerators = kinds;
    cluster.accelerator_count = 2;
    cluster.device_kind = ARENA_PUSH(&arena, uint32_t, cluster.device_count);
}

/* Every third is slow; the second half; the first. Half of what a plan uses is as good a border as
 * any. */
static void place_kinds(struct random *random)
{
    const uint32_t pattern = random_pop_below(random, 3), half = 1u << random_pop_below(random, 5);
    for (uint32_t i = 0; i < cluster.device_count; i++) {
        cluster.device_kind[i] = pattern == 0 ? i % 3 == 2 : (i >= half) == (pattern == 1);
    }
}

static void hold(law *holds)
{
    struct random random;
    random_init(&random, 5);
    const uint32_t plans = count_samples(PLAN_COUNT / MODEL_COUNT);
    for (size_t m = 0; m < MODEL_COUNT; m++) {
        begin(models[m]);
        if (is_mixed) {
            mix_devices();
        }
        struct runtime each[4];
        for (uint32_t i = 0; i < 4; i++) {
            ck_assert(runtime_read(runtimes[i], (struct diag_place){0}, &arena, &each[i], &diag));
        }
        for (uint32_t i = 0, here = 0; !is_enough(i, here, plans); i++) {
            const struct arena_mark mark = arena_find_mark(&arena);
            struct judged judged;
            runtime = each[here % 4];
            if (is_mixed) {
                place_kinds(&random);
            }
            if (throw_plan(&random, &judged)) {
                struct costmodel costmodel;
                price(&judged, &costmodel);
                holds(&judged);
                costmodel_release(&costmodel);
                here++;
            }
            arena_pop(&arena, mark);
        }
        arena_release(&arena);
    }
}

#define is_near(judged, a, b, most) \
    ck_assert_msg((a) - (b) <= (most) * (b) && (b) - (a) <= (most) * (b), "%s: %.15g, not %.15g", \
                  describe(judged), (a), (b))

static const struct sim_options nothing = {.granularity = SIM_SLOTS, .seed = 1};

/* Prices message by message: the same member, protocol and pipelining, or one as good. */
static void same_prices(struct judged *judged)
{
    struct sim sim;
    struct load load;
    sim_init(&sim, &problem, &judged->prices, &nothing, &arena);
    sim_build_load(&sim, judged->work, &judged->stream, judged->layers, &arena, &load);
    is_near(judged, load.send_s, judged->load.send_s, 1e-12);
    is_near(judged, load.tied_s, judged->load.tied_s, 1e-12);
    is_near(judged, load.norm_s, judged->load.norm_s, 1e-12);
    for (uint32_t stage = 0; load.sends_s != NULL && stage < judged->work->shape.stages; stage++) {
        is_near(judged, load.sends_s[stage], judged->load.sends_s[stage], 1e-12);
    }
    const uint32_t pieces = work_count_sites(judged->work) * judged->work->block_count;
    for (uint32_t i = 0; i < pieces; i++) {
        const struct piece *own = &load.pieces[i], *same = &judged->load.pieces[i];
        is_near(judged, own->forward_total_s, same->forward_total_s, 1e-9);
        is_near(judged, own->backward_total_s, same->backward_total_s, 1e-9);
        is_near(judged, own->weight_s, same->weight_s, 1e-9);
        is_near(judged, own->gather_s, same->gather_s, 1e-12);
        is_near(judged, own->sync_s, same->sync_s, 1e-12);
        is_near(judged, own->stale_s, same->stale_s, 1e-12);
        is_near(judged, own->update_s, same->update_s, 1e-9);
        is_near(judged, own->copy_s, same->copy_s, 1e-12);
        is_near(judged, own->update_copy_s, same->update_copy_s, 1e-9);
    }
}

static void same_law(struct judged *judged)
{
    same_prices(judged);
    for (uint32_t own = 0; own < 2; own++) {
        struct sim_result result;
        simulate(judged, &nothing, own == 1, &result);
        is_near(judged, result.estimate.step_s, judged->estimate.step_s, 1e-9);
        ck_assert_uint_eq(result.estimate.fits, judged->estimate.fits);
        for (uint32_t stage = 0; stage < result.estimate.stage_count; stage++) {
            ck_assert_double_eq(result.estimate.stages[stage].capacity_bytes,
                                judged->estimate.stages[stage].capacity_bytes);
            is_near(judged, result.estimate.stages[stage].peak_bytes,
                    judged->estimate.stages[stage].peak_bytes, 1e-12);
            is_near(judged, result.estimate.stages[stage].first_step_peak_bytes,
                    judged->estimate.stages[stage].first_step_peak_bytes, 1e-12);
            is_near(judged, result.estimate.stages[stage].host_bytes,
                    judged->estimate.stages[stage].host_bytes, 1e-12);
            is_near(judged, result.estimate.stages[stage].host_copy_s,
                    judged->estimate.stages[stage].host_copy_s, 1e-9);
        }
    }
}

START_TEST(nothing_on_is_the_cost_model)
{
    hold(same_law);
}
END_TEST

/* The same plan where all devices are of that kind. */
static double alone_step_s(const struct judged *judged, uint32_t kind)
{
    struct accelerator *const kinds = cluster.accelerators;
    struct accelerator same[2] = {kinds[kind], kinds[kind]};
    struct judged alone = *judged;
    struct costmodel costmodel;
    cluster.accelerators = same;
    price(&alone, &costmodel);
    costmodel_release(&costmodel);
    cluster.accelerators = kinds;
    return alone.estimate.step_s;
}

/* Usable bytes of the smallest device of a stage: which ones those are is told by counting the
 * ranks through. */
static double smallest_bytes(const struct judged *judged, uint32_t stage)
{
    uint32_t stride = 1, used = 1;
    for (uint32_t i = 0; i < judged->group.mesh_count; i++) {
        used *= judged->group.mesh[i].degree;
    }
    for (uint32_t i = 0; !judged->group.mesh[i].dim->cuts_chain && i < judged->group.mesh_count;
         i++) {
        stride *= judged->group.mesh[i].degree;
    }
    double least = 1e300;
    for (uint32_t rank = 0; rank < used; rank++) {
        const double own = (double)cluster_find_accelerator(&cluster, rank)->memory_bytes;
        const bool here = rank / stride % judged->work->shape.stages == stage;
        least = here && own < least ? own : least;
    }
    return least * (1.0 - setup.memory_headroom_frac);
}

/* Ranks wait for the slowest of their own stage, and what is on its smallest must fit. All on the
 * faster kind take no longer, all on the other no less; but a few kernels are slower on the kind
 * that is faster in the others. */
static void mixed_law(struct judged *judged)
{
    const double step_s = judged->estimate.step_s;
    same_law(judged);
    ck_assert_msg(step_s >= alone_step_s(judged, 0) * (1 - 3e-3),
                  "%s: %g s, all on the faster %g s", describe(judged), step_s,
                  alone_step_s(judged, 0));
    ck_assert_msg(step_s <= alone_step_s(judged, 1) * (1 + 3e-3),
                  "%s: %g s, all on the slower %g s", describe(judged), step_s,
                  alone_step_s(judged, 1));
    for (uint32_t stage = 0; stage < judged->work->shape.stages; stage++) {
        const double least = smallest_bytes(judged, stage);
        ck_assert_double_eq(judged->estimate.stages[stage].capacity_bytes, least);
    }
}

START_TEST(a_stage_goes_at_the_pace_of_its_slowest_kind)
{
    is_mixed = true;
    hold(mixed_law);
    is_mixed = false;
}
END_TEST

static bool splits_backward(const struct judged *judged)
{
    for (uint32_t i = 0; i < judged->stream.slot_counts[0]; i++) {
        if (judged->stream.slots[0][i].kind == SLOT_WEIGHT_GRADIENT) {
            return true;
        }
    }
    return false;
}

static bool has_policy(const struct judged *judged, const char *name)
{
    for (uint32_t i = 0; i < judged->plan.policy_count; i++) {
        if (strcmp(judged->uses[i].kind->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Op by op it is the same but for two things that the analytic judge simplifies: messages under
 * a whole block have only its input gradient to hide under when its backward is split; its
 * gradients are whole only behind the weight gradients. Both make the step longer. */
static void ops_law(struct judged *judged)
{
    struct sim_options options = nothing;
    options.granularity = SIM_OPS;
    struct sim_result result;
    const bool splits = splits_backward(judged);
    simulate(judged, &options, false, &result);
    ck_assert_double_ge(result.estimate.step_s, judged->estimate.step_s * (1 - 1e-9));
    is_near(judged, result.estimate.step_s, judged->estimate.step_s,
            splits && (has_policy(judged, "shard") || has_policy(judged, "offload")) ? 0.2 : 1e-9);
    if (has_policy(judged, "sync")) {
        return; /* rare sums cost a share of every step there, all of it when due here */
    }
    options.overlap = options.arrival = true;
    simulate(judged, &options, false, &result);
    ck_assert_double_ge(result.estimate.step_s, judged->estimate.step_s * (1 - 1e-9));
    is_near(judged, result.estimate.step_s, judged->estimate.step_s, splits ? 0.25 : 1e-9);
}

START_TEST(op_by_op_is_the_same)
{
    hold(ops_law);
}
END_TEST

/* Kernels of a stage run one after another whatever else happens; every second of every stage is
 * accounted for. */
static void full_law(struct judged *judged)
{
    const struct sim_options options = sim_full_options();
    struct sim sim;
    struct estimator estimator;
    struct sim_result result;
    simulate(judged, &options, false, &result);
    sim_init(&sim, &problem, &judged->prices, &options, &arena);
    sim_estimator(&sim, &estimator);
    ck_assert_double_ge(result.estimate.step_s, estimator.bound(&sim, &judged->load));
    for (uint32_t stage = 0; stage < result.estimate.stage_count; stage++) {
        const double *cost_s = result.estimate.stages[stage].cost_s;
        double sum_s = 0;
        for (uint32_t c = 0; c < COST_COUNT; c++) {
            ck_assert_double_ge(cost_s[c], 0);
            sum_s += cost_s[c];
        }
        is_near(judged, sum_s, result.estimate.step_s, 1e-9);
        const double *same_s = judged->estimate.stages[stage].cost_s;
        is_near(judged, cost_s[COST_COMPUTE], same_s[COST_COMPUTE], 1e-6);
        is_near(judged, cost_s[COST_RECOMPUTE], same_s[COST_RECOMPUTE], 1e-6);
        ck_assert_double_eq_tol(estimator.room_bytes(&sim, &judged->load, stage),
                                estimator_room_bytes(&result.estimate.stages[stage]), 1);
    }
    struct estimate again;
    estimator.combine(&sim, &judged->load, true, &arena, &again);
    ck_assert_double_eq(again.step_s, result.estimate.step_s);
}

START_TEST(never_below_the_work)
{
    hold(full_law);
}
END_TEST

TAP_MAIN("sim_steps", nothing_on_is_the_cost_model, a_stage_goes_at_the_pace_of_its_slowest_kind,
         op_by_op_is_the_same, never_below_the_work)
