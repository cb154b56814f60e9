/* Local planes through residuals. */
#include "prices/residual.h"

#include <assert.h>

#include "base/logarithm.h"
#include "base/sample.h"

#define TERMS_MAX (RESIDUAL_AXES_MAX + 1)
/* Points further than two doublings of a size in all do not count; the weight at one doubling is a
 * tenth. Chosen by leaving single points out of the GEMM tables of seven devices. */
#define REACH 2.0
#define SHARPNESS 8
/* Weight of points from which on a place is between them; one doubling from three points, say. */
#define WEIGHT_BETWEEN 0.3
/* Pull of slopes towards 0, of the level towards the median, in units of weight. */
#define SLOPE_PULL 0.05
#define LEVEL_PULL 0.02

void residual_close(struct residual_table *table, struct arena *arena)
{
    table->median = 0.0;
    if (table->count == 0) {
        return;
    }
    double *values = ARENA_PUSH(arena, double, table->count);
    for (uint32_t i = 0; i < table->count; i++) {
        values[i] = table->points[i].residual;
    }
    sample_sort(values, table->count);
    table->median = sample_quantile(values, table->count, 0.5);
}

/* Normal equations of a weighted plane around the place asked for. */
struct plane {
    uint32_t terms;
    double matrix[TERMS_MAX][TERMS_MAX], right[TERMS_MAX];
    double weight;
};

static double weight_of(double distance2)
{
    const double nearness = 1.0 - distance2 / (REACH * REACH);
    double weight = nearness <= 0.0 ? 0.0 : 1.0;
    for (int i = 0; weight > 0.0 && i < SHARPNESS; i++) {
        weight *= nearness;
    }
    return weight;
}

static void add_point(struct plane *plane, const double terms[TERMS_MAX], double weight,
                      double residual)
{
    plane->weight += weight;
    for (uint32_t row = 0; row < plane->terms; row++) {
        for (uint32_t column = 0; column < plane->terms; column++) {
            plane->matrix[row][column] += weight * terms[row] * terms[column];
        }
        plane->right[row] += weight * terms[row] * residual;
    }
}

/* Gauss elimination; the pulls on the diagonal keep it regular. Gives the plane's level. */
static double solve(struct plane *plane)
{
    for (uint32_t pivot = plane->terms - 1; pivot > 0; pivot--) {
        assert(plane->matrix[pivot][pivot] > 0.0);
        for (uint32_t row = 0; row < pivot; row++) {
            const double factor = plane->matrix[row][pivot] / plane->matrix[pivot][pivot];
            for (uint32_t column = 0; column < pivot; column++) {
                plane->matrix[row][column] -= factor * plane->matrix[pivot][column];
            }
            plane->right[row] -= factor * plane->right[pivot];
        }
    }
    return plane->right[0] / plane->matrix[0][0];
}

double residual_find(const struct residual_table *table, const double at[RESIDUAL_AXES_MAX],
                     uint32_t left_out, enum provenance *provenance)
{
    struct plane plane = {.terms = table->axes + 1};
    *provenance = PROVENANCE_ANALYTIC;
    if (table->count == 0) {
        return 1.0;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        double terms[TERMS_MAX] = {1.0}, distance2 = 0.0;
        for (uint32_t axis = 0; axis < table->axes; axis++) {
            terms[axis + 1] = table->points[i].at[axis] - at[axis];
            distance2 += terms[axis + 1] * terms[axis + 1];
        }
        if (i == left_out || distance2 >= REACH * REACH) {
            continue;
        }
        if (distance2 == 0.0) {
            *provenance = PROVENANCE_MEASURED;
            return logarithm_power(table->points[i].residual);
        }
        add_point(&plane, terms, weight_of(distance2), table->points[i].residual - table->median);
    }
    plane.matrix[0][0] += LEVEL_PULL;
    const bool between = plane.weight >= WEIGHT_BETWEEN;
    for (uint32_t i = 1; i < plane.terms; i++) {
        plane.matrix[i][i] += between ? SLOPE_PULL : 1e6; /* a level only where points are few */
    }
    *provenance = between ? PROVENANCE_INTERPOLATED : PROVENANCE_EXTRAPOLATED;
    return logarithm_power(table->median + solve(&plane));
}
