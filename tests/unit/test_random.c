/* The numbers are those of the published generators, spread evenly. */
#include "base/random.h"

#include "tests/tap_main.h"

START_TEST(matches_the_reference)
{
    /* xoshiro256** from state {1, 2, 3, 4}: first outputs of the authors' C code, as listed in
     * the tests of the rand_xoshiro crate. */
    static const uint64_t expected[] = {
        11520u,
        0u,
        1509978240u,
        1215971899390074240u,
        1216172134540287360u,
        607988272756665600u,
        16172922978634559625u,
        8476171486693032832u,
        10595114339597558777u,
        2904607092377533576u,
    };
    struct random random = {{1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        ck_assert_uint_eq(random_pop_u64(&random), expected[i]);
    }
}
END_TEST

START_TEST(seed_goes_through_splitmix64)
{
    /* splitmix64 from 1234567, as listed on Rosetta Code and in the authors' code. */
    static const uint64_t expected[] = {
        6457827717110365317u,
        3203168211198807973u,
        9817491932198370423u,
        4593380528125082431u,
    };
    struct random random;
    random_init(&random, 1234567);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(random.state[i], expected[i]);
    }
}
END_TEST

START_TEST(unit_lies_in_range_with_even_mean)
{
    struct random random;
    random_init(&random, 0);
    double sum = 0, squares = 0;
    const int count = 100000;
    for (int i = 0; i < count; i++) {
        const double unit = random_pop_unit(&random);
        ck_assert(unit >= 0 && unit < 1);
        sum += unit;
        squares += unit * unit;
    }
    /* Five standard deviations: 1 / sqrt(12 n) and sqrt(4 / 45 / n). */
    ck_assert_double_eq_tol(sum / count, 0.5, 5 * 0.000913);
    ck_assert_double_eq_tol(squares / count, 1.0 / 3, 5 * 0.000943);
}
END_TEST

START_TEST(below_is_even)
{
    static const uint32_t bounds[] = {1, 2, 3, 7, 10, 48};
    struct random random;
    random_init(&random, 99);
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        uint32_t counts[48] = {0};
        const uint32_t each = 10000;
        for (uint32_t j = 0; j < each * bounds[i]; j++) {
            const uint32_t drawn = random_pop_below(&random, bounds[i]);
            ck_assert_uint_lt(drawn, bounds[i]);
            counts[drawn]++;
        }
        for (uint32_t j = 0; j < bounds[i]; j++) {
            ck_assert_uint_ge(counts[j], each - 500); /* five standard deviations: 100 each */
            ck_assert_uint_le(counts[j], each + 500);
        }
    }
    /* Without rejection a bound of 3 * 2^30 would favour one third of the numbers. */
    uint32_t low = 0;
    for (uint32_t j = 0; j < 30000; j++) {
        low += random_pop_below(&random, 3u << 30) % 3 == 0;
    }
    ck_assert_uint_ge(low, 10000 - 410);
    ck_assert_uint_le(low, 10000 + 410);
}
END_TEST

TAP_MAIN("random", matches_the_reference, seed_goes_through_splitmix64,
         unit_lies_in_range_with_even_mean, below_is_even)
