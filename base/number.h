/* Small arithmetic on doubles that several parts need. */
#ifndef SHARDPLAN_BASE_NUMBER_H
#define SHARDPLAN_BASE_NUMBER_H

#include <stdint.h>

/* No NaN goes in. */
static inline double number_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double number_smaller(double a, double b)
{
    return a < b ? a : b;
}

static inline double number_absolute(double value)
{
    return value < 0.0 ? -value : value;
}

/* How often `by` goes into the value, begun times included. */
static inline uint64_t number_ceil_div(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

/* Square root by Newton's rule from above, which at least halves what is over in each step: within
 * an ulp for 0 and from 1e-12 to 1e12, the same bits on every machine. */
static inline double number_root(double value)
{
    double root = value > 1.0 ? value : 1.0;
    for (uint32_t i = 0; i < 30 && value > 0.0; i++) {
        root = 0.5 * (root + value / root);
    }
    return value > 0.0 ? root : 0.0;
}

#endif
