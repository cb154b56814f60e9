/* Seconds of a matrix multiply: tiles in waves over the compute units, not below its memory traffic
 * (NVIDIA, Matrix Multiplication Background User's Guide: tile and wave quantization; constants in
 * the accelerator files). */
#include "base/number.h"
#include "prices/prices_inside.h"

static const struct tile {
    uint32_t rows, columns;
} tiles[GEMM_TILE_COUNT] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 64}};

enum dtype prices_find_format(const struct accelerator *device, enum dtype dtype)
{
    const bool is_wide = dtype == DTYPE_FP32 || dtype == DTYPE_TF32;
    if (is_wide && device->peak_flops_per_s[dtype] <= 0.0 &&
        device->peak_flops_per_s[DTYPE_FP32] > 0.0) {
        return DTYPE_FP32;
    }
    return device->peak_flops_per_s[dtype] > 0.0        ? dtype
           : device->peak_flops_per_s[DTYPE_BF16] > 0.0 ? DTYPE_BF16
           : device->peak_flops_per_s[DTYPE_FP16] > 0.0 ? DTYPE_FP16
                                                        : DTYPE_FP32;
}

double price_find_peak(const struct accelerator *device, enum dtype dtype)
{
    return device->peak_flops_per_s[prices_find_format(device, dtype)];
}

static bool is_low(enum dtype dtype)
{
    return dtype == DTYPE_FP8 || dtype == DTYPE_FP4;
}

static double measured_frac(const struct accelerator *device, enum dtype dtype)
{
    const double own = device->bench.efficiency_frac[dtype];
    return own > 0.0 || is_low(dtype) ? own : device->bench.efficiency_frac[DTYPE_BF16];
}

/* Share of the peak of large tiles. A narrow format keeps its measured distance to the wide one
 * when both come down to the clock of training. */
static double efficiency_frac(const struct accelerator *device, enum dtype dtype, bool bench)
{
    const double own = measured_frac(device, dtype);
    const double half = measured_frac(device, DTYPE_BF16);
    if (bench && own > 0.0) {
        return own;
    }
    if (own == 0.0 || half == 0.0) {
        return device->gemm_efficiency_frac;
    }
    const double frac = device->gemm_efficiency_frac * own / half;
    return frac < 1.0 ? frac : 1.0;
}

double price_clock_frac(const struct accelerator *device, enum dtype dtype)
{
    const struct accelerator_training *training = &device->training;
    const double frac = is_low(dtype) ? training->narrow_clock_frac : training->clock_frac;
    return frac > 0.0 ? frac : 1.0;
}

/* What a compute unit waits for: whole waves, or the tiles evenly shared where kernels cut them. */
static double count_waves(const struct accelerator *device, uint64_t count)
{
    const double whole = (double)number_ceil_div(count, device->compute_units);
    const double even = number_larger((double)count / device->compute_units, 1.0);
    return device->gemm_wave_frac * whole + (1.0 - device->gemm_wave_frac) * even;
}

/* FLOP slots of one tile shape with K split `split` ways, over all compute units. */
static double tile_flops(const struct accelerator *device, const struct matmul_shape *shape,
                         uint32_t tile, uint32_t split)
{
    const uint64_t count = number_ceil_div(shape->m, tiles[tile].rows) *
                           number_ceil_div(shape->n, tiles[tile].columns) * shape->groups * split;
    const double overhead =
        is_low(shape->dtype) ? device->gemm_low_k_overhead : device->gemm_k_overhead;
    const double k = (double)number_ceil_div(shape->k, split) + overhead;
    return count_waves(device, count) * device->compute_units * 2.0 * tiles[tile].rows *
           tiles[tile].columns * k / device->gemm_tile_frac[tile];
}

#define SPLIT_REDUCTION_S 2e-6 /* extra kernel that sums the parts (assumed) */
#define SPLIT_K_MIN 512

static double element_bytes(enum dtype dtype)
{
    static const double bytes[DTYPE_COUNT] = {
        [DTYPE_FP32] = 4.0, [DTYPE_TF32] = 4.0, [DTYPE_BF16] = 2.0,
        [DTYPE_FP16] = 2.0, [DTYPE_FP8] = 1.0,  [DTYPE_FP4] = 0.5625 /* a scale per 16 values */
    };
    return bytes[dtype];
}

double price_matmul_s(const struct accelerator *device, const struct matmul_shape *asked,
                      bool bench)
{
    struct matmul_shape shape = *asked;
    shape.dtype = prices_find_format(device, asked->dtype);
    const double m = (double)shape.m, n = (double)shape.n, k = (double)shape.k,
                 groups = (double)shape.groups, in_bytes = element_bytes(shape.dtype);
    const double out_bytes =
        shape.result_bytes > 0.0 ? shape.result_bytes : number_larger(in_bytes, 2.0);
    const double bytes = groups * (in_bytes * (m * k + k * n) + out_bytes * m * n);
    const double rate = device->peak_flops_per_s[shape.dtype] *
                        efficiency_frac(device, shape.dtype, bench) *
                        (bench ? 1.0 : price_clock_frac(device, shape.dtype));
    double best = 0.0;
    for (uint32_t tile = 0; tile < GEMM_TILE_COUNT; tile++) {
        for (uint32_t split = 1; split <= 8; split *= 2) {
            if (split > 1 && shape.k / split < SPLIT_K_MIN) {
                break;
            }
            const double partials = split == 1 ? 0.0 : 8.0 * groups * m * n * (split - 1) / split;
            const double first_s = tile_flops(device, &shape, tile, split) / rate;
            const double compute_s = bench ? price_settle_s(device, first_s) : first_s;
            const double seconds =
                number_larger(compute_s, price_memory_s(device, bytes + partials)) +
                (split == 1 ? 0.0 : SPLIT_REDUCTION_S);
            best = best == 0.0 || seconds < best ? seconds : best;
        }
    }
    return best;
}
