/* Smallest bottleneck: like layers by raising a threshold through the finite set of stage times,
 * unlike ones by dynamic programming over the ends of prefixes. */
#include "planner/partition.h"

#include <assert.h>
#include <stddef.h>

static bool fits(const struct partition_problem *problem, uint32_t stage, uint32_t first,
                 uint32_t count)
{
    return problem->fits == NULL || problem->fits(problem->state, stage, first, count);
}

static bool takes(const struct partition_problem *problem, uint32_t stage, uint32_t end,
                  uint32_t count, double threshold_s)
{
    return problem->stage_s(problem->state, stage, end - count, count) <= threshold_s &&
           fits(problem, stage, end - count, count);
}

/* Most layers ending before `end` that the stage takes within the threshold, at most `most`; 0
 * if not even `least`. The steps grow from a guess, since stages take about as many as each
 * other. */
static uint32_t take(const struct partition_problem *problem, uint32_t stage, uint32_t end,
                     uint32_t most, uint32_t guess, double threshold_s)
{
    uint32_t low = 0, high = most;
    uint32_t middle = guess < most ? guess : most;
    for (uint32_t step = 1; low < high; step *= 2) {
        const bool good = middle == 0 || takes(problem, stage, end, middle, threshold_s);
        low = good ? middle : low;
        high = good ? high : middle - 1;
        const uint32_t next = good ? middle + step : middle > step ? middle - step : 0;
        middle = next > low && next <= high ? next : low + (high - low + 1) / 2;
    }
    return low >= problem->least ? low : 0;
}

/* Every stage from the last takes as many as it can while the ones before it keep their least.
 * Taking more never hurts the rest: a shorter prefix of like layers is easier. Gives the number
 * of layers left over; raises *next_s to the smallest threshold at which some stage could take
 * one more. */
static uint32_t fill(const struct partition_problem *problem, double threshold_s, uint32_t *counts,
                     double *next_s)
{
    uint32_t end = problem->layers;
    *next_s = -1.0;
    for (uint32_t left = problem->stages; left > 0; left--) {
        const uint32_t stage = left - 1;
        const uint32_t reserved = stage * problem->least;
        const uint32_t most = end > reserved ? end - reserved : 0;
        const uint32_t guess = left == problem->stages ? problem->layers / left : counts[stage + 1];
        counts[stage] = take(problem, stage, end, most, guess, threshold_s);
        const uint32_t more = counts[stage] < problem->least ? problem->least : counts[stage] + 1;
        if (more <= most && more <= end && fits(problem, stage, end - more, more)) {
            const double seconds = problem->stage_s(problem->state, stage, end - more, more);
            *next_s = *next_s < 0.0 || seconds < *next_s ? seconds : *next_s;
        }
        if (counts[stage] == 0 && problem->least > 0) {
            return end; /* this stage cannot have its least */
        }
        end -= counts[stage];
    }
    return end;
}

static double slowest_s(const struct partition_problem *problem, const uint32_t *counts)
{
    double slowest = 0.0;
    for (uint32_t stage = 0, first = 0; stage < problem->stages; first += counts[stage++]) {
        const double seconds = problem->stage_s(problem->state, stage, first, counts[stage]);
        slowest = seconds > slowest ? seconds : slowest;
    }
    return slowest;
}

static bool find_alike(const struct partition_problem *problem, uint32_t *counts)
{
    double threshold_s = problem->floor_s, next_s = 0.0;
    while (fill(problem, threshold_s, counts, &next_s) > 0) {
        if (next_s < 0.0) {
            return false; /* memory alone stops every stage */
        }
        assert(next_s > threshold_s);
        threshold_s = next_s;
    }
    return true;
}

/* --- unlike layers: a shorter prefix may be harder, since what a stage holds moves ------------ */

#define NO_WAY_S 1e300

/* Bottleneck of the stages before `stage` when it takes the last `count` of `end` layers. */
static double before_s(const struct partition_problem *problem, const double *best_s,
                       uint32_t stage, uint32_t end, uint32_t count)
{
    if (stage == 0) {
        return count == end ? 0.0 : NO_WAY_S;
    }
    return best_s[(stage - 1) * (problem->layers + 1) + end - count];
}

/* [stage * (layers + 1) + end]: smallest bottleneck of stages 0 .. stage over layers 0 .. end-1.
 * *guess, a count tried first, then the one chosen: what the stages before need is looked up, and
 * only where that is less than the best so far is the stage itself asked. */
static double prefix_s(const struct partition_problem *problem, const double *best_s,
                       uint32_t stage, uint32_t end, uint32_t *guess)
{
    double least_s = NO_WAY_S;
    if (*guess >= problem->least && *guess <= end && fits(problem, stage, end - *guess, *guess)) {
        const double own_s = problem->stage_s(problem->state, stage, end - *guess, *guess);
        const double rest_s = before_s(problem, best_s, stage, end, *guess);
        least_s = own_s > rest_s ? own_s : rest_s;
    }
    for (uint32_t count = problem->least; count <= end; count++) {
        const double rest_s = before_s(problem, best_s, stage, end, count);
        if (rest_s >= least_s) {
            continue;
        }
        const double own_s = problem->stage_s(problem->state, stage, end - count, count);
        if (own_s >= least_s) {
            break; /* more layers take longer still */
        }
        if (fits(problem, stage, end - count, count)) {
            least_s = own_s > rest_s ? own_s : rest_s;
            *guess = count;
        }
    }
    return least_s;
}

/* From the last stage, as many layers as leave a prefix within the bottleneck. */
static void take_back(const struct partition_problem *problem, const double *best_s,
                      double bottleneck_s, uint32_t *counts)
{
    uint32_t end = problem->layers;
    for (uint32_t left = problem->stages; left > 0; left--) {
        const uint32_t stage = left - 1;
        uint32_t count = end;
        while (problem->stage_s(problem->state, stage, end - count, count) > bottleneck_s ||
               (stage > 0 ? best_s[(stage - 1) * (problem->layers + 1) + end - count] > bottleneck_s
                          : count != end) ||
               !fits(problem, stage, end - count, count)) {
            assert(count > problem->least);
            count--;
        }
        counts[stage] = count;
        end -= count;
    }
}

static bool find_unlike(const struct partition_problem *problem, struct arena *arena,
                        uint32_t *counts)
{
    const struct arena_mark mark = arena_find_mark(arena);
    double *best_s = ARENA_PUSH(arena, double, (size_t)problem->stages *(problem->layers + 1));
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        uint32_t guess = 0;
        for (uint32_t end = 0; end <= problem->layers; end++) {
            best_s[stage * (problem->layers + 1) + end] =
                prefix_s(problem, best_s, stage, end, &guess);
        }
    }
    const double bottleneck_s = best_s[problem->stages * (problem->layers + 1) - 1];
    if (bottleneck_s < NO_WAY_S) {
        take_back(problem, best_s, bottleneck_s, counts);
    }
    arena_pop(arena, mark);
    return bottleneck_s < NO_WAY_S;
}

bool partition_find(const struct partition_problem *problem, struct arena *arena, uint32_t *counts,
                    double *bottleneck_s)
{
    assert(problem->stages > 0);
    if ((uint64_t)problem->stages * problem->least > problem->layers) {
        return false;
    }
    const bool found =
        problem->alike ? find_alike(problem, counts) : find_unlike(problem, arena, counts);
    *bottleneck_s = found ? slowest_s(problem, counts) : 0.0;
    return found;
}
