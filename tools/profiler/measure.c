/* Warm-up, repetitions, one figure of them each; what was measured before is not measured again. */
#include "tools/profiler/measure.h"

#include <time.h>

#include "base/sample.h"

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double figure_of(double *seconds, uint32_t count, bool minimum)
{
    sample_sort(seconds, count);
    return minimum ? seconds[0] : seconds[count / 2];
}

static bool has_matmul(const struct profile *profile, const struct profile_matmul *asked)
{
    for (uint32_t i = 0; i < profile->matmul_count; i++) {
        const struct profile_matmul *row = &profile->matmuls[i];
        if (row->dtype == asked->dtype && row->m == asked->m && row->n == asked->n &&
            row->k == asked->k && row->groups == asked->groups) {
            return true;
        }
    }
    return false;
}

static bool has_stream(const struct profile *profile, double bytes)
{
    for (uint32_t i = 0; i < profile->stream_count; i++) {
        if (profile->streams[i].bytes == bytes) {
            return true;
        }
    }
    return false;
}

struct run {
    const struct machine *machine;
    const struct measure_plan *plan;
    double *seconds;
    double deadline_s;
    uint32_t done;
};

/* Time left for one more? */
static bool goes_on(struct run *run)
{
    const struct measure_plan *plan = run->plan;
    if (plan->progress != NULL) {
        plan->progress(run->done, plan->matmul_count + plan->stream_count);
    }
    run->done++;
    return plan->budget_s == 0.0 || now_s() < run->deadline_s;
}

static bool measure_matmuls(struct run *run, struct profile *out)
{
    const struct measure_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->matmul_count; i++) {
        const struct profile_matmul *asked = &plan->matmuls[i];
        const struct machine_matmul shape = {(uint32_t)asked->dtype, asked->m, asked->n, asked->k};
        if (has_matmul(out, asked)) {
            run->done++;
            continue;
        }
        if (!goes_on(run)) {
            return false;
        }
        if (run->machine->matmul(&shape, plan->repeats, run->seconds)) {
            out->matmuls[out->matmul_count] = *asked;
            out->matmuls[out->matmul_count++].seconds =
                figure_of(run->seconds, plan->repeats, plan->minimum);
        }
    }
    return true;
}

static bool measure_streams(struct run *run, struct profile *out)
{
    const struct measure_plan *plan = run->plan;
    for (uint32_t i = 0; i < plan->stream_count; i++) {
        const double bytes = plan->streams[i].bytes;
        if (has_stream(out, bytes)) {
            run->done++;
            continue;
        }
        if (!goes_on(run)) {
            return false;
        }
        if (run->machine->copy((uint64_t)bytes, plan->repeats, run->seconds)) {
            out->streams[out->stream_count++] = (struct profile_stream){
                bytes, figure_of(run->seconds, plan->repeats, plan->minimum)};
        }
    }
    return true;
}

bool measure_run(const struct machine *machine, const struct measure_plan *plan,
                 struct arena *arena, struct profile *out)
{
    struct run run = {.machine = machine,
                      .plan = plan,
                      .seconds = ARENA_PUSH(arena, double, plan->repeats),
                      .deadline_s = now_s() + plan->budget_s};
    const bool multiplied = measure_matmuls(&run, out);
    return multiplied && measure_streams(&run, out);
}
