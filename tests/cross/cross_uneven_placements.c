/* Like layers on stages of unlike speed: the two placements that a search judges against every
 * placement, each run as 1F1B. */
#include "base/random.h"
#include "planner/partition.h"
#include "sim/schedule_run.h"
#include "tests/samples.h"
#include "tests/tap_main.h"

#define INSTANCES 300
#define STAGES_MAX 4
#define LAYERS_MAX 9

static struct arena arena;
static struct diag diag;
static struct random dice;

struct instance {
    uint32_t stages, layers, micro_batches, room[STAGES_MAX]; /* room: most layers */
    double lags[STAGES_MAX], first_s, last_s;
};

static void throw_instance(struct instance *instance)
{
    static const double lags[] = {1, 1, 2.2, 3};
    static const uint32_t micro_batches[] = {2, 4, 8, 16};
    instance->stages = 2 + random_pop_below(&dice, STAGES_MAX - 1);
    instance->layers =
        instance->stages + random_pop_below(&dice, LAYERS_MAX + 1 - instance->stages);
    instance->micro_batches = micro_batches[random_pop_below(&dice, 4)];
    instance->first_s = random_pop_below(&dice, 2) * random_pop_unit(&dice);
    instance->last_s = random_pop_below(&dice, 2) * 1.5 * random_pop_unit(&dice);
    for (uint32_t stage = 0; stage < instance->stages; stage++) {
        instance->lags[stage] = lags[random_pop_below(&dice, 4)];
        instance->room[stage] = instance->layers - random_pop_below(&dice, instance->layers / 2);
    }
}

static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct instance *instance = state;
    const double extra = (stage == 0 ? instance->first_s : 0) +
                         (stage + 1 == instance->stages ? instance->last_s : 0);
    (void)first;
    return (count + extra) * instance->lags[stage];
}

static bool fits(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct instance *instance = state;
    (void)first;
    return count <= instance->room[stage];
}

static double run_s(struct instance *instance, const uint32_t *counts)
{
    const struct arena_mark mark = arena_find_mark(&arena);
    double forward_s[STAGES_MAX], backward_s[STAGES_MAX];
    struct stream stream;
    struct schedule_run_result result;
    for (uint32_t stage = 0; stage < instance->stages; stage++) {
        forward_s[stage] = stage_s(instance, stage, 0, counts[stage]) / 3;
        backward_s[stage] = 2 * forward_s[stage];
    }
    const struct schedule_run_times times = {.forward_s = forward_s, .backward_s = backward_s};
    const struct schedule_shape shape = {instance->stages, 1, instance->micro_batches};
    ck_assert(stream_build(schedule_find("1f1b"), &shape, &arena, &stream, &diag));
    ck_assert(schedule_run(&stream, &times, &arena, &result, &diag));
    const double makespan_s = result.makespan_s;
    arena_pop(&arena, mark);
    return makespan_s;
}

/* Least over all placements of the layers left on the stages from `stage` on; 1e300: none. */
static double try_all(struct instance *instance, uint32_t stage, uint32_t left, uint32_t *counts)
{
    if (stage + 1 == instance->stages) {
        counts[stage] = left;
        return left >= 1 && fits(instance, stage, 0, left) ? run_s(instance, counts) : 1e300;
    }
    double least_s = 1e300;
    for (uint32_t count = 1; count < left && fits(instance, stage, 0, count); count++) {
        counts[stage] = count;
        const double own_s = try_all(instance, stage + 1, left - count, counts);
        least_s = own_s < least_s ? own_s : least_s;
    }
    return least_s;
}

/* Seconds of the better of the two. */
static double choose_s(struct instance *instance)
{
    const struct partition_problem problem = {.stages = instance->stages,
                                              .layers = instance->layers,
                                              .least = 1,
                                              .alike = true,
                                              .weighs = true,
                                              .weight = instance->micro_batches - 1.0,
                                              .stage_s = stage_s,
                                              .fits = fits,
                                              .state = instance};
    uint32_t counts[STAGES_MAX];
    double slowest_s;
    if (!partition_find(&problem, &arena, counts, &slowest_s)) {
        return 1e300;
    }
    const double first_s = run_s(instance, counts);
    if (!partition_climb(&problem, counts)) {
        return first_s;
    }
    uint32_t sum = 0;
    for (uint32_t stage = 0; stage < instance->stages; stage++) {
        ck_assert(counts[stage] >= 1 && fits(instance, stage, 0, counts[stage]));
        sum += counts[stage];
    }
    ck_assert_uint_eq(sum, instance->layers);
    const double other_s = run_s(instance, counts);
    return other_s < first_s ? other_s : first_s;
}

START_TEST(two_placements_are_nearly_the_best)
{
    uint32_t found = 0, near = 0;
    double most_frac = 0;
    random_init(&dice, 17);
    const uint32_t instances = count_samples(INSTANCES);
    for (uint32_t i = 0; i < instances; i++) {
        struct instance instance;
        uint32_t counts[STAGES_MAX];
        arena_init(&arena);
        diag_init(&diag, &arena);
        throw_instance(&instance);
        const double best_s = try_all(&instance, 0, instance.layers, counts);
        const double own_s = choose_s(&instance);
        ck_assert((best_s < 1e300) == (own_s < 1e300));
        if (best_s < 1e300) {
            const double over_frac = own_s / best_s - 1;
            ck_assert_double_ge(over_frac, -1e-12);
            found++;
            near += over_frac <= 1e-3;
            most_frac = over_frac > most_frac ? over_frac : most_frac;
        }
        arena_release(&arena);
    }
    fprintf(stderr, "%u of %u within 0.1 %%, the others within %.1f %%\n", near, found,
            100 * most_frac);
    ck_assert_uint_gt(found, instances / 2);
    ck_assert_uint_ge(10 * near, 9 * found);
    ck_assert_double_le(most_frac, 0.10);
}
END_TEST

TAP_MAIN("uneven_placements", two_placements_are_nearly_the_best)
