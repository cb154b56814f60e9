/* The CPU twin: processor time of single-threaded products, by the CBLAS that the build found or by
 * blocked loops. */
#include "tools/profiler/timed_machine.h"

#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "topologies/accelerator.h"

#ifdef SHARDPLAN_CBLAS
#include <cblas.h>
#endif

static struct arena arena;
static float *left, *right, *product;
static uint64_t element_count; /* of each */

/* Of this process: others on the machine take turns, but not of these seconds. */
static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool open_cpu(uint64_t buffer_bytes)
{
#ifdef SHARDPLAN_CBLAS
    openblas_set_num_threads(1);
#endif
    arena_init(&arena);
    element_count = buffer_bytes / 3 / sizeof(float);
    left = ARENA_PUSH(&arena, float, element_count);
    right = ARENA_PUSH(&arena, float, element_count);
    product = ARENA_PUSH(&arena, float, element_count);
    for (uint64_t i = 0; i < element_count; i++) {
        left[i] = (float)(i % 13) * 0.1f - 0.6f;
        right[i] = (float)(i % 17) * 0.1f - 0.8f;
        product[i] = 0.0f;
    }
    return true;
}

static void close_cpu(void)
{
    arena_release(&arena);
}

static bool has_dtype(uint32_t dtype)
{
    return dtype == DTYPE_FP32;
}

#ifdef SHARDPLAN_CBLAS
#define LIBRARY "CBLAS"

static void multiply(uint64_t m, uint64_t n, uint64_t k)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1.0f, left,
                (int)k, right, (int)n, 0.0f, product, (int)n);
}
#else
#define LIBRARY "blocked loops"
#define BLOCK 64u

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One block of the product gains one block of the contraction. */
static void multiply_block(uint64_t row, uint64_t inner, uint64_t m, uint64_t n, uint64_t k)
{
    const uint64_t last_row = smaller(row + BLOCK, m), last_inner = smaller(inner + BLOCK, k);
    for (uint64_t i = row; i < last_row; i++) {
        float *restrict out = product + i * n;
        for (uint64_t p = inner; p < last_inner; p++) {
            const float factor = left[i * k + p];
            const float *restrict in = right + p * n;
            for (uint64_t j = 0; j < n; j++) {
                out[j] += factor * in[j];
            }
        }
    }
}

static void multiply(uint64_t m, uint64_t n, uint64_t k)
{
    memset(product, 0, m * n * sizeof *product);
    for (uint64_t row = 0; row < m; row += BLOCK) {
        for (uint64_t inner = 0; inner < k; inner += BLOCK) {
            multiply_block(row, inner, m, n, k);
        }
    }
}
#endif

static bool matmul(const struct machine_matmul *shape, uint32_t repeats, double *seconds)
{
    if (!has_dtype(shape->dtype) || shape->m * shape->k > element_count ||
        shape->k * shape->n > element_count || shape->m * shape->n > element_count) {
        return false;
    }
    multiply(shape->m, shape->n, shape->k); /* warm-up */
    for (uint32_t i = 0; i < repeats; i++) {
        const double start_s = now_s();
        multiply(shape->m, shape->n, shape->k);
        seconds[i] = now_s() - start_s;
    }
    return true;
}

static bool copy(uint64_t bytes, uint32_t repeats, double *seconds)
{
    const size_t half = bytes / 2;
    if (half > element_count * sizeof *left || half == 0) {
        return false;
    }
    memcpy(product, left, half); /* warm-up */
    for (uint32_t i = 0; i < repeats; i++) {
        const double start_s = now_s();
        memcpy(product, i % 2 == 0 ? left : right, half);
        seconds[i] = now_s() - start_s;
    }
    return true;
}

static const char *name(void)
{
    return "";
}

const struct machine machine_cpu = {.library = LIBRARY,
                                    .open = open_cpu,
                                    .close = close_cpu,
                                    .has_dtype = has_dtype,
                                    .matmul = matmul,
                                    .copy = copy,
                                    .name = name};
