/* Kinds of kernel with a file of their own. */
#ifndef SHARDPLAN_PRICES_PRICES_INSIDE_H
#define SHARDPLAN_PRICES_PRICES_INSIDE_H

#include "prices/prices.h"

struct matmul_shape {
    uint64_t m, n, k, groups;
    enum dtype dtype;
    double result_bytes;    /* traffic per element of the result; 0: written once */
};

/* Of the clock that the gemm and attention groups assume, for hours of training. */
double price_clock_frac(const struct accelerator *device, enum dtype dtype);
/* FLOP/s of the format's matrix units; of the next wider ones where the device lacks it. */
double price_find_peak(const struct accelerator *device, enum dtype dtype);
/* Seconds on a device that has just woken up, given those at its first clock. */
double price_settle_s(const struct accelerator *device, double first_s);
/* Seconds of memory traffic. */
double price_memory_s(const struct accelerator *device, double bytes);

/* `bench`: alone and back to back, as measured kernels run, else within a training step. */
double price_matmul_s(const struct accelerator *device, const struct matmul_shape *shape,
                      bool bench);
double price_attention_s(const struct accelerator *device, const struct work_compute *item,
                         bool bench);

#endif
