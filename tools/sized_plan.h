/* The best plan of a question on a part of its cluster, or within less memory. */
#ifndef SHARDPLAN_TOOLS_SIZED_PLAN_H
#define SHARDPLAN_TOOLS_SIZED_PLAN_H

#include "tools/report.h"

#define SIZED_PLAN_MAX 64

struct sized_plan {
    uint32_t domains, devices; /* outermost domains of the cluster, and their devices */
    bool fits;
    double step_s, device_s, energy_j; /* of one step; energy at rated power */
    double peak_bytes;                 /* of the fullest device */
    const char *flags;                 /* of the plan */
};

/* Devices of several kinds, or links of a graph: no part of such a cluster is like the whole. */
bool sized_plan_has_parts(const struct cluster *cluster);
/* Sizes of whole outermost domains that divide theirs, largest first, with at most `spares` devices
 * idle; how many. out holds SIZED_PLAN_MAX. */
uint32_t sized_plan_list(const struct cluster *cluster, uint32_t spares, struct sized_plan *out);
/* Searches the size that out->domains says, within most_bytes per device (0: all that is usable).
 * A size on which no plan is legal is as one on which none fits. */
void sized_plan_find(struct command *command, const struct question *question,
                     const struct planner_options *options, double most_bytes,
                     struct sized_plan *out);

#endif
