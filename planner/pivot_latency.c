/* Stages and joints in one row; the pivot is looked for from the last but one to the first. */
#include "planner/pivot_latency.h"

#include "base/number.h"

/* Places of the row: stage n is 2 n, the joint behind it 2 n + 1. */
static double forward_s(const struct replica_times *times, uint32_t place)
{
    return place % 2 == 0 ? times->forward_s[place / 2] : times->send_s[place / 2];
}

static double backward_s(const struct replica_times *times, uint32_t place)
{
    return place % 2 == 0 ? times->backward_s[place / 2] : times->send_back_s[place / 2];
}

static double both_s(const struct replica_times *times, uint32_t place)
{
    return forward_s(times, place) + backward_s(times, place);
}

static uint32_t find_pivot(const struct replica_times *times, uint32_t micro_batches)
{
    uint32_t pivot = 2 * times->stages - 2;
    double between_s = 0.0; /* of places between the one looked at and the pivot */
    for (uint32_t place = pivot; place-- > 0;) {
        if ((micro_batches - 1) * both_s(times, place) >
            (micro_batches - 1) * both_s(times, pivot) + between_s) {
            pivot = place;
            between_s = 0.0;
        } else {
            between_s += both_s(times, place);
        }
    }
    return pivot;
}

void pivot_latency_find(const struct replica_times *times, uint32_t micro_batches,
                        struct pivot_latency *out)
{
    const uint32_t pivot = find_pivot(times, micro_batches), places = 2 * times->stages - 1;
    double run_s = (micro_batches - 1) * both_s(times, pivot), after_s = 0.0;
    *out = (struct pivot_latency){0.0, -1e300};
    for (uint32_t place = 0; place <= pivot; place++) {
        run_s += forward_s(times, place);
    }
    for (uint32_t place = pivot + 1; place-- > 0;) {
        after_s += backward_s(times, place);
        const double sum_s = place % 2 == 0 ? times->sum_s[place / 2] : 0.0;
        if (run_s + after_s + sum_s > out->total_s) {
            *out = (struct pivot_latency){run_s + after_s, run_s + after_s + sum_s};
        }
    }
    after_s = -backward_s(times, pivot);
    for (uint32_t place = pivot + 1; place < places; place++) {
        after_s -= backward_s(times, place);
        const double sum_s = place % 2 == 0 ? times->sum_s[place / 2] : 0.0;
        if (run_s + after_s + sum_s > out->total_s) {
            *out = (struct pivot_latency){run_s + after_s, run_s + after_s + sum_s};
        }
    }
}
