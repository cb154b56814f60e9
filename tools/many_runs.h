/* Runs of the simulator with other draws, spread over the cores. */
#ifndef SHARDPLAN_TOOLS_MANY_RUNS_H
#define SHARDPLAN_TOOLS_MANY_RUNS_H

#include "tools/command.h"
#include "tools/simulated.h"

#define MANY_RUNS_MAX 100000u
#define MANY_RUNS_JOBS_MAX 1024u

#define MANY_RUNS_FLAGS                                                                            \
    {.name = "--runs",                                                                             \
     .kind = FLAG_COUNT,                                                                           \
     .value = "N",                                                                                 \
     .help = "runs with other draws of the jitter, for percentiles",                               \
     .fallback = "1",                                                                              \
     .min = 1,                                                                                     \
     .max = MANY_RUNS_MAX},                                                                        \
    {                                                                                              \
        .name = "--jobs", .kind = FLAG_COUNT, .value = "N",                                        \
        .help = "processes that share the runs; the answer does not depend on it",                 \
        .absent = "one per core", .min = 1, .max = MANY_RUNS_JOBS_MAX                              \
    }

/* Step times of `runs` runs with seeds one apart, ascending, in the command's arena. False on a
 * fault of a run. */
bool many_runs_find(struct command *command, struct simulated *simulated, uint32_t runs,
                    double **step_s);

#endif
