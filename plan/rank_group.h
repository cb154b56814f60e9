/* Which devices form a group: the ranks of a nest of strides. */
#ifndef SHARDPLAN_PLAN_RANK_GROUP_H
#define SHARDPLAN_PLAN_RANK_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#define RANK_STEP_MAX 8

/* Innermost step first: rank i, written with digits d[s] below steps[s].size (the first varies
 * fastest), sits on device base + sum of d[s] * steps[s].stride. ranks is the product of the
 * sizes; no steps: one rank. */
struct rank_group {
    uint32_t ranks;
    uint32_t step_count;
    struct {
        uint32_t stride, size;
    } steps[RANK_STEP_MAX];
};

/* Beliefs: ranks is the product of the sizes, at least 1; the ranks sit on different devices. */
bool rank_group_check(const struct rank_group *group);
/* Device of the rank, rank < group->ranks. */
uint32_t rank_group_find_device(const struct rank_group *group, uint32_t base, uint32_t rank);

#endif
