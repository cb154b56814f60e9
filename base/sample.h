/* Order statistics of a list of numbers. */
#ifndef SHARDPLAN_BASE_SAMPLE_H
#define SHARDPLAN_BASE_SAMPLE_H

#include <stdint.h>

/* Sorts in place, ascending; no value may be a NaN. */
void sample_sort(double *values, uint32_t count);
/* Quantile of sorted values, linear between neighbours: frac 0 is the least, 0.5 the median, 1 the
 * greatest. 0 without values. */
double sample_quantile(const double *sorted, uint32_t count, double frac);

#endif
