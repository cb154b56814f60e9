/* Seconds of attention: flash kernels by their measured share of the peak, plain ones as matrix
 * multiplies around a softmax (constants in the accelerator files, from the charts of arXiv
 * 2407.08608). */
#include <assert.h>

#include "prices/prices_inside.h"

static bool is_masked(const struct work_compute *item)
{
    return item->density_frac < 1.0;
}

static double point_frac(const struct attention_point *point, enum work_pass pass, bool masked)
{
    return pass == PASS_FORWARD ? (masked ? point->forward_frac : point->full_forward_frac)
                                : (masked ? point->backward_frac : point->full_backward_frac);
}

/* Linear between the head dims that the accelerator file lists, flat outside. */
static double table_frac(const struct accelerator *device, uint64_t head_dim, enum work_pass pass,
                         bool masked)
{
    double last_frac = 0.0, last_dim = 0.0;
    for (uint32_t i = 0; i < device->attention_point_count; i++) {
        const struct attention_point *point = &device->attention[i];
        const double frac = point_frac(point, pass, masked);
        const double dim = (double)point->head_dim, wanted = (double)head_dim;
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

#define BENCH_HEAD_DIM 128

static double attention_frac(const struct accelerator *device, const struct work_compute *item,
                             bool bench)
{
    const double frac = table_frac(device, item->head_dim, item->pass, is_masked(item));
    if (!bench || device->bench.attention_frac == 0.0) {
        return frac;
    }
    const double first = frac * device->bench.attention_frac /
                         table_frac(device, BENCH_HEAD_DIM, PASS_FORWARD, true);
    return first < 1.0 ? first : 1.0;
}

#define FLASH_BLOCK_ROWS 128

/* Short rows of scores and few blocks lose: rate = seen / (seen + half) of the long one for the
 * keys seen on average, and the last blocks run alone for `tail` times one block. */
static double flash_s(const struct accelerator *device, const struct work_compute *item, bool bench)
{
    const double seen = (double)item->keys * item->density_frac;
    const double half =
        is_masked(item) ? device->attention_masked_half_keys : device->attention_full_half_keys;
    const uint64_t row_blocks = (item->queries + FLASH_BLOCK_ROWS - 1) / FLASH_BLOCK_ROWS;
    const double rounds =
        (double)(item->batch * item->heads * row_blocks) / (double)device->compute_units;
    const double tail = item->pass == PASS_FORWARD ? device->attention_forward_tail
                                                   : device->attention_backward_tail;
    const double rate = price_find_peak(device, DTYPE_BF16) * attention_frac(device, item, bench) *
                        (bench ? 1.0 : price_clock_frac(device, DTYPE_BF16));
    const double even_s = item->flops / rate * (1.0 + half / seen);
    /* fewer blocks than units: one block's time at least */
    const double first_s =
        even_s * (rounds < 1.0 && tail < 1.0 ? 1.0 / rounds : 1.0 + tail / rounds);
    const double compute_s = bench ? price_settle_s(device, first_s) : first_s;
    const double memory_s = price_memory_s(device, item->bytes);
    return compute_s > memory_s ? compute_s : memory_s;
}

/* Matmul, scaled masked softmax with dropout, matmul: the scores go through memory. Bytes per score
 * of two-byte formats: softmax reads and writes one, backward reads two and writes one, dropout
 * reads and writes one beside a mask of a byte: 4, 6, 5 each way. Kernels: two matmuls with
 * softmax and dropout between, backward four with the same two (derived). */
#define PLAIN_FORWARD_BYTES 9.0
#define PLAIN_BACKWARD_BYTES 11.0
#define PLAIN_FORWARD_KERNELS 4.0
#define PLAIN_BACKWARD_KERNELS 6.0

static double plain_s(const struct accelerator *device, const struct work_compute *item, bool bench)
{
    const bool forward = item->pass == PASS_FORWARD;
    const uint64_t groups = item->batch * item->heads;
    const struct matmul_shape scores = {item->queries, item->keys,  item->head_dim,
                                        groups,        item->dtype, 0.0};
    const struct matmul_shape values = {
        item->queries, item->value_dim > 0 ? item->value_dim : item->head_dim,
        item->keys,    groups,
        item->dtype,   0.0};
    const double matmuls_s =
        (price_matmul_s(device, &scores, bench) + price_matmul_s(device, &values, bench)) *
        (forward ? 1.0 : 2.0);
    const double elements = (double)groups * (double)item->queries * (double)item->keys;
    const double bytes = elements * (forward ? PLAIN_FORWARD_BYTES : PLAIN_BACKWARD_BYTES);
    const double other_kernels = (forward ? PLAIN_FORWARD_KERNELS : PLAIN_BACKWARD_KERNELS) - 1.0;
    return matmuls_s + price_memory_s(device, bytes) + device->launch_s * other_kernels;
}

double price_attention_s(const struct accelerator *device, const struct work_compute *item,
                         bool bench)
{
    return item->flash ? flash_s(device, item, bench) : plain_s(device, item, bench);
}
