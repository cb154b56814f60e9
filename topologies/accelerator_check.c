/* Sanity of an accelerator: every figure within what devices are built with. */
#include <float.h>

#include "topologies/accelerator_inside.h"

/* Against slips of a unit: some fifty times beyond the extremes of what is built, which are wafers
 * (44 GB at 21 PB/s, 23 kW), processors with 1.6 TB, and devices of 35 PFLOP/s in fp4. FLOP per
 * byte of memory traffic span 0.4 (a wafer's fp32) to 1900 (fp4). The bytes: ACCELERATOR_BYTES_MAX,
 * which reading looks at too. */
#define MEMORY_BPS_MAX 1e18
#define PEAK_MAX 2e18
#define INTENSITY_MAX 1e5
#define LAUNCH_S_MAX 0.01
#define CLOCK_HZ_MAX 1e11
#define TDP_W_MAX 1e6

static bool is_positive(double value)
{
    return value > 0 && value <= DBL_MAX;
}

static bool is_not_negative(double value)
{
    return value >= 0 && value <= DBL_MAX;
}

static bool is_frac(double value)
{
    return value > 0 && value <= 1;
}

static bool expect(bool good, const struct accelerator *accelerator, struct diag_place place,
                   const char *belief, struct diag *diag)
{
    return good || diag_push(diag, DIAG_T304, place, NULL, "accelerator '%s': %s",
                             accelerator->name, belief);
}

static bool check_peaks(const struct accelerator *accelerator, struct diag_place place,
                        struct diag *diag)
{
    double most = 0;
    bool good = true;
    for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
        const double peak = accelerator->peak_flops_per_s[i];
        most = peak > most ? peak : most;
        good = good && is_not_negative(peak);
    }
    if (!good || !(most > 0)) {
        return expect(false, accelerator, place,
                      "its peak must be over 0 FLOP/s for at least one of fp32, tf32, bf16, fp16, "
                      "fp8 and fp4",
                      diag);
    }
    return expect(most <= PEAK_MAX, accelerator, place,
                  "a peak of over 2 EFLOP/s is more than any device has: is the unit right?",
                  diag) &&
           expect(!(accelerator->memory_Bps > 0) || most <= INTENSITY_MAX * accelerator->memory_Bps,
                  accelerator, place,
                  "its peak is over 100000 FLOP per byte of memory bandwidth: is a unit wrong?",
                  diag);
}

static bool check_kernels(const struct accelerator *accelerator, struct diag_place place,
                          struct diag *diag)
{
    bool good = is_frac(accelerator->gemm_efficiency_frac);
    for (uint32_t i = 0; i < GEMM_TILE_COUNT; i++) {
        good = good && is_frac(accelerator->gemm_tile_frac[i]);
    }
    good = expect(good && is_frac(accelerator->memory_efficiency_frac), accelerator, place,
                  "efficiencies and tile factors must be over 0 and at most 1", diag);
    good = expect(is_not_negative(accelerator->gemm_k_overhead) &&
                      is_not_negative(accelerator->gemm_low_k_overhead) &&
                      is_not_negative(accelerator->launch_s),
                  accelerator, place, "K overhead and launch time must not be negative", diag) &&
           good;
    good = expect(!(accelerator->launch_s > LAUNCH_S_MAX), accelerator, place,
                  "a launch takes more than 10 ms: kernels start within microseconds", diag) &&
           good;
    good = expect(accelerator->gemm_wave_frac >= 0 && accelerator->gemm_wave_frac <= 1, accelerator,
                  place, "the lost share of a wave is from 0 to 1", diag) &&
           good;
    bool points = accelerator->attention_point_count <= ATTENTION_POINT_MAX;
    for (uint32_t i = 0; points && i < accelerator->attention_point_count; i++) {
        const struct attention_point *point = &accelerator->attention[i];
        points = point->head_dim > (i == 0 ? 0 : accelerator->attention[i - 1].head_dim);
        points = points && is_frac(point->forward_frac) && is_frac(point->backward_frac) &&
                 is_frac(point->full_forward_frac) && is_frac(point->full_backward_frac);
    }
    return expect(points, accelerator, place,
                  "attention fractions must be over 0 and at most 1, by ascending head dimension",
                  diag) &&
           good;
}

bool accelerator_check_at(const struct accelerator *accelerator, struct diag_place place,
                          struct diag *diag)
{
    bool good = expect(
        accelerator->memory_bytes > 0 && (double)accelerator->memory_bytes <= ACCELERATOR_BYTES_MAX,
        accelerator, place, "memory must be over 0 and at most 100 TB, such as \"80 GiB\"", diag);
    good =
        expect(is_positive(accelerator->memory_Bps) && accelerator->memory_Bps <= MEMORY_BPS_MAX,
               accelerator, place,
               "memory bandwidth must be over 0 B/s and at most 1000 PB/s, such as \"3350 GB/s\"",
               diag) &&
        good;
    good =
        expect(!(accelerator->boost_clock_hz > CLOCK_HZ_MAX) && !(accelerator->tdp_w > TDP_W_MAX),
               accelerator, place, "a clock over 100 GHz, or over 1 MW, is not of one device",
               diag) &&
        good;
    good =
        expect(is_not_negative(accelerator->boost_clock_hz) && is_not_negative(accelerator->tdp_w),
               accelerator, place, "clock and power must not be negative", diag) &&
        good;
    good = check_peaks(accelerator, place, diag) && good;
    return check_kernels(accelerator, place, diag) && good;
}

bool accelerator_check(const struct accelerator *accelerator, struct diag *diag)
{
    return accelerator_check_at(accelerator, (struct diag_place){.file = NULL}, diag);
}
