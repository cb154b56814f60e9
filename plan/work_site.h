/* Which kinds of device each pipeline stage stands on. */
#ifndef SHARDPLAN_PLAN_WORK_SITE_H
#define SHARDPLAN_PLAN_WORK_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/rank_group.h"

struct plan;
struct problem;
struct work;

/* Stages on the same kinds of device: what they do takes the same time there. */
struct work_site {
    uint32_t stage;             /* the first of them */
    uint32_t kind_count;
    const uint32_t *kinds;      /* indices into the cluster's accelerators, ascending */
    const uint32_t *places;     /* [kind] first place of that stage whose device is of the kind */
};

struct work_sites {
    uint32_t count;             /* 0: one kind of device in all, nothing differs */
    const struct work_site *items;
    const uint32_t *of_stage;   /* NULL: all are on the first */
    const struct rank_map *map; /* NULL: places are devices */
    uint32_t stride;            /* places from a stage to the next */
};

/* Of a legal, costable plan, in its first group: slices and coordinates say which device a place
 * is. */
void work_sites_build(const struct problem *problem, const struct plan *plan, struct arena *arena,
                      struct work_sites *out);

/* Each kind of the cluster's devices as a site of its own, whatever the stages: for what hangs on
 * the kind alone. Messages are
 * those of the group with place 0. */
void work_sites_split(struct work *work, struct arena *arena);

/* Base of the pair that stands for the messages from a stage to the next, where the former's
 * i-th kind of device sends. */
uint32_t work_find_pair(const struct work *work, uint32_t stage, uint32_t i);
/* Usable memory of the smallest device that the site has. */
double work_capacity_bytes(const struct work *work, uint32_t site);
/* What a device of the site may hold in its host's memory: the least of them. */
double work_host_bytes(const struct work *work, uint32_t site);

#endif
