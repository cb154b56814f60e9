/* How well devices are joined to one another, and in which order to line them up so that the weak
 * joints are few: SPP's recursive minimum cut (arXiv 2204.10562). */
#ifndef SHARDPLAN_PLANNER_DEVICE_WEB_H
#define SHARDPLAN_PLANNER_DEVICE_WEB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "topologies/cluster.h"

struct device_web {
    uint32_t count;
    double *bandwidth_Bps;      /* [a * count + b], alike both ways */
};

/* Between blocks of `unit` of the listed devices, first to first, the slower way. */
void device_web_build(const struct cluster *cluster, const uint32_t *devices, uint32_t count,
                      uint32_t unit, struct arena *arena, struct device_web *out);
/* The least bandwidth between two halves of these members (at least two), by Stoer and Wagner
 * (J. ACM 44, 1997); side: per member, on the side of the last one merged. */
double device_web_find_cut(const struct device_web *web, const uint32_t *members, uint32_t count,
                           struct arena *arena, bool *side);
/* All devices, halves of the minimum cut side by side, each half so ordered too; of the ways to
 * turn the halves that whose joint is the widest. order: room for count. */
void device_web_sort(const struct device_web *web, struct arena *arena, uint32_t *order);

#endif
