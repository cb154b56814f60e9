/* A stretch of work and the save behind it, tried until no failure comes in between.
 *
 * With failures at rate 1/M, a stretch of w takes M exp(R/M) (exp(w/M) - 1) on average when each
 * failure costs a restart R, during which others may come (Daly, A higher order estimate of the
 * optimum checkpoint interval, 2006). Young's rule, sqrt(2 save M), is its limit for short saves
 * (Young 1974). */
#include "costmodel/goodput.h"

#include <assert.h>

#include "base/logarithm.h"
#include "base/number.h"

#define LOG2_E 1.4426950408889634 /* log2(e) */
#define NEVER_S 1e301
/* exp of more than this is never waited for, and nears what a double holds. */
#define EXPONENT_MAX 600.0
#define STEPS_MAX 1000000000u
/* Less is rounding. */
#define GAIN_FRAC 1e-13

/* exp(x) - 1, for small x without taking equal numbers from each other. */
static double grow(double x)
{
    return x < 1e-5 ? x * (1.0 + x * (0.5 + x / 6.0)) : logarithm_power(x * LOG2_E) - 1.0;
}

double goodput_find_s(const struct goodput_request *request, uint64_t steps)
{
    const double mean_s = request->between_failures_s;
    const double work_s = (double)steps * request->step_s + request->save_s;
    assert(mean_s > 0.0 && request->step_s > 0.0 && steps > 0);
    if ((work_s + request->restart_s) / mean_s > EXPONENT_MAX) {
        return NEVER_S;
    }
    return mean_s * (1.0 + grow(request->restart_s / mean_s)) * grow(work_s / mean_s);
}

static double per_step_s(const struct goodput_request *request, uint64_t steps)
{
    const double expected_s = goodput_find_s(request, steps);
    return expected_s < NEVER_S ? expected_s / (double)steps : NEVER_S;
}

/* Seconds per step fall, then rise with the number of steps: from a guess by ever smaller moves. */
static uint64_t find_steps(const struct goodput_request *request, double young_s)
{
    const double guess = young_s / request->step_s;
    uint64_t best = guess < 1.0 ? 1 : guess < STEPS_MAX ? (uint64_t)guess : STEPS_MAX;
    double best_s = per_step_s(request, best);
    for (uint64_t move = best; move > 0;) {
        const uint64_t more = best + move < STEPS_MAX ? best + move : STEPS_MAX;
        const uint64_t fewer = best > move ? best - move : 1;
        const double more_s = per_step_s(request, more), fewer_s = per_step_s(request, fewer);
        const double gained_s = best_s * (1.0 - GAIN_FRAC);
        if (fewer_s < gained_s) {
            best = fewer;
            best_s = fewer_s;
        } else if (more_s < gained_s) {
            best = more;
            best_s = more_s;
        } else {
            move /= 2;
        }
    }
    return best;
}

void goodput_find(const struct goodput_request *request, struct goodput *out)
{
    const double young_s = number_root(2.0 * request->save_s * request->between_failures_s);
    const uint64_t steps = find_steps(request, young_s);
    const double expected_s = goodput_find_s(request, steps);
    *out = (struct goodput){.steps = steps, .lost_frac = 1.0, .young_s = young_s};
    if (expected_s < NEVER_S) {
        out->useful_frac = (double)steps * request->step_s / expected_s;
        out->save_frac = request->save_s / expected_s;
        out->lost_frac = number_larger(0.0, 1.0 - out->useful_frac - out->save_frac);
    }
}
