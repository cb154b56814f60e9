/* Order statistics of a list of numbers. */
#include "base/sample.h"

#include <assert.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sample_sort(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
}

double sample_quantile(const double *sorted, uint32_t count, double frac)
{
    assert(frac >= 0.0 && frac <= 1.0);
    if (count == 0) {
        return 0.0;
    }
    const double at = frac * (double)(count - 1);
    const uint32_t below = (uint32_t)at;
    const uint32_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (at - (double)below);
}
