/* From a plan that somebody has: which change gains most. */
#ifndef SHARDPLAN_TOOLS_ADVISE_H
#define SHARDPLAN_TOOLS_ADVISE_H

#include "tools/report.h"

#define ADVICE_MAX 8

/* One more change, on top of those before it. */
struct advice_step {
    const char *change; /* "--tp 4, --zero 1" */
    struct plan *plan;
    double step_s;
    double gain_frac; /* of the step of the plan that was given */
};

struct advice {
    struct plan *plan; /* as given, layers filled in */
    struct estimate estimate;
    struct advice_step steps[ADVICE_MAX];
    uint32_t count;
};

/* Frees one choice of the plan at a time, all others as they are, and takes the best that a search
 * finds; then again from there, as long as that gains. Where no single choice gains, pairs are
 * tried. `options` of the whole search: its pins are not looked at. False: a fault is reported. */
bool advise_find(struct command *command, const struct question *question, struct plan *plan,
                 const struct planner_options *options, struct advice *out);
/* `best_s`: of the whole search, 0 where nothing fits. */
void advise_push(struct command *command, const struct question *question,
                 const struct advice *advice, struct json_writer *out);
void advise_dump(struct command *command, const struct question *question,
                 const struct advice *advice, double best_s);

#endif
