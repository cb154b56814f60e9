/* Arithmetic on doubles: roots square to what they are of, counts round up. */
#include "base/number.h"

#include "base/random.h"
#include "tests/tap_main.h"

START_TEST(root_squares_to_its_value)
{
    struct random dice;
    random_init(&dice, 7);
    ck_assert_double_eq(number_root(0.0), 0.0);
    ck_assert_double_eq(number_root(1.0), 1.0);
    ck_assert_double_eq(number_root(1e12), 1e6);
    ck_assert_double_eq(number_root(144.0), 12.0);
    for (uint32_t i = 0; i < 10000; i++) {
        double value = random_pop_unit(&dice) + 1e-12;
        for (uint32_t k = random_pop_below(&dice, 12); k > 0; k--) {
            value *= 10.0;
        }
        const double root = number_root(value);
        ck_assert_double_eq_tol(root * root / value, 1.0, 5e-16);
    }
}
END_TEST

START_TEST(begun_times_count)
{
    for (uint64_t by = 1; by < 12; by++) {
        for (uint64_t value = 0; value < 60; value++) {
            const uint64_t times = number_ceil_div(value, by);
            ck_assert(times * by >= value && times * by < value + by);
        }
    }
}
END_TEST

START_TEST(the_larger_and_the_smaller)
{
    ck_assert_double_eq(number_larger(-2.0, 1.0), 1.0);
    ck_assert_double_eq(number_larger(1.0, -2.0), 1.0);
    ck_assert_double_eq(number_smaller(-2.0, 1.0), -2.0);
    ck_assert_double_eq(number_smaller(1.0, -2.0), -2.0);
}
END_TEST

TAP_MAIN("number", root_squares_to_its_value, begun_times_count, the_larger_and_the_smaller)
