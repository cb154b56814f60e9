/* Names written as ranges: which texts are ranges, what they stand for. */
#include "topologies/id_range.h"

#include <stdbool.h>

#include "tests/tap_main.h"

static const struct {
    const char *text;
    uint64_t count; /* 0: refused */
    const char *first, *last;
} rows[] = {
    {"a", 1, "a", "a"},
    {"a]b", 1, "a]b", "a]b"},
    {"a[0-3]", 4, "a0", "a3"},
    {"a[9-10]b", 2, "a9b", "a10b"},
    {"[5-5]", 1, "5", "5"},
    {"n[00-15]", 16, "n00", "n15"},
    {"n[08-12]", 5, "n08", "n12"},
    {"n[0-1]g[0-7]", 16, "n0g0", "n1g7"},
    {"a[0-99999]", 100000, "a0", "a99999"},
    {"[0-999999999]", 1000000000, "0", "999999999"},
    {"[0-999999999][0-999999999][0-999999999]", UINT64_MAX, NULL, NULL},
    {"", 0, NULL, NULL},
    {"a[", 0, NULL, NULL},
    {"a[]", 0, NULL, NULL},
    {"a[3]", 0, NULL, NULL},
    {"a[1-]", 0, NULL, NULL},
    {"a[-1]", 0, NULL, NULL},
    {"a[1-2", 0, NULL, NULL},
    {"a[2-1]", 0, NULL, NULL},
    {"a[0x1-2]", 0, NULL, NULL},
    {"a[0-1000000000]", 0, NULL, NULL},
    {"[0-1][0-1][0-1][0-1][0-1]", 0, NULL, NULL},
};

START_TEST(range_stands_for_its_names)
{
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arena arena;
        struct id_range range = {.count = 0};
        const bool good = id_range_read(rows[i].text, &range);
        ck_assert_msg(good == (rows[i].count > 0), "%s", rows[i].text);
        if (!good) {
            continue;
        }
        ck_assert_uint_eq(range.count, rows[i].count);
        if (rows[i].first == NULL) {
            continue;
        }
        arena_init(&arena);
        ck_assert_str_eq(id_range_build(&range, 0, &arena), rows[i].first);
        ck_assert_str_eq(id_range_build(&range, range.count - 1, &arena), rows[i].last);
        arena_release(&arena);
    }
}
END_TEST

START_TEST(last_bracket_counts_fastest)
{
    struct arena arena;
    struct id_range range;
    arena_init(&arena);
    ck_assert(id_range_read("n[0-1]g[0-2]", &range));
    ck_assert_str_eq(id_range_build(&range, 1, &arena), "n0g1");
    ck_assert_str_eq(id_range_build(&range, 3, &arena), "n1g0");
    arena_release(&arena);
}
END_TEST

static const struct {
    const char *id;
    bool numbered;
    size_t prefix_length;
    uint32_t number;
} numbers[] = {
    {"a0", true, 1, 0},   {"a10", true, 1, 10},         {"7", true, 0, 7},
    {"a", false, 0, 0},   {"a01", false, 0, 0},         {"a00", false, 0, 0},
    {"", false, 0, 0},    {"a[1", false, 0, 0},         {"a999999999", true, 1, 999999999},
    {"n1g2", true, 3, 2}, {"a1000000000", false, 0, 0},
};

START_TEST(number_at_the_end_is_found)
{
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        size_t prefix_length = 0;
        uint32_t number = 0;
        const bool found = id_range_find_number(numbers[i].id, &prefix_length, &number);
        ck_assert_msg(found == numbers[i].numbered, "%s", numbers[i].id);
        if (found) {
            ck_assert_uint_eq(prefix_length, numbers[i].prefix_length);
            ck_assert_uint_eq(number, numbers[i].number);
        }
    }
}
END_TEST

TAP_MAIN("id_range", range_stands_for_its_names, last_bracket_counts_fastest,
         number_at_the_end_is_found)
