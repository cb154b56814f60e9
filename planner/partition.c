/* Smallest bottleneck: like layers by raising a threshold through the finite set of stage times,
 * unlike ones by halving it, or by dynamic programming over the ends of prefixes. */
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

/* --- unlike layers without limits of memory --------------------------------------------------- */

#define NO_WAY_S 1e300
/* Values that are as near to one another are tried one by one. */
#define NEAR_FRAC 1e-12

/* What to try between what is too little and what has been reached. */
static double between_s(const struct partition_problem *problem, double low_s, double high_s)
{
    const double ceiling_s = problem->ceiling_s > 0.0 ? problem->ceiling_s : NO_WAY_S;
    const double wide_s = 1.25 * low_s < ceiling_s ? 1.25 * low_s : ceiling_s;
    return high_s == NO_WAY_S                    ? (wide_s > low_s ? wide_s : low_s)
           : high_s - low_s < NEAR_FRAC * high_s ? low_s
                                                 : 0.5 * (low_s + high_s);
}

/* Where layers only add time on either side, a shorter prefix is easier again: filling from the
 * last stage tells whether a bottleneck will do. */
static bool find_free(const struct partition_problem *problem, uint32_t *counts)
{
    double low_s = problem->floor_s, high_s = NO_WAY_S;
    while (low_s < high_s) {
        double next_s;
        if (fill(problem, between_s(problem, low_s, high_s), counts, &next_s) == 0) {
            high_s = slowest_s(problem, counts);
            continue;
        }
        if (next_s < 0.0 || (problem->ceiling_s > 0.0 && next_s > problem->ceiling_s)) {
            return false;
        }
        low_s = next_s;
    }
    double next_s;
    return fill(problem, high_s, counts, &next_s) == 0;
}

static bool is_free(const struct partition_problem *problem)
{
    return problem->fits == NULL && problem->range_s == NULL && problem->least == 1;
}

/* --- unlike layers: a shorter prefix may be harder, since what a stage holds moves ------------ */

/* How far above the floor the bottleneck is looked for, step by step: the lower the ceiling, the
 * fewer ends of prefixes come into question. */
static const double ceilings[] = {1.02, 1.08, 1.25, 1.6, 2.5};
#define CEILING_COUNT (sizeof ceilings / sizeof *ceilings)

/* best_s[stage * (layers + 1) + end]: smallest bottleneck of stages 0 .. stage over layers 0 ..
 * end-1, or NO_WAY_S, also where it is above the ceiling; lowest[stage]: no partition within the
 * ceiling ends that stage before. */
struct prefixes {
    const struct partition_problem *problem;
    double *best_s;
    uint32_t *lowest;
    double ceiling_s;
};

/* No more than the stage takes for these layers, or for more. */
static double range_s(const struct partition_problem *problem, uint32_t stage, uint32_t first,
                      uint32_t count)
{
    return problem->range_s != NULL ? problem->range_s(problem->state, stage, first, count)
                                    : problem->stage_s(problem->state, stage, first, count);
}

static double *best_of(const struct prefixes *prefixes, uint32_t stage, uint32_t end)
{
    return &prefixes->best_s[(size_t)stage * (prefixes->problem->layers + 1) + end];
}

/* Smallest bottleneck of the stages up to this one, at most the ceiling; the stages before it get
 * no further than `reached`. */
static double prefix_s(const struct prefixes *prefixes, uint32_t stage, uint32_t end,
                       uint32_t reached)
{
    const struct partition_problem *problem = prefixes->problem;
    const uint32_t most = stage > 0 ? end - prefixes->lowest[stage - 1] : end;
    const uint32_t rest = end > reached ? end - reached : 0;
    double least_s = NO_WAY_S;
    for (uint32_t count = rest > problem->least ? rest : problem->least; count <= most; count++) {
        const double no_less_s = range_s(problem, stage, end - count, count);
        if (no_less_s >= least_s || no_less_s > prefixes->ceiling_s) {
            break; /* more layers take longer still */
        }
        const double own_s = problem->range_s == NULL
                                 ? no_less_s
                                 : problem->stage_s(problem->state, stage, end - count, count);
        if (own_s > prefixes->ceiling_s) {
            continue;
        }
        const double before_s = stage > 0 ? *best_of(prefixes, stage - 1, end - count) : 0.0;
        const double both_s = own_s > before_s ? own_s : before_s;
        if (both_s < least_s && fits(problem, stage, end - count, count)) {
            least_s = both_s;
        }
    }
    return least_s;
}

