/* Where a kernel's sizes lie in the space of its residuals. */
#include "prices/measured_kernels.h"

#include <string.h>

#include "base/logarithm.h"

static double log_of(uint64_t size)
{
    return size == 0 ? 0.0 : logarithm_of((double)size);
}

/* Sizes of another axis that matter more than a doubling of work: a head dim of 64 says little of
 * one of 128, a masked kernel little of a full one. */
#define HEAD_DIM_STRETCH 1.5
#define MASK_STRETCH 1.8

void measured_kernels_place_matmul(const struct matmul_shape *shape, double at[RESIDUAL_AXES_MAX])
{
    memset(at, 0, RESIDUAL_AXES_MAX * sizeof *at);
    at[0] = log_of(shape->m);
    at[1] = log_of(shape->n);
    at[2] = log_of(shape->k);
    at[3] = log_of(shape->groups);
}

void measured_kernels_place_attention(const struct work_compute *item, double at[RESIDUAL_AXES_MAX])
{
    memset(at, 0, RESIDUAL_AXES_MAX * sizeof *at);
    at[0] = log_of(item->batch);
    at[1] = log_of(item->heads);
    at[2] = log_of(item->kv_heads == 0 ? item->heads : item->kv_heads) / 2.0;
    at[3] = log_of(item->queries);
    at[4] = log_of(item->head_dim) * HEAD_DIM_STRETCH;
    at[5] = item->density_frac < 1.0 ? MASK_STRETCH : 0.0;
}

void measured_kernels_place_stream(double bytes, double at[RESIDUAL_AXES_MAX])
{
    memset(at, 0, RESIDUAL_AXES_MAX * sizeof *at);
    at[0] = bytes > 1.0 ? logarithm_of(bytes) : 0.0;
}
