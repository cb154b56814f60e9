/* Smallest bottleneck by raising a threshold through the finite set of stage times. */
#include "planner/partition.h"

#include <assert.h>
#include <stddef.h>

static bool fits(const struct partition_problem *problem, uint32_t stage, uint32_t first, uint32_t count)
{
    return problem->fits == NULL || problem->fits(problem->state, stage, first, count);
}

/* Most layers ending before `end` that the stage takes within the threshold, at most `most`; 0 if not even `least`. */
static uint32_t take(const struct partition_problem *problem, uint32_t stage, uint32_t end, uint32_t most,
                     double threshold_s)
{
    uint32_t low = 0, high = most;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        const bool good = problem->stage_s(problem->state, stage, end - middle, middle) <= threshold_s &&
                          fits(problem, stage, end - middle, middle);
        low = good ? middle : low;
        high = good ? high : middle - 1;
    }
    return low >= problem->least ? low : 0;
}

/* Every stage from the last takes as many as it can while the ones before it keep their least. Taking more never hurts
 * the rest: a shorter prefix is easier. Gives the number of layers left over; raises *next_s to the smallest threshold at
 * which some stage could take one more. */
static uint32_t fill(const struct partition_problem *problem, double threshold_s, uint32_t *counts, double *next_s)
{
    uint32_t end = problem->layers;
    *next_s = -1.0;
    for (uint32_t left = problem->stages; left > 0; left--) {
        const uint32_t stage = left - 1;
        const uint32_t reserved = stage * problem->least;
        const uint32_t most = end > reserved ? end - reserved : 0;
        counts[stage] = take(problem, stage, end, most, threshold_s);
        const uint32_t more = counts[stage] == 0 ? problem->least : counts[stage] + 1;
        if (more <= most && more <= end && fits(problem, stage, end - more, more)) {
            const double seconds = problem->stage_s(problem->state, stage, end - more, more);
            *next_s = *next_s < 0.0 || seconds < *next_s ? seconds : *next_s;
        }
        if (counts[stage] == 0 && problem->least > 0) {
            return end;     /* this stage cannot have its least */
        }
        end -= counts[stage];
    }
    return end;
}

bool partition_find(const struct partition_problem *problem, uint32_t *counts, double *bottleneck_s)
{
    assert(problem->stages > 0);
    if ((uint64_t)problem->stages * problem->least > problem->layers) {
        return false;
    }
    double threshold_s = problem->floor_s, next_s = 0.0;
    while (fill(problem, threshold_s, counts, &next_s) > 0) {
        if (next_s < 0.0) {
            return false;       /* memory alone stops every stage */
        }
        assert(next_s > threshold_s);
        threshold_s = next_s;
    }
    double slowest = 0.0;
    for (uint32_t stage = 0, first = 0; stage < problem->stages; first += counts[stage++]) {
        const double seconds = problem->stage_s(problem->state, stage, first, counts[stage]);
        slowest = seconds > slowest ? seconds : slowest;
    }
    *bottleneck_s = slowest;
    return true;
}
