/* A line on a terminal about work that lasts. */
#ifndef SHARDPLAN_TOOLS_PROGRESS_H
#define SHARDPLAN_TOOLS_PROGRESS_H

#include <stdbool.h>

#include "planner/planner.h"

struct progress {
    bool shows;            /* stderr is a terminal */
    double start_s, last_s; /* last: of the line that stands there, 0 when there is none */
};

/* Nothing is shown before a second has passed, nor where stderr is no terminal. */
void progress_init(struct progress *progress);
/* For planner_options.progress. */
void progress_push(void *progress, const struct planner_progress *at);
/* Wipes the line. */
void progress_release(struct progress *progress);

#endif
