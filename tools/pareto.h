/* Which plans are best at one thing for what they cost in another. */
#ifndef SHARDPLAN_TOOLS_PARETO_H
#define SHARDPLAN_TOOLS_PARETO_H

#include "tools/sized_plan.h"

#define PARETO_POINT_MAX 512

enum pareto_axis { PARETO_TIME, PARETO_COST, PARETO_ENERGY, PARETO_MEMORY, PARETO_AXIS_COUNT };

/* Each point: no plan looked at is at least as good in both axes and better in one. */
struct pareto {
    enum pareto_axis axes[2];
    struct sized_plan points[PARETO_POINT_MAX]; /* by the first axis, least first */
    uint32_t count;
};

extern const struct flag pareto_flags[];

/* The exact front of the sizes that sized_plan_list names, all
 * of them where cost or energy is asked for; where memory is, in steps of 5 %. False: a fault
 * is reported. */
bool pareto_find(struct command *command, const struct question *question,
                 const struct planner_options *options, struct pareto *out);
void pareto_push(const struct pareto *pareto, struct json_writer *out);
void pareto_dump(struct command *command, const struct pareto *pareto);

#endif
