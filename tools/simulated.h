/* The second judge beside the first. */
#ifndef SHARDPLAN_TOOLS_SIMULATED_H
#define SHARDPLAN_TOOLS_SIMULATED_H

#include "tools/report.h"

/* Adds the simulator's seconds per step to a verdict; false on a fault of the simulation. */
bool simulated_judge(struct command *command, const struct question *question, struct verdict *verdict);

#endif
