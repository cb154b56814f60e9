/* One kind of device: what it computes, holds, moves per second. */
#ifndef SHARDPLAN_TOPOLOGIES_ACCELERATOR_H
#define SHARDPLAN_TOPOLOGIES_ACCELERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/json.h"
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
    double launch_s;             /* fixed time of a kernel */
    double gemm_tile_frac[GEMM_TILE_COUNT];
    double memory_efficiency_frac;                         /* of memory_Bps, streaming kernels */
    struct attention_point attention[ATTENTION_POINT_MAX]; /* by ascending head_dim */
    uint32_t attention_point_count;
    double tdp_w;
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
