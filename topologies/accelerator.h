/* One kind of device: what it computes, holds, moves per second. */
#ifndef SHARDPLAN_TOPOLOGIES_ACCELERATOR_H
#define SHARDPLAN_TOPOLOGIES_ACCELERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
#include "topologies/host.h"
#include "topologies/scaleup.h"

enum dtype { DTYPE_FP32, DTYPE_TF32, DTYPE_BF16, DTYPE_FP16, DTYPE_FP8, DTYPE_FP4, DTYPE_COUNT };

const char *dtype_name(enum dtype dtype);
double dtype_bytes(enum dtype dtype);  /* of one element as stored; scales of blocks not counted */

#define GEMM_TILE_COUNT 5 /* 256x128, 128x256, 128x128, 128x64, 64x64 */
#define ATTENTION_POINT_MAX 8

/* Achieved share of the matrix peak of attention kernels for one head dim, of the FLOPs that the
 * mask leaves. */
struct attention_point {
    uint32_t head_dim;
    double forward_frac, backward_frac;           /* under a causal mask */
    double full_forward_frac, full_backward_frac; /* without a mask */
};

/* What kernels reach when measured alone, back to back for some milliseconds: the clock has not yet
 * come down to what a step of training holds for hours. */
struct accelerator_bench {
    double efficiency_frac[DTYPE_COUNT]; /* of the peak, large tiles, at first; 0: not measured */
    double attention_frac; /* causal forward, head dim 128, at first; 0: not measured */
    double gain;     /* rate at first over the rate that a long kernel settles at, >= 1 */
    double settle_s; /* kernel time by which half of the gain is gone */
    /* What serving libraries do inside the measured call. */
    double quantise_bytes[DTYPE_COUNT]; /* memory traffic per element of the left matrix */
    double prefill_passes;              /* times that q, k, v and the output go through memory */
    const char *source;
};

/* What holds for the hours of a training run: power caps the clock, and a job waits for the slowest
 * of its devices. Built in memory: all fractions 1, spread 0. */
struct accelerator_training {
    double clock_frac;              /* matrix rate over what the gemm and attention groups say */
    double narrow_clock_frac;       /* the same of fp8 and fp4 */
    double portable_attention_frac; /* rate of attention kernels that are not written for the
                                     * device's own instructions, over those that are */
    double spread_frac;             /* standard deviation of the speed of equal devices */
    const char *source;
};

struct accelerator {
    const char *name;
    const char *vendor;
    const char *kind; /* "gpu", "tpu", "wafer": for people; "" if not given */
    uint32_t year;    /* of release, for people; 0 if not given */
    uint64_t memory_bytes;
    double memory_Bps;
    double peak_flops_per_s[DTYPE_COUNT]; /* dense; 0: not supported */
    uint32_t compute_units;
    double boost_clock_hz;
    double gemm_efficiency_frac; /* of the peak, large tiles */
    double gemm_k_overhead;      /* elements added to K per tile: prologue and epilogue */
    double gemm_low_k_overhead;  /* the same of fp8 and fp4 */
    double gemm_wave_frac; /* share of an unfinished wave of tiles that is lost, 1: all of it */
    double launch_s;             /* fixed time of a kernel */
    double gemm_tile_frac[GEMM_TILE_COUNT];
    double memory_efficiency_frac;                         /* of memory_Bps, streaming kernels */
    struct attention_point attention[ATTENTION_POINT_MAX]; /* by ascending head_dim */
    uint32_t attention_point_count;
    /* Keys that a query sees on average at which the rate is half of that of long sequences. */
    double attention_full_half_keys, attention_masked_half_keys;
    /* Time of the last blocks, in times of one block on one compute unit. */
    double attention_forward_tail, attention_backward_tail;
    struct accelerator_bench bench;
    struct accelerator_training training;
    double tdp_w;
    struct host host; /* that such devices sit in, in this cluster */
    struct scaleup scaleup; /* for completing topology files; not dumped */
    uint32_t pci_generation; /* 0 if not given; not dumped */
    const char *source;                         /* provenance of the constants, for reports */
    const char *gemm_source, *attention_source; /* of those two groups */
};

/* Finds NAME (without case, aliases too) among topologies/accelerators/ of the data folder; unknown
 * names are reported with the nearest as hint at `place`. */
bool accelerator_read(const char *name, struct diag_place place, struct arena *arena,
                      struct accelerator *out, struct diag *diag);
bool accelerator_read_json(struct json_value object, struct arena *arena, struct accelerator *out,
                           struct diag *diag);
bool accelerator_check(const struct accelerator *accelerator, struct diag *diag);
void accelerator_dump(const struct accelerator *accelerator, struct json_writer *out);

#endif
