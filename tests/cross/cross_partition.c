/* The exact partition against the same question as one integer programme. */
#include <string.h>

#include "base/random.h"
#include "planner/partition.h"
#include "planner/partition_ilp.h"
#include "tests/tap_main.h"

#define INSTANCES 600
#define STAGES_MAX 4
#define LAYERS_MAX 10

static struct arena arena;
static struct random dice;

/* Seconds of a layer are the same on every stage, so the sum over the stages is the same for
 * every partition, or of like layers the stages differ in speed; its bytes are not: stages keep it
 * for more or fewer micro-batches. */
struct instance {
    struct partition_ilp ilp;
    double layer_s[STAGES_MAX * LAYERS_MAX], layer_bytes[STAGES_MAX * LAYERS_MAX];
    double lags[STAGES_MAX], extra_s[STAGES_MAX], extra_bytes[STAGES_MAX], room_bytes[STAGES_MAX];
    bool alike, differ; /* layers; stages in speed */
};

static void throw_layers(struct instance *instance)
{
    struct partition_ilp *ilp = &instance->ilp;
    for (uint32_t stage = 0; stage < ilp->stages; stage++) {
        instance->lags[stage] = instance->differ ? 1.0 + random_pop_below(&dice, 3) : 1.0;
    }
    const double like_s = 0.1 + random_pop_unit(&dice),
                 like_bytes = 1e9 * (0.1 + random_pop_unit(&dice));
    for (uint32_t layer = 0; layer < ilp->layers; layer++) {
        const double seconds = instance->alike ? like_s : 0.05 + random_pop_unit(&dice);
        const double bytes = instance->alike ? like_bytes : 1e9 * (0.1 + random_pop_unit(&dice));
        for (uint32_t stage = 0; stage < ilp->stages; stage++) {
            instance->layer_s[stage * ilp->layers + layer] = seconds * instance->lags[stage];
            instance->layer_bytes[stage * ilp->layers + layer] = bytes * (ilp->stages - stage);
        }
    }
}

static void throw_instance(struct instance *instance)
{
    *instance = (struct instance){.alike = random_pop_below(&dice, 3) > 0};
    instance->differ = instance->alike && random_pop_below(&dice, 2) == 0;
    struct partition_ilp *ilp = &instance->ilp;
    ilp->stages = 1 + random_pop_below(&dice, STAGES_MAX);
    ilp->least = random_pop_below(&dice, 3);
    ilp->layers = ilp->stages * ilp->least +
                  random_pop_below(&dice, LAYERS_MAX + 1 - ilp->stages * ilp->least);
    ilp->layers += ilp->layers == 0 ? 1 : 0;
    ilp->micro_batches = 1 + random_pop_below(&dice, 12);
    ilp->layer_s = instance->layer_s;
    ilp->layer_bytes = instance->layer_bytes;
    ilp->extra_s = instance->extra_s;
    ilp->extra_bytes = instance->extra_bytes;
    ilp->room_bytes = instance->room_bytes;
    throw_layers(instance);
    const bool tight = random_pop_below(&dice, 3) > 0;
    for (uint32_t stage = 0; stage < ilp->stages; stage++) {
        instance->extra_s[stage] = random_pop_below(&dice, 2) * 2.0 * random_pop_unit(&dice);
        instance->extra_bytes[stage] = random_pop_below(&dice, 2) * 1e9 * random_pop_unit(&dice);
        instance->room_bytes[stage] = tight ? 1e9 * (1.0 + 12.0 * random_pop_unit(&dice)) : 1e12;
    }
}

static const char *kind_of(const struct instance *instance)
{
    return instance->differ ? "alike, stages not" : instance->alike ? "alike" : "unlike";
}

static double stage_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct instance *instance = state;
    double seconds = instance->extra_s[stage];
    for (uint32_t layer = first; layer < first + count; layer++) {
        seconds += instance->layer_s[stage * instance->ilp.layers + layer];
    }
    return seconds;
}

static bool fits(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct instance *instance = state;
    double bytes = instance->extra_bytes[stage];
    for (uint32_t layer = first; layer < first + count; layer++) {
        bytes += instance->layer_bytes[stage * instance->ilp.layers + layer];
    }
    return bytes <= instance->room_bytes[stage];
}

static double step_s(struct instance *instance, const uint32_t *counts)
{
    double sum_s = 0.0, most_s = 0.0;
    for (uint32_t stage = 0, first = 0; stage < instance->ilp.stages; first += counts[stage++]) {
        const double seconds = stage_s(instance, stage, first, counts[stage]);
        ck_assert(counts[stage] >= instance->ilp.least &&
                  fits(instance, stage, first, counts[stage]));
        sum_s += seconds;
        most_s = seconds > most_s ? seconds : most_s;
    }
    return sum_s + (instance->ilp.micro_batches - 1.0) * most_s;
}

