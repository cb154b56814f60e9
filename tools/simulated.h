/* The second judge: a plan as the simulator wants it. */
#ifndef SHARDPLAN_TOOLS_SIMULATED_H
#define SHARDPLAN_TOOLS_SIMULATED_H

#include "sim/sim.h"
#include "tools/report.h"

/* A plan ready to be run. Points into itself: not to be copied. */
struct simulated {
    struct sim sim;
    struct work *work;
    struct stream stream;
    struct load load;
};

/* The plan has its layers. */
bool simulated_build(struct command *command, const struct question *question,
                     const struct plan *plan,
                     const struct sim_options *options, struct simulated *out);
/* Adds the simulator's seconds per step to a verdict; false on a fault of the simulation. */
bool simulated_judge(struct command *command, const struct question *question,
                     struct verdict *verdict);

#endif
