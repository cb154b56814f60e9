/* What was measured of one accelerator's kernels, beside the formulas. */
#ifndef SHARDPLAN_PRICES_MEASURED_KERNELS_H
#define SHARDPLAN_PRICES_MEASURED_KERNELS_H

#include "prices/prices_inside.h"
#include "prices/residual.h"

struct measured_kernels {
    struct residual_table matmuls[DTYPE_COUNT];
    struct residual_table attentions[2]; /* forward, backward */
    struct residual_table streams;
};

#define MATMUL_AXES 4
#define ATTENTION_AXES 6
#define STREAM_AXES 1

void measured_kernels_place_matmul(const struct matmul_shape *shape, double at[RESIDUAL_AXES_MAX]);
void measured_kernels_place_attention(const struct work_compute *item,
                                      double at[RESIDUAL_AXES_MAX]);
void measured_kernels_place_stream(double bytes, double at[RESIDUAL_AXES_MAX]);

#endif
