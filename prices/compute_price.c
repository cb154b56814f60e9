/* Seconds of one kernel: matrix multiplies by tiles in waves, attention by its measured share of
 * the peak, the rest by memory bandwidth (hardware_costs of the project's references, sections 5.1,
 * 5.4, 5.5; constants in the accelerator files). */
#include <assert.h>

#include "prices/prices.h"

static uint64_t ceil_div(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double peak(const struct accelerator *device, enum dtype dtype)
{
    const double asked = device->peak_flops_per_s[dtype];
    const double half =
        larger(device->peak_flops_per_s[DTYPE_BF16], device->peak_flops_per_s[DTYPE_FP16]);
    return asked > 0.0 ? asked : half > 0.0 ? half : device->peak_flops_per_s[DTYPE_FP32];
}

struct shape {
    uint64_t m, n, k, groups;
    double element_bytes;
};

static const struct tile {
    uint32_t rows, columns;
} tiles[GEMM_TILE_COUNT] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 64}};

/* Compute-bound time on one tile shape with K split `split` ways over waves of all compute
 * units. */
static double tile_s(const struct accelerator *device, const struct shape *shape, uint32_t tile,
                     uint32_t split, double peak_flops_per_s)
{
    const uint64_t count = ceil_div(shape->m, tiles[tile].rows) *
                           ceil_div(shape->n, tiles[tile].columns) * shape->groups * split;
    const uint64_t waves = ceil_div(count, device->compute_units);
    const double k = (double)ceil_div(shape->k, split) + device->gemm_k_overhead;
    const double flops = (double)waves * 2.0 * tiles[tile].rows * tiles[tile].columns * k;
    return flops * device->compute_units /
           (peak_flops_per_s * device->gemm_efficiency_frac * device->gemm_tile_frac[tile]);
}

#define SPLIT_REDUCTION_S 2e-6 /* extra kernel that sums the parts (section 5.1) */
#define SPLIT_K_MIN 512

static double matmul_s(const struct accelerator *device, const struct shape *shape,
                       double peak_flops_per_s)
{
    const double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k,
                 groups = (double)shape->groups;
    const double bytes = shape->element_bytes * groups * (m * k + k * n + m * n);
    const double bandwidth_Bps = device->memory_Bps * device->memory_efficiency_frac;
    double best = 0.0;
    for (uint32_t tile = 0; tile < GEMM_TILE_COUNT; tile++) {
        for (uint32_t split = 1; split <= 8; split *= 2) {
            if (split > 1 && shape->k / split < SPLIT_K_MIN) {
                break;
            }
            const double partials = split == 1 ? 0.0 : 8.0 * groups * m * n * (split - 1) / split;
            const double compute = tile_s(device, shape, tile, split, peak_flops_per_s);
            const double seconds = larger(compute, (bytes + partials) / bandwidth_Bps) +
                                   (split == 1 ? 0.0 : SPLIT_REDUCTION_S);
            best = best == 0.0 || seconds < best ? seconds : best;
        }
    }
    return best;
}

/* Joined weights stand side by side: outputs add, or for the input gradient the contracted width
 * adds. */
static double contract_s(const struct accelerator *device, const struct work_compute *const *items,
                         uint32_t count)
{
    struct shape shape = {items[0]->m, items[0]->n, items[0]->k, items[0]->groups,
                          items[0]->dtype == DTYPE_FP32 || items[0]->dtype == DTYPE_TF32 ? 4.0
                                                                                         : 2.0};
    for (uint32_t i = 1; i < count; i++) {
        shape.n += items[i]->pass == PASS_INPUT_GRADIENT ? 0 : items[i]->n;
        shape.k += items[i]->pass == PASS_INPUT_GRADIENT ? items[i]->k : 0;
    }
    return matmul_s(device, &shape, peak(device, items[0]->dtype)) + device->launch_s;
}

/* Linear between the head dims that the accelerator file lists, flat outside. */
static double attention_frac(const struct accelerator *device, const struct work_compute *item)
{
    const bool causal = item->density_frac < 1.0;
    double last_frac = 0.0, last_dim = 0.0;
    for (uint32_t i = 0; i < device->attention_point_count; i++) {
        const struct attention_point *point = &device->attention[i];
        const double frac = item->pass == PASS_FORWARD
                                ? (causal ? point->forward_frac : point->full_forward_frac)
                                : (causal ? point->backward_frac : point->full_backward_frac);
        const double dim = (double)point->head_dim, wanted = (double)item->head_dim;
        if (dim >= wanted) {
            return last_dim == 0.0
                       ? frac
                       : last_frac + (frac - last_frac) * (wanted - last_dim) / (dim - last_dim);
        }
        last_frac = frac;
        last_dim = dim;
    }
    assert(last_frac > 0.0);
    return last_frac;
}

