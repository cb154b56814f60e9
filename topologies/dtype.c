/* Names and sizes of number formats. */
#include "topologies/accelerator.h"

static const char *const names[DTYPE_COUNT] = {
    [DTYPE_FP32] = "fp32", [DTYPE_TF32] = "tf32", [DTYPE_BF16] = "bf16",
    [DTYPE_FP16] = "fp16", [DTYPE_FP8] = "fp8",   [DTYPE_FP4] = "fp4",
};

const char *dtype_name(enum dtype dtype)
{
    return names[dtype];
}

double dtype_bytes(enum dtype dtype)
{
    static const double bytes[DTYPE_COUNT] = {
        [DTYPE_FP32] = 4.0, [DTYPE_TF32] = 4.0, [DTYPE_BF16] = 2.0,
        [DTYPE_FP16] = 2.0, [DTYPE_FP8] = 1.0,  [DTYPE_FP4] = 0.5,
    };
    return bytes[dtype];
}
