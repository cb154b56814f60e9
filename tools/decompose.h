/* Why the two judges differ about a plan. */
#ifndef SHARDPLAN_TOOLS_DECOMPOSE_H
#define SHARDPLAN_TOOLS_DECOMPOSE_H

#include "tools/simulated.h"

#define DECOMPOSE_ROWS 7

/* Step times from the cost model's to the simulator's, one effect switched on after another;
 * each row's difference to the one before is what that effect does. */
struct decomposition {
    const char *keys[DECOMPOSE_ROWS]; /* "cost_model", "slots", "kernels", "rounding", ... */
    const char *words[DECOMPOSE_ROWS];
    double step_s[DECOMPOSE_ROWS];
};

/* The plan has its layers. False on a fault of the simulation. */
bool decompose_find(struct command *command, const struct question *question, struct plan *plan,
                    struct decomposition *out);
void decompose_push_json(const struct decomposition *parts, struct json_writer *out);
void decompose_dump(struct command *command, const struct decomposition *parts);

#endif
