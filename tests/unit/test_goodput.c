/* The formula against failures that are drawn, the number of steps against all others. */
#include "costmodel/goodput.h"

#include "base/logarithm.h"
#include "base/random.h"
#include "tests/tap_main.h"

#define LN_2 0.6931471805599453

static struct random dice;

static double throw_failure_s(double mean_s)
{
    return -mean_s * LN_2 * logarithm_of(1.0 - random_pop_unit(&dice));
}

/* Seconds until a stretch is done, failure by failure. */
static double run_stretch_s(const struct goodput_request *request, uint64_t steps)
{
    const double work_s = (double)steps * request->step_s + request->save_s;
    double spent_s = 0;
    for (;;) {
        double failure_s = throw_failure_s(request->between_failures_s);
        if (failure_s >= work_s) {
            return spent_s + work_s;
        }
        spent_s += failure_s;
        while ((failure_s = throw_failure_s(request->between_failures_s)) < request->restart_s) {
            spent_s += failure_s;
        }
        spent_s += request->restart_s;
    }
}

static const struct {
    struct goodput_request request;
    uint64_t steps;
} runs[] = {
    {{.step_s = 10, .between_failures_s = 3600, .save_s = 30, .restart_s = 300}, 40},
    {{.step_s = 10, .between_failures_s = 3600, .save_s = 0, .restart_s = 0}, 100},
    {{.step_s = 1, .between_failures_s = 100, .save_s = 20, .restart_s = 50}, 60},
    {{.step_s = 30, .between_failures_s = 1e6, .save_s = 60, .restart_s = 600}, 300},
};

START_TEST(failures_take_what_the_formula_says)
{
    random_init(&dice, 7);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const uint32_t stretches = 8000;
        double sum_s = 0;
        for (uint32_t k = 0; k < stretches; k++) {
            sum_s += run_stretch_s(&runs[i].request, runs[i].steps);
        }
        const double expected_s = goodput_find_s(&runs[i].request, runs[i].steps);
        ck_assert_double_eq_tol(sum_s / stretches, expected_s, 0.03 * expected_s);
    }
}
END_TEST

START_TEST(no_other_number_of_steps_loses_less)
{
    random_init(&dice, 8);
    for (uint32_t i = 0; i < 40; i++) {
        const struct goodput_request request = {.step_s = 1 + 20 * random_pop_unit(&dice),
                                                .between_failures_s =
                                                    200 + 20000 * random_pop_unit(&dice),
                                                .save_s = 100 * random_pop_unit(&dice),
                                                .restart_s = 500 * random_pop_unit(&dice)};
        struct goodput found;
        goodput_find(&request, &found);
        const double best_s = goodput_find_s(&request, found.steps) / (double)found.steps;
        for (uint64_t steps = 1; steps < 1000; steps++) {
            const double other_s = goodput_find_s(&request, steps) / (double)steps;
            ck_assert_msg(other_s >= best_s * (1 - 1e-12), "%llu steps lose less than %llu",
                          (unsigned long long)steps, (unsigned long long)found.steps);
        }
        ck_assert_double_eq_tol(found.useful_frac + found.save_frac + found.lost_frac, 1, 1e-12);
    }
}
END_TEST

/* Short saves and rare failures: Young's rule. */
START_TEST(the_limit_is_youngs_rule)
{
    const struct goodput_request request = {
        .step_s = 1, .between_failures_s = 1e7, .save_s = 5, .restart_s = 60};
    struct goodput found;
    goodput_find(&request, &found);
    ck_assert_double_eq_tol((double)found.steps, found.young_s, 0.01 * found.young_s);
    ck_assert_double_eq_tol(found.young_s, 10000, 1e-6);
}
END_TEST

START_TEST(extremes_end)
{
    struct goodput found;
    goodput_find(&(struct goodput_request){1e9, 1e-3, 0, 0}, &found);
    ck_assert_double_eq(found.useful_frac, 0);
    ck_assert_double_eq(found.lost_frac, 1);
    goodput_find(&(struct goodput_request){1e-12, 1e12, 0, 0}, &found);
    ck_assert_double_ge(found.useful_frac, 1 - 1e-9);
    goodput_find(&(struct goodput_request){1, 1e12, 0, 1e15}, &found);
    ck_assert_double_eq(found.useful_frac, 0);
}
END_TEST

TAP_MAIN("goodput", failures_take_what_the_formula_says, no_other_number_of_steps_loses_less,
         the_limit_is_youngs_rule, extremes_end)
