/* Every partition within a time per stage, one after another.
 *
 * In how many ways the stages from one on can take the layers from one on is known beforehand, so
 * no path of the walk ends without a partition, but for what passes before; where there are too
 * many, or too many layers to count them, the walk does not begin. */
#include <string.h>

#include "planner/partition.h"

/* Every stage may begin with any layer and hold any number: what a count of the ways may ask. */
#define ASKED_MAX 4e6

struct walk {
    const struct partition_problem *problem;
    const struct partition_visitor *visitor;
    double *ways; /* [stage * (layers + 1) + first] */
    uint32_t *counts;
};

/* Time only grows with further layers beyond that. */
static bool is_beyond(const struct walk *walk, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct partition_problem *problem = walk->problem;
    const double seconds = problem->range_s != NULL
                               ? problem->range_s(problem->state, stage, first, count)
                               : problem->stage_s(problem->state, stage, first, count);
    return seconds > walk->visitor->most_s;
}

static bool may_take(const struct walk *walk, uint32_t stage, uint32_t first, uint32_t count)
{
    const struct partition_problem *problem = walk->problem;
    return walk->ways[(stage + 1) * (problem->layers + 1) + first + count] > 0.0 &&
           problem->stage_s(problem->state, stage, first, count) <= walk->visitor->most_s &&
           (problem->fits == NULL || problem->fits(problem->state, stage, first, count));
}

static void count_ways(const struct walk *walk, uint32_t stage)
{
    const struct partition_problem *problem = walk->problem;
    const size_t ends = problem->layers + 1;
    const uint32_t most = problem->layers - (problem->stages - 1 - stage) * problem->least;
    for (uint32_t first = stage * problem->least; first + problem->least <= most; first++) {
        double *ways = &walk->ways[stage * ends + first];
        for (uint32_t count = problem->least; first + count <= most; count++) {
            if (is_beyond(walk, stage, first, count)) {
                break;
            }
            if (may_take(walk, stage, first, count)) {
                *ways += walk->ways[(stage + 1) * ends + first + count];
            }
        }
    }
}

/* Of the layers from `first` on, behind what passed before; false: the visitor has had enough. */
static bool visit_from(const struct walk *walk, uint32_t stage, uint32_t first, double before_s)
{
    const struct partition_problem *problem = walk->problem;
    const struct partition_visitor *visitor = walk->visitor;
    if (stage == problem->stages) {
        return visitor->visit(visitor->state, walk->counts);
    }
    for (uint32_t count = problem->least; first + count <= problem->layers; count++) {
        if (is_beyond(walk, stage, first, count)) {
            break;
        }
        walk->counts[stage] = count;
        const double own_s = problem->stage_s(problem->state, stage, first, count);
        if (before_s + own_s > visitor->most_s || !may_take(walk, stage, first, count)) {
            continue;
        }
        const double pass_s =
            visitor->pass_s == NULL ? 0.0 : visitor->pass_s(problem->state, stage, first, count);
        if (!visit_from(walk, stage + 1, first + count, before_s + pass_s)) {
            return false;
        }
    }
    return true;
}

bool partition_each(const struct partition_problem *problem,
                    const struct partition_visitor *visitor, struct arena *arena)
{
    const size_t ends = problem->layers + 1;
    if ((double)problem->layers * problem->layers > ASKED_MAX) {
        return false;
    }
    struct walk walk = {.problem = problem,
                        .visitor = visitor,
                        .ways = ARENA_PUSH(arena, double, (problem->stages + 1) * ends),
                        .counts = ARENA_PUSH(arena, uint32_t, problem->stages)};
    walk.ways[(size_t)problem->stages * ends + problem->layers] = 1.0;
    for (uint32_t left = problem->stages; left > 0; left--) {
        count_ways(&walk, left - 1);
    }
    return walk.ways[0] <= visitor->most_ways &&
           (walk.ways[0] < 1.0 || visit_from(&walk, 0, 0, 0.0));
}
