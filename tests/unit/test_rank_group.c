/* Ranks of a group sit on the devices that a nest of strides says. */
#include "plan/rank_group.h"

#include "tests/tap_main.h"

/* 2 pipeline stages of 3 replicas of 4 tensor ranks: the groups of each dim, and of two
 * together. */
static const struct {
    struct rank_group group;
    uint32_t base;
    uint32_t devices[12];
} rows[] = {
    {{.ranks = 1}, 7, {7}},
    {{.ranks = 4, .step_count = 1, .steps = {{1, 4, 1}}}, 8, {8, 9, 10, 11}},
    {{.ranks = 3, .step_count = 1, .steps = {{4, 3, 1}}}, 2, {2, 6, 10}},
    {{.ranks = 2, .step_count = 1, .steps = {{12, 2, 1}}}, 5, {5, 17}},
    {{.ranks = 8, .step_count = 2, .steps = {{1, 4, 1}, {12, 2, 1}}},
     4,
     {4, 5, 6, 7, 16, 17, 18, 19}},
    {{.ranks = 6, .step_count = 2, .steps = {{12, 2, 1}, {4, 3, 1}}}, 1, {1, 13, 5, 17, 9, 21}},
    {{.ranks = 4, .step_count = 3, .steps = {{1, 1, 1}, {3, 4, 1}, {99, 1, 1}}}, 0, {0, 3, 6, 9}},
    {{.ranks = 12, .step_count = 3, .steps = {{1, 2, 1}, {10, 2, 1}, {100, 3, 1}}},
     0,
     {0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211}},
};

START_TEST(test_ranks_sit_where_the_strides_say)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(rank_group_check(&rows[i].group), "row %zu", i);
        for (uint32_t rank = 0; rank < rows[i].group.ranks; rank++) {
            const uint32_t device = rank_group_find_device(&rows[i].group, rows[i].base, rank);
            ck_assert_msg(device == rows[i].devices[rank], "row %zu: rank %u sits on %u, not on %u",
                          i, rank, device, rows[i].devices[rank]);
        }
    }
}
END_TEST

static const struct {
    const char *why;
    struct rank_group group;
} faults[] = {
    {"no ranks", {.ranks = 0}},
    {"more ranks than digits", {.ranks = 5, .step_count = 1, .steps = {{1, 4, 1}}}},
    {"a size of nothing", {.ranks = 0, .step_count = 1, .steps = {{1, 0, 1}}}},
    {"a stride of nothing", {.ranks = 4, .step_count = 1, .steps = {{0, 4, 1}}}},
    {"two ranks on device 2", {.ranks = 6, .step_count = 2, .steps = {{1, 3, 1}, {2, 2, 1}}}},
    {"equal strides", {.ranks = 4, .step_count = 2, .steps = {{4, 2, 1}, {4, 2, 1}}}},
    {"too many ranks",
     {.ranks = 0, .step_count = 2, .steps = {{1, 1u << 16, 1}, {1u << 16, 1u << 16, 1}}}},
    {"too many steps", {.ranks = 1, .step_count = RANK_STEP_MAX + 1}},
};

START_TEST(test_groups_that_make_no_sense_fail_the_check)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        ck_assert_msg(!rank_group_check(&faults[i].group), "%s", faults[i].why);
    }
}
END_TEST

/* Counted device by device. */
START_TEST(test_domains_are_those_that_ranks_lie_in)
{
    static const struct rank_group groups[] = {
        {.ranks = 8, .step_count = 1, .steps = {{1, 8, 1}}},
        {.ranks = 32, .step_count = 1, .steps = {{1, 32, 1}}},
        {.ranks = 4, .step_count = 1, .steps = {{2, 4, 1}}},
        {.ranks = 8, .step_count = 1, .steps = {{4, 8, 1}}},
        {.ranks = 4, .step_count = 1, .steps = {{64, 4, 1}}},
        {.ranks = 16, .step_count = 2, .steps = {{1, 2, 1}, {8, 8, 1}}},
        {.ranks = 1, .step_count = 0},
    };
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        for (uint32_t domain = 1; domain <= 64; domain *= 2) {
            bool seen[256] = {false};
            uint32_t count = 0;
            for (uint32_t rank = 0; rank < groups[i].ranks; rank++) {
                const uint32_t at = rank_group_find_device(&groups[i], 0, rank) / domain;
                count += seen[at] ? 0 : 1;
                seen[at] = true;
            }
            ck_assert_uint_eq(rank_group_count_domains(&groups[i], domain), count);
        }
    }
}
END_TEST

TAP_MAIN("rank_group", test_ranks_sit_where_the_strides_say,
         test_domains_are_those_that_ranks_lie_in, test_groups_that_make_no_sense_fail_the_check)