/* From the last stage, each takes all that it can within the ceiling, as if memory were no
 * limit. */
static void find_lowest(const struct prefixes *prefixes)
{
    const struct partition_problem *problem = prefixes->problem;
    uint32_t end = problem->layers;
    for (uint32_t left = problem->stages; left > 0; left--) {
        const uint32_t stage = left - 1, first = stage * problem->least;
        end = end > first + problem->least ? end : first + problem->least;
        prefixes->lowest[stage] = end;
        uint32_t count = 0;
        while (end - count > first &&
               range_s(problem, stage, end - count - 1, count + 1) <= prefixes->ceiling_s) {
            count++;
        }
        end -= count;
    }
}

/* Smallest bottleneck within the ceiling. */
static double find_within(const struct prefixes *prefixes)
{
    const struct partition_problem *problem = prefixes->problem;
    uint32_t reached = 0;
    find_lowest(prefixes);
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        const uint32_t after = problem->stages - 1 - stage, before = reached;
        bool any = false;
        for (uint32_t end = prefixes->lowest[stage];
             end <= problem->layers - after * problem->least; end++) {
            const double seconds = prefix_s(prefixes, stage, end, before);
            *best_of(prefixes, stage, end) = seconds;
            any = any || seconds < NO_WAY_S;
            reached = seconds < NO_WAY_S ? end : reached;
        }
        if (!any) {
            return NO_WAY_S;
        }
    }
    return *best_of(prefixes, problem->stages - 1, problem->layers);
}

/* From the last stage, as many layers as leave a prefix within the bottleneck. */
static void take_back(const struct prefixes *prefixes, double bottleneck_s, uint32_t *counts)
{
    const struct partition_problem *problem = prefixes->problem;
    uint32_t end = problem->layers;
    for (uint32_t left = problem->stages; left > 0; left--) {
        const uint32_t stage = left - 1;
        uint32_t count = stage > 0 ? end - prefixes->lowest[stage - 1] : end;
        while (problem->stage_s(problem->state, stage, end - count, count) > bottleneck_s ||
               (stage > 0 && *best_of(prefixes, stage - 1, end - count) > bottleneck_s) ||
               !fits(problem, stage, end - count, count)) {
            assert(count > problem->least);
            count--;
        }
        counts[stage] = count;
        end -= count;
    }
}

/* Ceilings rise until one holds a partition, up to the one that the problem sets. */
static bool find_unlike(const struct partition_problem *problem, struct arena *arena,
                        uint32_t *counts)
{
    const struct arena_mark mark = arena_find_mark(arena);
    const size_t size = (size_t)problem->stages * (problem->layers + 1);
    const double highest_s = problem->ceiling_s > 0.0 ? problem->ceiling_s : 0.1 * NO_WAY_S;
    struct prefixes prefixes = {.problem = problem,
                                .best_s = ARENA_PUSH(arena, double, size),
                                .lowest = ARENA_PUSH(arena, uint32_t, problem->stages)};
    for (size_t i = 0; i < size; i++) {
        prefixes.best_s[i] = NO_WAY_S;
    }
    double bottleneck_s = NO_WAY_S;
    for (size_t i = 0; i <= CEILING_COUNT && bottleneck_s == NO_WAY_S; i++) {
        const double next_s = i < CEILING_COUNT ? problem->floor_s * ceilings[i] : highest_s;
        if (i == CEILING_COUNT || (next_s > 0.0 && next_s < highest_s)) {
            prefixes.ceiling_s = next_s;
            bottleneck_s = find_within(&prefixes);
        }
    }
    if (bottleneck_s < NO_WAY_S) {
        take_back(&prefixes, bottleneck_s, counts);
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
    const bool found = problem->alike     ? find_alike(problem, counts)
                       : is_free(problem) ? find_free(problem, counts)
                                          : find_unlike(problem, arena, counts);
    if (found && problem->alike && problem->weighs) {
        partition_weigh(problem, arena, counts);
    }
    *bottleneck_s = found ? slowest_s(problem, counts) : 0.0;
    return found;
}
