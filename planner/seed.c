/* Plans that were there before the search take their places among those that it found. */
#include "base/number.h"
#include "planner/planner_inside.h"

double seed_threshold_s(const struct planner_options *options)
{
    return options->seed_count < options->top ? SEED_NONE_S
                                              : options->seeds[options->top - 1].estimate.step_s;
}

static bool is_among(const struct planner_result *result, const struct plan *plan)
{
    for (uint32_t i = 0; i < result->count; i++) {
        if (plan_digest(result->plans[i].plan) == plan_digest(plan)) {
            return true;
        }
    }
    return false;
}

/* Of equal ones that of the search comes first. */
static void insert(struct planner_result *result, const struct ranked_plan *seed, uint32_t top)
{
    uint32_t place = result->count < top ? result->count++ : top;
    while (place > 0 && seed->estimate.step_s < result->plans[place - 1].estimate.step_s) {
        if (place < top) {
            result->plans[place] = result->plans[place - 1];
        }
        place--;
    }
    if (place < top) {
        result->plans[place] = *seed;
    }
}

void seed_merge(const struct planner_options *options, struct arena *arena,
                struct planner_result *result)
{
    struct ranked_plan *plans = ARENA_PUSH(arena, struct ranked_plan, options->top);
    struct certificate *certificate = &result->certificate;
    for (uint32_t i = 0; i < result->count; i++) {
        plans[i] = result->plans[i];
    }
    result->plans = plans;
    for (uint32_t i = 0; i < options->seed_count; i++) {
        if (!is_among(result, options->seeds[i].plan)) {
            insert(result, &options->seeds[i], options->top);
        }
    }
    if (result->count > 0) {
        const double best_s = result->plans[0].estimate.step_s;
        if (certificate->complete || certificate->lower_bound_s > best_s) {
            certificate->lower_bound_s = best_s;
        }
        certificate->placement_bound_s =
            certificate->placement_bound_s == 0.0
                ? certificate->lower_bound_s /* nothing is open */
                : number_smaller(certificate->placement_bound_s, certificate->lower_bound_s);
        certificate->gap_frac = (best_s - certificate->lower_bound_s) / best_s;
        certificate->placement_gap_frac = (best_s - certificate->placement_bound_s) / best_s;
    }
}
