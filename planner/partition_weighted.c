/* Like layers on stages of different speed: the least sum(t) + weight max(t), threshold by
 * threshold.
 *
 * Under a threshold on max(t) each stage takes at most so many layers, whatever the others take; of
 * the layers beyond everybody's least, those stages take most that are fastest. Thresholds that
 * count are times of some stage with one more layer; they rise until the least sum of all with that
 * threshold alone costs more than the best so far. */
#include <assert.h>
#include <string.h>

#include "base/number.h"
#include "planner/partition.h"

struct weighing {
    const struct partition_problem *problem;
    uint32_t *caps;    /* [stage] most layers under the threshold */
    uint32_t *order;   /* stages by what a further layer takes there, then from the last */
    double *further_s; /* [stage] */
    uint32_t *trial;   /* [stage] layers */
};

static double stage_s(const struct weighing *weighing, uint32_t stage, uint32_t count)
{
    return weighing->problem->stage_s(weighing->problem->state, stage, 0, count);
}

static uint32_t most_of(const struct partition_problem *problem)
{
    return problem->layers - (problem->stages - 1) * problem->least;
}

static bool has_room(const struct partition_problem *problem, uint32_t stage, uint32_t count)
{
    return problem->fits == NULL || problem->fits(problem->state, stage, 0, count);
}

/* Every stage takes its least: it is known that there is a partition within the threshold. */
static void find_caps(struct weighing *weighing, double threshold_s)
{
    const struct partition_problem *problem = weighing->problem;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        uint32_t low = problem->least, high = most_of(problem);
        while (low < high) {
            const uint32_t middle = low + (high - low + 1) / 2;
            const bool good =
                stage_s(weighing, stage, middle) <= threshold_s && has_room(problem, stage, middle);
            low = good ? middle : low;
            high = good ? high : middle - 1;
        }
        weighing->caps[stage] = low;
    }
}

static bool goes_before(const struct weighing *weighing, uint32_t a, uint32_t b)
{
    return weighing->further_s[a] < weighing->further_s[b] ||
           (weighing->further_s[a] == weighing->further_s[b] && a > b);
}

/* The mean over all that a stage can take at most. */
static void sort_stages(struct weighing *weighing)
{
    const struct partition_problem *problem = weighing->problem;
    const uint32_t least = problem->least, most = most_of(problem);
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        weighing->further_s[stage] =
            most > least ? (stage_s(weighing, stage, most) - stage_s(weighing, stage, least)) /
                               (most - least)
                         : 0.0;
        uint32_t place = stage;
        for (; place > 0 && goes_before(weighing, stage, weighing->order[place - 1]); place--) {
            weighing->order[place] = weighing->order[place - 1];
        }
        weighing->order[place] = stage;
    }
}

/* Into the trial; its sum. */
static double fill_fastest(struct weighing *weighing)
{
    const struct partition_problem *problem = weighing->problem;
    uint32_t left = problem->layers - problem->stages * problem->least;
    double sum_s = 0.0;
    for (uint32_t i = 0; i < problem->stages; i++) {
        const uint32_t stage = weighing->order[i];
        const uint32_t room = weighing->caps[stage] - problem->least;
        const uint32_t more = left < room ? left : room;
        weighing->trial[stage] = problem->least + more;
        sum_s += stage_s(weighing, stage, weighing->trial[stage]);
        left -= more;
    }
    assert(left == 0);
    return sum_s;
}

static double slowest_s(const struct weighing *weighing, const uint32_t *counts)
{
    double slowest = 0.0;
    for (uint32_t stage = 0; stage < weighing->problem->stages; stage++) {
        slowest = number_larger(slowest, stage_s(weighing, stage, counts[stage]));
    }
    return slowest;
}

/* The smallest above: some stage takes one more; 0: none can. */
static double next_threshold_s(const struct weighing *weighing)
{
    const struct partition_problem *problem = weighing->problem;
    double next_s = 0.0;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        const uint32_t more = weighing->caps[stage] + 1;
        if (more <= most_of(problem) && has_room(problem, stage, more)) {
            const double seconds = stage_s(weighing, stage, more);
            next_s = next_s > 0.0 ? number_smaller(next_s, seconds) : seconds;
        }
    }
    return next_s;
}

void partition_weigh(const struct partition_problem *problem, struct arena *arena, uint32_t *counts)
{
    const struct arena_mark mark = arena_find_mark(arena);
    const uint32_t stages = problem->stages;
    struct weighing weighing = {.problem = problem,
                                .caps = ARENA_PUSH(arena, uint32_t, stages),
                                .order = ARENA_PUSH(arena, uint32_t, stages),
                                .further_s = ARENA_PUSH(arena, double, stages),
                                .trial = ARENA_PUSH(arena, uint32_t, stages)};
    sort_stages(&weighing);
    find_caps(&weighing, 1e300);
    const double least_sum_s = fill_fastest(&weighing);
    double best_s = 1e300;
    for (double threshold_s = slowest_s(&weighing, counts);
         threshold_s > 0.0 && least_sum_s + problem->weight * threshold_s < best_s;
         threshold_s = next_threshold_s(&weighing)) {
        find_caps(&weighing, threshold_s);
        const double sum_s = fill_fastest(&weighing);
        const double value_s = sum_s + problem->weight * slowest_s(&weighing, weighing.trial);
        if (value_s < best_s) {
            best_s = value_s;
            memcpy(counts, weighing.trial, stages * sizeof *counts);
        }
    }
    arena_pop(arena, mark);
}
