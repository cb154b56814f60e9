/* Seconds of one kernel by its kind: multiplied, attended or moved through memory. */
#include <assert.h>

#include "prices/measured_kernels.h"

double price_settle_s(const struct accelerator *device, double first_s)
{
    const struct accelerator_bench *bench = &device->bench;
    return bench->gain <= 1.0
               ? first_s
               : first_s * (1.0 + (bench->gain - 1.0) * first_s / (first_s + bench->settle_s));
}

double price_memory_s(const struct accelerator *device, double bytes)
{
    return bytes / (device->memory_Bps * device->memory_efficiency_frac);
}

/* One kernel as a device runs it, and what was measured of the like. */
struct asked {
    const struct accelerator *device;
    const struct measured_kernels *measured; /* NULL: nothing */
    bool bench;
    double gradient_bytes; /* per element of what matmuls add weight gradients to; 0: to nothing */
    enum provenance provenance;
};

static double measured_s(struct asked *asked, const struct residual_table *table,
                         const double at[RESIDUAL_AXES_MAX], double formula_s)
{
    const double kernel_s = formula_s + asked->device->launch_s;
    return kernel_s * residual_find(table, at, UINT32_MAX, &asked->provenance);
}

/* The two half formats run alike: one speaks for the other. */
static const struct residual_table *matmul_table(const struct measured_kernels *measured,
                                                 enum dtype dtype)
{
    const enum dtype other = dtype == DTYPE_BF16   ? DTYPE_FP16
                             : dtype == DTYPE_FP16 ? DTYPE_BF16
                                                   : dtype;
    return &measured->matmuls[measured->matmuls[dtype].count > 0 ? dtype : other];
}

/* Joined weights stand side by side: outputs add, or for the input gradient the contracted width
 * adds. */
static double contract_s(struct asked *asked, const struct work_compute *const *items,
                         uint32_t count)
{
    struct matmul_shape shape = {items[0]->m,      items[0]->n,     items[0]->k,
                                 items[0]->groups, items[0]->dtype, 0.0};
    double at[RESIDUAL_AXES_MAX];
    /* gradients of earlier micro-batches are read, their sums written (section 5.1) */
    shape.result_bytes = items[0]->pass == PASS_WEIGHT_GRADIENT ? 2.0 * asked->gradient_bytes : 0.0;
    for (uint32_t i = 1; i < count; i++) {
        shape.n += items[i]->pass == PASS_INPUT_GRADIENT ? 0 : items[i]->n;
        shape.k += items[i]->pass == PASS_INPUT_GRADIENT ? items[i]->k : 0;
    }
    const double formula_s = price_matmul_s(asked->device, &shape, asked->bench);
    if (asked->measured == NULL) {
        return formula_s + asked->device->launch_s;
    }
    measured_kernels_place_matmul(&shape, at);
    return measured_s(asked, matmul_table(asked->measured, shape.dtype), at, formula_s);
}

static double attention_s(struct asked *asked, const struct work_compute *item)
{
    const double formula_s = price_attention_s(asked->device, item, asked->bench);
    double at[RESIDUAL_AXES_MAX];
    if (asked->measured == NULL || !item->flash) {
        return formula_s + asked->device->launch_s;
    }
    measured_kernels_place_attention(item, at);
    return measured_s(asked, &asked->measured->attentions[item->pass == PASS_FORWARD ? 0 : 1], at,
                      formula_s);
}

static double stream_s(struct asked *asked, const struct work_compute *const *items, uint32_t count)
{
    double bytes = 0.0;
    double at[RESIDUAL_AXES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        bytes += items[i]->bytes;
    }
    if (bytes == 0.0) {
        return 0.0;
    }
    const double formula_s = price_memory_s(asked->device, bytes);
    if (asked->measured == NULL) {
        return formula_s + asked->device->launch_s;
    }
    measured_kernels_place_stream(bytes, at);
    return measured_s(asked, &asked->measured->streams, at, formula_s);
}

/* A kernel of its own making: at best the rate of the smallest matmul tiles, or memory. */
static double kernel_s(const struct accelerator *device, const struct work_compute *item)
{
    const double rate = price_find_peak(device, item->dtype) * device->gemm_efficiency_frac *
                        device->gemm_tile_frac[GEMM_TILE_COUNT - 1];
    const double compute_s = item->flops / rate;
    const double memory_s = price_memory_s(device, item->bytes);
    return (compute_s > memory_s ? compute_s : memory_s) + device->launch_s;
}

/* Of the runtime's fused attention over the device's best. */
static double attention_rate(const struct accelerator *device, const struct runtime *runtime,
                             const struct work_compute *item)
{
    if (runtime == NULL || !item->flash) {
        return 1.0;
    }
    const double portable = device->training.portable_attention_frac;
    return runtime->attention_frac *
           (runtime->portable_attention && portable > 0.0 ? portable : 1.0);
}

/* Optimizers and conversions of number formats are one kernel everywhere. */
static double stream_factor(const struct runtime *runtime, const struct work_compute *item)
{
    const bool fused = runtime == NULL || item->pass == PASS_UPDATE || item->converts;
    return fused || runtime->stream_factor < 1.0 ? 1.0 : runtime->stream_factor;
}

/* Around a kernel: gaps and small kernels of the runtime. Where the host has waited for counts it
 * has not run ahead: the device waits for what it launches then. */
static double lost_s(const struct runtime *runtime, const struct work_compute *item)
{
    return runtime == NULL
               ? 0.0
               : runtime->op_gap_s + (item->counts ? runtime->dispatch_overhead_s : 0.0);
}

/* Rows that change places: rate over that of streams in order (SimuMax on B200, 0.50 of the peak
 * beside 0.666; hardware_costs of the project's references, section 5.5). */
#define PERMUTE_FRAC 0.75

double prices_compute_s(const struct prices *prices, uint32_t accelerator,
                        const struct work_compute *const *items, uint32_t count,
                        enum provenance *provenance)
{
    assert(accelerator < prices->accelerator_count && count > 0);
    struct asked asked = {
        .device = &prices->accelerators[accelerator],
        .measured = prices->measured == NULL ? NULL : &prices->measured[accelerator],
        .bench = prices->bench,
        .gradient_bytes = prices->runtime == NULL || !prices->runtime->fuses_accumulation
                              ? 0.0
                              : prices->runtime->gradient_bytes,
        .provenance = PROVENANCE_ANALYTIC,
    };
    double seconds = 0.0;
    if (items[0]->on_host) {
        assert(asked.device->host.memory_bytes > 0 && count == 1);
        *provenance = PROVENANCE_ANALYTIC;
        return items[0]->bytes / host_update_Bps(&asked.device->host);
    }
    switch (items[0]->kind) {
    case OP_CONTRACT: seconds = contract_s(&asked, items, count); break;
    case OP_ATTENTION:
        seconds =
            attention_s(&asked, items[0]) / attention_rate(asked.device, prices->runtime, items[0]);
        break;
    case OP_STREAM:
        seconds = stream_s(&asked, items, count) * stream_factor(prices->runtime, items[0]) /
                  (items[0]->permutes ? PERMUTE_FRAC : 1.0);
        break;
    case OP_LOOKUP: seconds = stream_s(&asked, items, count); break;
    case OP_KERNEL: seconds = kernel_s(asked.device, items[0]); break;
    case OP_KIND_COUNT: BUG("no op kind");
    }
    *provenance = asked.provenance;
    return seconds == 0.0
               ? 0.0
               : seconds * (1.0 + prices->spread_loss_frac) + lost_s(prices->runtime, items[0]);
}
