/* Like layers on unlike stages by what a pipeline takes at least: single layers move while that
 * shrinks.
 *
 * Stage k begins when a micro-batch has come through the stages before it, works on all, and what
 * it made last goes back through them: no less than sum(t_e, e < k) + m t_k. That is below
 * sum(t) + (m - 1) max(t) where a slow stage comes early. Times by the weight of the problem,
 * chunks included, which changes no comparison. */
#include "base/number.h"
#include "planner/partition.h"

/* Less of the first is better, then of the second. */
struct worth {
    double chain_s, weighted_s;
};

static double stage_s(const struct partition_problem *problem, uint32_t stage, uint32_t count)
{
    return problem->stage_s(problem->state, stage, 0, count);
}

static struct worth find_worth(const struct partition_problem *problem, const uint32_t *counts)
{
    struct worth worth = {0.0, 0.0};
    double before_s = 0.0, slowest_s = 0.0;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        const double own_s = stage_s(problem, stage, counts[stage]);
        worth.chain_s = number_larger(worth.chain_s, before_s + (problem->weight + 1.0) * own_s);
        slowest_s = number_larger(slowest_s, own_s);
        before_s += own_s;
    }
    worth.weighted_s = before_s + problem->weight * slowest_s;
    return worth;
}

static bool is_better(struct worth a, struct worth b)
{
    return a.chain_s < b.chain_s || (a.chain_s == b.chain_s && a.weighted_s < b.weighted_s);
}

/* The best move of one layer into the stage `to`, if it is better than *best; from where. */
static bool try_into(const struct partition_problem *problem, uint32_t to, uint32_t *counts,
                     struct worth *best, uint32_t *from)
{
    bool found = false;
    if (problem->fits != NULL && !problem->fits(problem->state, to, 0, counts[to] + 1)) {
        return false;
    }
    counts[to]++;
    for (uint32_t stage = 0; stage < problem->stages; stage++) {
        if (stage == to || counts[stage] <= problem->least) {
            continue;
        }
        counts[stage]--;
        const struct worth worth = find_worth(problem, counts);
        counts[stage]++;
        if (is_better(worth, *best)) {
            *best = worth;
            *from = stage;
            found = true;
        }
    }
    counts[to]--;
    return found;
}

bool partition_climb(const struct partition_problem *problem, uint32_t *counts)
{
    struct worth best = find_worth(problem, counts);
    uint32_t moves = 0;
    for (bool better = true; better; moves += better) {
        uint32_t from = 0, to = 0;
        better = false;
        for (uint32_t stage = 0; stage < problem->stages; stage++) {
            if (try_into(problem, stage, counts, &best, &from)) {
                to = stage;
                better = true;
            }
        }
        if (better) {
            counts[from]--;
            counts[to]++;
        }
    }
    return moves > 0;
}
