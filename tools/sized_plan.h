/* The best plan of a question on a part of its cluster, or within less memory. */
#ifndef SHARDPLAN_TOOLS_SIZED_PLAN_H
#define SHARDPLAN_TOOLS_SIZED_PLAN_H

#include "tools/report.h"

#define SIZED_PLAN_MAX 64
#define SIZED_PLAN_ALL 16u

struct sized_plan {
    uint32_t domains, devices; /* outermost domains of the cluster, and their devices */
    bool fits;
    bool proven;                       /* the search was not cut short by --budget */
    double step_s, device_s, energy_j; /* of one step; energy at rated power, 0: not known */
    double peak_bytes;                 /* of the fullest device */
    const char *flags;                 /* of the plan */
};

/* Devices of several kinds, or links of a graph: no part of such a cluster is like the whole. */
bool sized_plan_has_parts(const struct cluster *cluster);
/* Sizes of whole outermost domains, largest first, with at most `spares` devices idle: every one
 * where that leaves SIZED_PLAN_ALL of them or fewer, else those that divide the domains; how many.
 * out holds SIZED_PLAN_MAX. */
uint32_t sized_plan_list(const struct cluster *cluster, uint32_t spares, struct sized_plan *out);
/* Parts of the cluster can be searched, and the energy they take is known where that is asked for;
 * else a fault says why `what` cannot be had. */
bool sized_plan_check(struct command *command, const struct cluster *cluster, bool energy,
                      const char *what);
/* Searches the size that out->domains says, within most_bytes per device (0: all that is usable).
 * A size on which no plan is legal is as one on which none fits. */
void sized_plan_find(struct command *command, const struct question *question,
                     const struct planner_options *options, double most_bytes,
                     struct sized_plan *out);

/* The key energy_j, null where it is not known; for people "0.0123". */
void sized_plan_push_energy(const struct sized_plan *plan, struct json_writer *out);
const char *sized_plan_kwh(struct command *command, const struct sized_plan *plan);

#endif