/* Flash kernels lose on short sequences: rate = s / (s + s_half) of the long one. s_half fitted to
 * the cuDNN forward rows, head dim 128, of the FlashAttention-3 paper's H100 charts at 512 .. 16k
 * tokens (section 5.4), within 10 %: 300 causal, 100 full. */
#define FLASH_HALF_CAUSAL 300.0
#define FLASH_HALF_FULL 100.0
#define FLASH_BLOCK_ROWS 128

static double flash_s(const struct accelerator *device, const struct work_compute *item)
{
    const double half = item->density_frac < 1.0 ? FLASH_HALF_CAUSAL : FLASH_HALF_FULL;
    const double keys = (double)item->keys;
    const uint64_t blocks = item->batch * item->heads * ceil_div(item->queries, FLASH_BLOCK_ROWS);
    const uint64_t waves = ceil_div(blocks, device->compute_units);
    const double filled = (double)blocks / (double)(waves * device->compute_units);
    const double used = waves >= 4 ? 1.0 : filled; /* later waves start as earlier blocks end */
    const double rate =
        peak(device, DTYPE_BF16) * attention_frac(device, item) * keys / (keys + half) * used;
    const double memory_s = item->bytes / (device->memory_Bps * device->memory_efficiency_frac);
    return larger(item->flops / rate, memory_s) + device->launch_s;
}

/* Matmul, scaled masked softmax with dropout, matmul: the scores go through memory. Bytes per score
 * (section 5.5): softmax 4 forward and 6 backward, dropout 5 each way. Kernels: two matmuls with
 * softmax and dropout between, backward four with the same two (derived). */
#define PLAIN_FORWARD_BYTES 9.0
#define PLAIN_BACKWARD_BYTES 11.0
#define PLAIN_FORWARD_KERNELS 4.0
#define PLAIN_BACKWARD_KERNELS 6.0

static double plain_s(const struct accelerator *device, const struct work_compute *item)
{
    const bool forward = item->pass == PASS_FORWARD;
    const struct shape scores = {item->queries, item->keys, item->head_dim,
                                 item->batch * item->heads, 2.0};
    const struct shape values = {item->queries,
                                 item->value_dim > 0 ? item->value_dim : item->head_dim, item->keys,
                                 item->batch * item->heads, 2.0};
    const double peak_flops_per_s = peak(device, item->dtype);
    const double matmuls = (matmul_s(device, &scores, peak_flops_per_s) +
                            matmul_s(device, &values, peak_flops_per_s)) *
                           (forward ? 1.0 : 2.0);
    const double elements =
        (double)item->batch * (double)item->heads * (double)item->queries * (double)item->keys;
    const double bytes = elements * (forward ? PLAIN_FORWARD_BYTES : PLAIN_BACKWARD_BYTES);
    return matmuls + bytes / (device->memory_Bps * device->memory_efficiency_frac) +
           device->launch_s * (forward ? PLAIN_FORWARD_KERNELS : PLAIN_BACKWARD_KERNELS);
}

static double stream_s(const struct accelerator *device, const struct work_compute *const *items,
                       uint32_t count)
{
    double bytes = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += items[i]->bytes;
    }
    return bytes == 0.0
               ? 0.0
               : bytes / (device->memory_Bps * device->memory_efficiency_frac) + device->launch_s;
}

/* A kernel of its own making: at best the rate of the smallest matmul tiles, or memory. */
static double kernel_s(const struct accelerator *device, const struct work_compute *item)
{
    const double rate = peak(device, item->dtype) * device->gemm_efficiency_frac *
                        device->gemm_tile_frac[GEMM_TILE_COUNT - 1];
    const double memory_s = item->bytes / (device->memory_Bps * device->memory_efficiency_frac);
    return larger(item->flops / rate, memory_s) + device->launch_s;
}

double prices_compute_s(const struct prices *prices, uint32_t accelerator,
                        const struct work_compute *const *items, uint32_t count,
                        enum provenance *provenance)
{
    assert(accelerator < prices->accelerator_count && count > 0);
    const struct accelerator *device = &prices->accelerators[accelerator];
    double seconds = 0.0;
    switch (items[0]->kind) {
    case OP_CONTRACT: seconds = contract_s(device, items, count); break;
    case OP_ATTENTION:
        seconds = items[0]->flash ? flash_s(device, items[0]) : plain_s(device, items[0]);
        break;
    case OP_STREAM:
    case OP_LOOKUP: seconds = stream_s(device, items, count); break;
    case OP_KERNEL: seconds = kernel_s(device, items[0]); break;
    case OP_KIND_COUNT: BUG("no op kind");
    }
    *provenance = PROVENANCE_ANALYTIC;
    return larger(seconds, prices->op_overhead_s);
}
