/* The search beside published methods on random clusters of two kinds of device: what the methods
 * answer is legal and fits, the search alone is seldom behind them by the simulator, and never with
 * their plans as seeds. $STRATEGY_CLUSTERS: how many, instead of CLUSTERS. */
#include <stdlib.h>

#include "planner/strategy.h"
#include "sim/sim.h"
#include "tests/cross/thrown_question.h"
#include "tests/samples.h"

#define CLUSTERS 20
#define NEAR_FRAC 0.01
#define STRATEGIES_MAX 16

static struct tallies {
    uint32_t clusters, answered[STRATEGIES_MAX], best[STRATEGIES_MAX];
    uint32_t near, behind, seeded_better;
    double worst_frac; /* the search alone behind the best method, by the simulator */
} tallies;

/* Nothing pinned; kinds of device differ. */
static bool throw_mixed(uint32_t index)
{
    random_init(&dice, 31000 + index);
    throw_question();
    struct planner_pins *pins = &question.options.pins;
    memset(pins, 0, sizeof *pins);
    for (uint32_t i = 0; i < dim_table_count; i++) {
        pins->variants[i] = PIN_ANY;
    }
    question.options.top = 1;
    return question.cluster.accelerator_count > 1;
}

static double simulate_s(struct plan *plan)
{
    struct sim sim;
    struct estimator estimator;
    struct estimate estimate;
    const struct sim_options options = sim_full_options();
    sim_init(&sim, &question.problem, &question.prices, &options, &arena);
    sim_estimator(&sim, &estimator);
    planner_complete(&question.problem, &estimator, plan, &arena, &estimate);
    return estimate.step_s;
}

/* Asks all; the least time by the simulator and by the cost model, 1e300: no plan. */
static void ask_all(struct strategy_answer *answers, double *simulated_s, double *step_s)
{
    uint32_t best = strategy_table_count;
    *simulated_s = *step_s = 1e300;
    for (uint32_t i = 0; i < strategy_table_count; i++) {
        struct strategy_answer *answer = &answers[i];
        strategy_ask(strategy_table[i], &question.problem, &question.estimator,
                     &question.options.pins, &arena, answer);
        if (answer->plan == NULL) {
            continue;
        }
        ck_assert_msg(plan_check(&question.problem, answer->plan, &diag), "%s: %s",
                      strategy_table[i]->name, diag.entries[0].message);
        ck_assert(answer->estimate.fits);
        const double own_s = simulate_s(answer->plan);
        tallies.answered[i]++;
        best = own_s < *simulated_s ? i : best;
        *simulated_s = own_s < *simulated_s ? own_s : *simulated_s;
        *step_s = answer->estimate.step_s < *step_s ? answer->estimate.step_s : *step_s;
    }
    if (best < strategy_table_count) {
        tallies.best[best]++;
    }
}

static bool search_with(const struct ranked_plan *seeds, uint32_t count, struct planner_result *out)
{
    struct planner_options options = question.options;
    options.seeds = seeds;
    options.seed_count = count;
    diag_init(&diag, &arena);
    return planner_search(&question.problem, &question.estimator, &options, &arena, out, &diag) &&
           out->count > 0;
}

static void compare(uint32_t index)
{
    struct strategy_answer answers[STRATEGIES_MAX];
    struct planner_result alone, seeded;
    struct ranked_plan *seeds;
    double simulated_s, step_s;
    diag_init(&diag, &arena);
    ask_all(answers, &simulated_s, &step_s);
    const uint32_t count = strategy_list_seeds(answers, strategy_table_count, &arena, &seeds);
    const bool found = search_with(NULL, 0, &alone);
    if (!found || count == 0) {
        return;
    }
    ck_assert(search_with(seeds, count, &seeded));
    const double alone_s = alone.plans[0].estimate.step_s,
                 seeded_s = seeded.plans[0].estimate.step_s;
    ck_assert_msg(seeded_s <= alone_s && seeded_s <= step_s,
                  "cluster %u: seeded %.17g s, alone %.17g s, methods %.17g s", index, seeded_s,
                  alone_s, step_s);
    const double behind_frac = simulate_s(alone.plans[0].plan) / simulated_s - 1.0;
    tallies.clusters++;
    tallies.near += behind_frac <= NEAR_FRAC;
    tallies.behind += behind_frac > NEAR_FRAC;
    tallies.seeded_better += seeded_s < alone_s * (1.0 - 1e-9);
    tallies.worst_frac = behind_frac > tallies.worst_frac ? behind_frac : tallies.worst_frac;
}

static uint32_t count_clusters(void)
{
    const char *text = getenv("STRATEGY_CLUSTERS");
    const unsigned long asked = text == NULL ? 0 : strtoul(text, NULL, 10);
    return asked > 0 && asked <= 100000 ? (uint32_t)asked : count_samples(CLUSTERS);
}

static void print_tallies(void)
{
    fprintf(stderr,
            "%u clusters of two kinds: the search alone is within %g %% of the best method in %u, "
            "%.1f %% behind at worst; methods as seeds improve it in %u\n",
            tallies.clusters, 100.0 * NEAR_FRAC, tallies.near, 100.0 * tallies.worst_frac,
            tallies.seeded_better);
    for (uint32_t i = 0; i < strategy_table_count; i++) {
        fprintf(stderr, "%-20s answers %4u, is the best method in %4u\n", strategy_table[i]->name,
                tallies.answered[i], tallies.best[i]);
    }
}

START_TEST(the_search_is_seldom_behind_a_published_method)
{
    begin();
    const uint32_t clusters = count_clusters();
    ck_assert_uint_le(strategy_table_count, STRATEGIES_MAX);
    for (uint32_t index = 0; tallies.clusters < clusters; index++) {
        ck_assert_uint_lt(index, 100 * clusters);
        arena_init(&arena);
        arena_init(&judged);
        if (throw_mixed(index)) {
            costmodel_init(&question.costmodel, &question.problem, &question.prices, &judged);
            costmodel_estimator(&question.costmodel, &question.estimator);
            compare(index);
            costmodel_release(&question.costmodel);
        }
        arena_release(&judged);
        arena_release(&arena);
    }
    print_tallies();
    ck_assert_uint_le(20 * tallies.behind, tallies.clusters + 19); /* 1 in 20 */
    arena_release(&fixed);
}
END_TEST

TAP_MAIN("strategies", the_search_is_seldom_behind_a_published_method)