/* No partition's bottleneck is below the mean. */
static double floor_of(struct instance *instance)
{
    double sum_s = 0.0;
    for (uint32_t stage = 0; stage < instance->ilp.stages; stage++) {
        sum_s += stage_s(instance, stage, 0, stage == 0 ? instance->ilp.layers : 0);
    }
    if (instance->differ) {
        return 0.0; /* where the layers go changes it */
    }
    return sum_s / instance->ilp.stages * (1.0 - 1e-9);
}

static bool find(struct instance *instance, double floor_s, double ceiling_s, uint32_t *counts,
                 double *bottleneck_s)
{
    const struct partition_problem problem = {.stages = instance->ilp.stages,
                                              .layers = instance->ilp.layers,
                                              .least = instance->ilp.least,
                                              .floor_s = floor_s,
                                              .weighs = instance->differ,
                                              .weight = instance->ilp.micro_batches - 1.0,
                                              .ceiling_s = ceiling_s,
                                              .alike = instance->alike,
                                              .stage_s = stage_s,
                                              .fits = fits,
                                              .state = instance};
    return partition_find(&problem, &arena, counts, bottleneck_s);
}

/* A floor below every bottleneck and a ceiling above it cost time, nothing else; under a lower
 * ceiling there is none. */
static void expect_limits(struct instance *instance, const uint32_t *counts, double bottleneck_s)
{
    const double ceilings_s[] = {0.0, bottleneck_s, 1.3 * bottleneck_s};
    uint32_t others[STAGES_MAX];
    double other_s;
    for (uint32_t i = 0; i < 6; i++) {
        const double floor_s = i % 2 == 0 ? 0.0 : floor_of(instance);
        ck_assert(find(instance, floor_s, ceilings_s[i / 2], others, &other_s));
        ck_assert(memcmp(others, counts, instance->ilp.stages * sizeof *counts) == 0);
    }
    ck_assert(bottleneck_s == 0.0 ||
              !find(instance, floor_of(instance), bottleneck_s * (1.0 - 1e-9), others, &other_s));
}

START_TEST(the_exact_partition_is_the_programmes)
{
    uint32_t found = 0, none = 0;
    arena_init(&arena);
    random_init(&dice, 41);
    for (uint32_t i = 0; i < INSTANCES; i++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        static struct instance instance;
        uint32_t counts[STAGES_MAX], solved[STAGES_MAX];
        struct partition_answer answer;
        double bottleneck_s;
        throw_instance(&instance);
        partition_ilp_find(&instance.ilp, solved, &arena, &answer);
        ck_assert(answer.proven);
        ck_assert_msg(find(&instance, floor_of(&instance), 0.0, counts, &bottleneck_s) ==
                          answer.found,
                      "instance %u (%u layers, %u stages, %s): the programme finds %s", i,
                      instance.ilp.layers, instance.ilp.stages, kind_of(&instance),
                      answer.found ? "a partition" : "none");
        if (answer.found) {
            const double own_s = step_s(&instance, counts);
            ck_assert_msg(
                own_s <= answer.step_s * (1.0 + 1e-9) && answer.step_s <= own_s * (1.0 + 1e-9),
                "instance %u (%u layers, %u stages, %s): %.17g s, the programme %.17g s", i,
                instance.ilp.layers, instance.ilp.stages, kind_of(&instance), own_s, answer.step_s);
            if (!instance.alike) {
                expect_limits(&instance, counts, bottleneck_s);
            }
            found++;
        } else {
            none++;
        }
        arena_pop(&arena, mark);
    }
    fprintf(stderr, "%u instances with a partition, %u without\n", found, none);
    ck_assert_uint_gt(found, 300);
    ck_assert_uint_gt(none, 20);
    arena_release(&arena);
}
END_TEST

/* A limit on nodes is told, with a gap that holds. */
START_TEST(a_limit_is_a_gap)
{
    uint32_t limited = 0;
    arena_init(&arena);
    random_init(&dice, 42);
    for (uint32_t i = 0; i < 200; i++) {
        const struct arena_mark mark = arena_find_mark(&arena);
        static struct instance instance;
        uint32_t counts[STAGES_MAX];
        struct partition_answer best, cut;
        throw_instance(&instance);
        partition_ilp_find(&instance.ilp, counts, &arena, &best);
        instance.ilp.node_limit = 1 + random_pop_below(&dice, 20);
        partition_ilp_find(&instance.ilp, counts, &arena, &cut);
        limited += !cut.proven;
        ck_assert(!cut.proven || cut.found == best.found);
        ck_assert(!cut.found || best.found);
        if (cut.found) {
            ck_assert(cut.step_s * (1.0 - cut.gap_frac) <= best.step_s * (1.0 + 1e-9));
        }
        arena_pop(&arena, mark);
    }
    ck_assert_uint_gt(limited, 5);
    arena_release(&arena);
}
END_TEST

TAP_MAIN("partition", the_exact_partition_is_the_programmes, a_limit_is_a_gap)
