/* What measurements say beside a formula: their ratio at measured sizes, carried to sizes between.
 *
 * A point is a place in the space of sizes, each as its logarithm to base 2; the residual there
 * is the logarithm of measured over predicted seconds. In between, a plane is fitted to the
 * points near by, the nearer the more it counts, so that scale carries over where a formula has
 * the right shape; far from all points the median residual is left. */
#ifndef SHARDPLAN_PRICES_RESIDUAL_H
#define SHARDPLAN_PRICES_RESIDUAL_H

#include "prices/prices.h"

#define RESIDUAL_AXES_MAX 6

struct residual_point {
    double at[RESIDUAL_AXES_MAX];
    double residual;
};

struct residual_table {
    struct residual_point *points;
    uint32_t count, axes;
    double median; /* set by residual_close */
};

/* Sets the median once all points are in. */
void residual_close(struct residual_table *table, struct arena *arena);
/* Ratio measured / predicted at a place, and how it is known. `left_out`: index of a point that
 * must not speak, or UINT32_MAX. 1 (analytic) from an empty table. */
double residual_find(const struct residual_table *table, const double at[RESIDUAL_AXES_MAX],
                     uint32_t left_out, enum provenance *provenance);

#endif
