/* Which devices form a group: the ranks of a nest of strides. */
#ifndef SHARDPLAN_PLAN_RANK_GROUP_H
#define SHARDPLAN_PLAN_RANK_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#define RANK_STEP_MAX 8

/* Devices in the order of their ranks. */
struct rank_map {
    uint32_t count;
    const uint32_t *devices;    /* [rank] */
    unsigned long long digest;
};

/* Innermost step first: rank i, written with digits d[s] below steps[s].size (the first varies
 * fastest), is place base + sum of d[s] * steps[s].stride of its plan, which is the device of that
 * number where there is no map. ranks is the product of the sizes; no steps: one rank.
 * A step may pass over ranks of its mesh dim: it stands on every skip-th of them, from the first;
 * 0 counts as 1. */
struct rank_group {
    uint32_t ranks;
    uint32_t step_count;
    struct {
        uint32_t stride, size, skip;
    } steps[RANK_STEP_MAX];
    const struct rank_map *map; /* NULL: places are devices */
};

/* Beliefs: ranks is the product of the sizes, at least 1; the ranks sit on different devices. */
bool rank_group_check(const struct rank_group *group);
/* Of its steps and its map. */
unsigned long long rank_group_digest(unsigned long long seed, const struct rank_group *group);
/* The group of that nest which holds the place: its base, and which rank stands there. False: none
 * holds it. */
bool rank_group_find(const struct rank_group *group, uint32_t place, uint32_t *base,
                     uint32_t *rank);
/* Its base alone; one holds the place. */
uint32_t rank_group_find_base(const struct rank_group *group, uint32_t place);
/* Whether a group of the nest begins on the place. */
bool rank_group_begins(const struct rank_group *group, uint32_t place);
/* Device of the rank, rank < group->ranks. */
uint32_t rank_group_find_device(const struct rank_group *group, uint32_t base, uint32_t rank);

/* How many domains of so many consecutive devices the ranks lie in, the first at a domain's
 * start. */
uint32_t rank_group_count_domains(const struct rank_group *group, uint32_t domain_devices);

/* Groups of one nest that do the same at the same time, on the places of a plan. */
struct rank_crowd {
    uint32_t places;            /* 0: a group is alone */
    uint32_t stride, stages;    /* of places; groups that begin on one stage stand for each other,
                                 * all groups where stages is 1 */
};

/* Do the groups from both bases stand for each other? */
bool rank_crowd_is_like(const struct rank_crowd *crowd, uint32_t base, uint32_t other);

#endif
