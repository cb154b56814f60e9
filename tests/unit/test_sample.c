/* Order statistics: exact at the ends and in the middle, ordered in between. */
#include "base/random.h"
#include "base/sample.h"
#include "tests/tap_main.h"

#define COUNT_MAX 40u

START_TEST(quantiles_of_few)
{
    double values[] = {3.0, -1.0, 7.0, 2.0};
    ck_assert_double_eq(sample_quantile(values, 0, 0.5), 0.0);
    ck_assert_double_eq(sample_quantile(values, 1, 0.9), 3.0);
    sample_sort(values, 4);
    ck_assert_double_eq(sample_quantile(values, 4, 0.0), -1.0);
    ck_assert_double_eq(sample_quantile(values, 4, 0.5), 2.5);
    ck_assert_double_eq(sample_quantile(values, 3, 0.5), 2.0);
    ck_assert_double_eq(sample_quantile(values, 4, 1.0), 7.0);
}
END_TEST

/* Any list, equal values among them: sorted it has the same values, as counted one by one, and a
 * quantile has the share asked for below it, to one value. */
START_TEST(quantiles_part_the_values)
{
    struct random random;
    random_init(&random, 11);
    for (uint32_t round = 0; round < 500; round++) {
        const uint32_t count = 1 + random_pop_below(&random, COUNT_MAX);
        uint32_t times[20] = {0};
        double values[COUNT_MAX];
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t value = random_pop_below(&random, 20);
            times[value]++;
            values[i] = value;
        }
        sample_sort(values, count);
        for (uint32_t value = 0, at = 0; value < 20; value++) {
            for (uint32_t i = 0; i < times[value]; i++) {
                ck_assert_double_eq(values[at++], value);
            }
        }
        const double frac = random_pop_unit(&random);
        const double quantile = sample_quantile(values, count, frac);
        uint32_t below = 0, not_above = 0;
        for (uint32_t i = 0; i < count; i++) {
            below += values[i] < quantile;
            not_above += values[i] <= quantile;
        }
        ck_assert(below <= frac * (count - 1) + 1.0);
        ck_assert(not_above >= frac * (count - 1));
    }
}
END_TEST

TAP_MAIN("sample", quantiles_of_few, quantiles_part_the_values)
