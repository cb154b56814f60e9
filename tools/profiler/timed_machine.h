/* A machine that can be timed: what the profiler asks of its CPU twin and of its CUDA side. */
#ifndef SHARDPLAN_TOOLS_PROFILER_TIMED_MACHINE_H
#define SHARDPLAN_TOOLS_PROFILER_TIMED_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number formats by their index in enum dtype, so that C++ need not read that header. */
struct machine_matmul {
    uint32_t dtype;
    uint64_t m, n, k;
};

/* One at a time; its buffers are its own. Timers fill `seconds` with `repeats` times, one per call,
 * of which the caller takes what it needs. False: the machine cannot do that (no units of the
 * format, not enough memory). */
struct machine {
    const char *library;        /* what multiplies, for the profile's source */
    bool (*open)(uint64_t buffer_bytes);
    void (*close)(void);
    bool (*has_dtype)(uint32_t dtype);
    bool (*matmul)(const struct machine_matmul *shape, uint32_t repeats, double *seconds);
    /* Reads half of the bytes, writes the other half. */
    bool (*copy)(uint64_t bytes, uint32_t repeats, double *seconds);
    /* "" if it does not know its own name. */
    const char *(*name)(void);
};

extern const struct machine machine_cpu;
#ifdef SHARDPLAN_CUDA
extern const struct machine machine_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
