/* Groups with equal digests cross the same levels between the same ranks. */
#include "base/random.h"
#include "plan/rank_nest.h"
#include "tests/tap_main.h"

#define ROUNDS 400000
#define RANKS_MAX 64

static struct random dice;

static uint32_t pick_divisor(uint32_t value)
{
    uint32_t divisor;
    do {
        divisor = 1 + random_pop_below(&dice, value);
    } while (value % divisor != 0);
    return divisor;
}

/* One or two levels; mostly switches. */
static void throw_cluster(struct cluster *cluster)
{
    *cluster = (struct cluster){.device_count = 1};
    cluster->level_count = 1 + random_pop_below(&dice, 2);
    for (uint32_t level = 0; level < cluster->level_count; level++) {
        const uint32_t degree = 1 + random_pop_below(&dice, 6);
        cluster->levels[level].degree = degree;
        cluster->levels[level].kind =
            random_pop_below(&dice, 20) > 0 ? LEVEL_SWITCH : LEVEL_FULLMESH;
        cluster->device_count *= degree;
    }
}

/* Some digits of a mesh over all devices, or any strides at all. */
static void throw_group(const struct cluster *cluster, struct rank_group *group)
{
    const bool mesh = random_pop_below(&dice, 4) > 0;
    *group = (struct rank_group){.ranks = 1};
    uint32_t left = cluster->device_count, stride = 1;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t size = mesh ? pick_divisor(left) : 1 + random_pop_below(&dice, 3);
        if (random_pop_below(&dice, 2) == 0) {
            group->steps[group->step_count].stride =
                mesh ? stride : stride * (1 + random_pop_below(&dice, 2));
            group->steps[group->step_count].size = size;
            stride = group->steps[group->step_count++].stride;
            group->ranks *= size;
        }
        left /= mesh ? size : 1;
        stride *= size;
    }
}

static bool is_inside(const struct cluster *cluster, const struct rank_group *group)
{
    return group->ranks <= RANKS_MAX && rank_group_check(group) &&
           rank_group_find_device(group, 0, group->ranks - 1) < cluster->device_count;
}

static void expect_alike(const struct cluster *cluster, const struct rank_group *a,
                         const struct rank_group *b)
{
    ck_assert_uint_eq(a->ranks, b->ranks);
    for (uint32_t i = 0; i < a->ranks; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const uint32_t level = cluster_find_level(cluster, rank_group_find_device(a, 0, i),
                                                      rank_group_find_device(a, 0, k));
            ck_assert_uint_eq(level, cluster_find_level(cluster, rank_group_find_device(b, 0, i),
                                                        rank_group_find_device(b, 0, k)));
        }
    }
}

static bool same_devices(const struct rank_group *a, const struct rank_group *b)
{
    bool same = a->ranks == b->ranks;
    for (uint32_t i = 0; same && i < a->ranks; i++) {
        same = rank_group_find_device(a, 0, i) == rank_group_find_device(b, 0, i);
    }
    return same;
}

START_TEST(equal_digests_cross_equal_levels)
{
    random_init(&dice, 5);
    uint32_t shared = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct cluster cluster;
        struct rank_group a, b;
        throw_cluster(&cluster);
        throw_group(&cluster, &a);
        throw_group(&cluster, &b);
        if (!is_inside(&cluster, &a) || !is_inside(&cluster, &b) ||
            rank_nest_digest(&cluster, &a, 0) != rank_nest_digest(&cluster, &b, 0)) {
            continue;
        }
        expect_alike(&cluster, &a, &b);
        shared += a.ranks > 2 && !same_devices(&a, &b);
    }
    ck_assert_uint_gt(shared, 300); /* it is worth something */
}
END_TEST

/* Of each step alone, multiplied. False: no step, or one that does not nest or lies inside
 * another. */
static bool multiply_steps(const struct cluster *cluster, const struct rank_group *group,
                           uint64_t product[LEVEL_MAX])
{
    uint64_t reach = 1;
    bool good = group->step_count > 0;
    for (uint32_t i = 0; i < group->step_count && good; i++) {
        struct rank_group step = {.ranks = group->steps[i].size, .step_count = 1};
        uint64_t own[LEVEL_MAX];
        step.steps[0] = group->steps[i];
        good = rank_nest_find(cluster, &step, own) && group->steps[i].stride >= reach;
        for (uint32_t level = 0; good && level < cluster->level_count; level++) {
            product[level] *= own[level];
        }
        const uint64_t end = (uint64_t)group->steps[i].stride * group->steps[i].size;
        reach = end > reach ? end : reach;
    }
    return good;
}

START_TEST(steps_cross_what_their_group_crosses)
{
    random_init(&dice, 11);
    uint32_t nested = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct cluster cluster;
        struct rank_group group;
        uint64_t whole[LEVEL_MAX], product[LEVEL_MAX] = {1, 1};
        throw_cluster(&cluster);
        throw_group(&cluster, &group);
        if (is_inside(&cluster, &group) && multiply_steps(&cluster, &group, product)) {
            ck_assert(rank_nest_find(&cluster, &group, whole));
            ck_assert_mem_eq(whole, product, cluster.level_count * sizeof whole[0]);
            nested += group.step_count > 1;
        }
    }
    ck_assert_uint_gt(nested, 300);
}
END_TEST

START_TEST(strides_within_a_domain_are_one)
{
    struct cluster cluster = {.level_count = 2, .device_count = 64};
    cluster.levels[0] = (struct level){.kind = LEVEL_SWITCH, .degree = 8};
    cluster.levels[1] = (struct level){.kind = LEVEL_SWITCH, .degree = 8};
    const struct rank_group near = {4, 1, {{1, 4, 1}}, NULL}, spread = {4, 1, {{2, 4, 1}}, NULL};
    const struct rank_group far = {4, 1, {{8, 4, 1}}, NULL},
                            nested = {4, 2, {{1, 2, 1}, {2, 2, 1}}, NULL};
    const unsigned long long digest = rank_nest_digest(&cluster, &near, 0);
    ck_assert(rank_nest_digest(&cluster, &spread, 0) == digest);
    ck_assert(rank_nest_digest(&cluster, &nested, 0) == digest);
    ck_assert(rank_nest_digest(&cluster, &far, 0) != digest);
    ck_assert(rank_nest_digest(&cluster, &near, 4) != digest);
    cluster.levels[0].kind = LEVEL_RING;
    ck_assert(rank_nest_digest(&cluster, &near, 0) != rank_nest_digest(&cluster, &spread, 0));
}
END_TEST

TAP_MAIN("rank_nest", equal_digests_cross_equal_levels, steps_cross_what_their_group_crosses,
         strides_within_a_domain_are_one)
