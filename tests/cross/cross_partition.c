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

/* --- the first layers of a stage are computed again ------------------------------------------- */

struct chain {
    double plain_s[LAYERS_MAX], again_s[LAYERS_MAX]; /* again: what that takes more */
    double room;
    uint32_t stages, layers, recomputed;
};

static double range_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct chain *chain = state;
    double seconds = stage == 0 ? 0.3 : 0.0;
    for (uint32_t layer = first; layer < first + count; layer++) {
        seconds += chain->plain_s[layer];
    }
    return seconds;
}

static double again_s(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct chain *chain = state;
    double seconds = range_s(state, stage, first, count);
    for (uint32_t i = 0; i < count && i < chain->recomputed; i++) {
        seconds += chain->again_s[first + i];
    }
    return seconds;
}

static bool has_room(void *state, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct chain *chain = state;
    return first + count * (stage + 1.0) <= chain->room;
}

/* Of the stages from this one on, over every way to cut the chain. */
static double least_bottleneck_s(struct chain *chain, uint32_t stage, uint32_t first)
{
    if (stage == chain->stages) {
        return first == chain->layers ? 0.0 : 1e300;
    }
    double least_s = 1e300;
    for (uint32_t count = 1; first + count <= chain->layers; count++) {
        if (has_room(chain, stage, first, count)) {
            const double own_s = again_s(chain, stage, first, count);
            const double rest_s = least_bottleneck_s(chain, stage + 1, first + count);
            const double both_s = own_s > rest_s ? own_s : rest_s;
            least_s = both_s < least_s ? both_s : least_s;
        }
    }
    return least_s;
}

static void throw_chain(struct chain *chain)
{
    chain->stages = 1 + random_pop_below(&dice, STAGES_MAX);
    chain->layers = chain->stages + random_pop_below(&dice, LAYERS_MAX + 1 - chain->stages);
    chain->recomputed = random_pop_below(&dice, 4);
    chain->room = 4.0 + random_pop_below(&dice, 40);
    for (uint32_t layer = 0; layer < chain->layers; layer++) {
        const bool is_small = random_pop_below(&dice, 2) == 0;
        chain->plain_s[layer] = (is_small ? 0.05 : 1.0) * (0.5 + random_pop_unit(&dice));
        chain->again_s[layer] = chain->plain_s[layer] * 0.5 * random_pop_unit(&dice);
    }
}

START_TEST(more_layers_may_take_less)
{
    uint32_t shorter = 0, found = 0;
    arena_init(&arena);
    random_init(&dice, 43);
    for (uint32_t i = 0; i < 4 * INSTANCES; i++) {
        struct chain chain;
        uint32_t counts[STAGES_MAX];
        double bottleneck_s;
        throw_chain(&chain);
        const double floor_s = range_s(&chain, 0, 0, chain.layers) / chain.stages * 0.99;
        const struct partition_problem problem = {.stages = chain.stages,
                                                  .layers = chain.layers,
                                                  .least = 1,
                                                  .floor_s = i % 2 == 0 ? 0.0 : floor_s,
                                                  .stage_s = again_s,
                                                  .range_s = range_s,
                                                  .fits = has_room,
                                                  .state = &chain};
        const double expected_s = least_bottleneck_s(&chain, 0, 0);
        const bool any = partition_find(&problem, &arena, counts, &bottleneck_s);
        ck_assert_msg(any == (expected_s < 1e300), "chain %u: one way finds a partition", i);
        ck_assert_msg(!any || bottleneck_s == expected_s, "chain %u: %.17g s, at best %.17g s", i,
                      bottleneck_s, expected_s);
        shorter += chain.layers > 3 && again_s(&chain, 1, 1, 2) > again_s(&chain, 1, 0, 3);
        found += any;
    }
    ck_assert_uint_gt(shorter, 50);
    ck_assert_uint_gt(found, INSTANCES);
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

TAP_MAIN("partition", the_exact_partition_is_the_programmes, more_layers_may_take_less,
         a_limit_is_a_gap)
