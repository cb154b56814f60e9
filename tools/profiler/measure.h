/* Times of a machine's kernels as rows of a profile. */
#ifndef SHARDPLAN_TOOLS_PROFILER_MEASURE_H
#define SHARDPLAN_TOOLS_PROFILER_MEASURE_H

#include "prices/profile.h"
#include "tools/profiler/timed_machine.h"

struct measure_plan {
    struct profile_matmul *matmuls; /* what to measure; seconds are filled in */
    struct profile_stream *streams;
    uint32_t matmul_count, stream_count;
    uint32_t repeats;   /* of each, after a warm-up */
    double budget_s;    /* no new measurement starts after it; 0: none */
    bool minimum;       /* keep the shortest time (a noisy machine) instead of the median */
    void (*progress)(uint32_t done, uint32_t all); /* or NULL */
};

/* Appends to `out` what the plan asks and `out` does not hold yet; its lists have room for both.
 * True when nothing of the plan is left but what the machine cannot do. */
bool measure_run(const struct machine *machine, const struct measure_plan *plan,
                 struct arena *arena, struct profile *out);

#endif
