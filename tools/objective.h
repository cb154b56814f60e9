/* What a plan should be best at: time, or what a token costs in device hours or in energy. */
#ifndef SHARDPLAN_TOOLS_OBJECTIVE_H
#define SHARDPLAN_TOOLS_OBJECTIVE_H

#include "tools/sized_plan.h"

enum objective { OBJECTIVE_TIME, OBJECTIVE_COST, OBJECTIVE_ENERGY, OBJECTIVE_COUNT };

struct objective_choice {
    enum objective objective;
    struct sized_plan sizes[SIZED_PLAN_MAX]; /* largest first */
    uint32_t count, best;
};

extern const struct flag objective_flags[];

/* On a given number of devices the fastest plan is the cheapest, so what is left to choose is that
 * number: whole outermost domains that divide theirs, no more idle devices than --spares allows.
 * Searches each and makes *question that of the best. False: a fault is reported. */
bool objective_choose(struct command *command, struct question *question,
                      const struct planner_options *options, struct objective_choice *out);
/* Nothing for the objective time. */
void objective_push(const struct objective_choice *choice, struct json_writer *out);
void objective_dump(struct command *command, const struct objective_choice *choice);

#endif
