/* The GPU side: products of cuBLASLt, copies in device memory, timed by events. */
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstring>

#include "tools/profiler/timed_machine.h"

/* Indices of enum dtype in topologies/accelerator.h, which C++ does not read. */
enum { FP32, TF32, BF16, FP16, FP8, FP4 };

#define WORKSPACE_BYTES (64ull << 20)

static struct {
    cublasLtHandle_t library;
    void *left, *right, *product, *workspace;
    uint64_t bytes; /* of each of the first three */
    struct cudaDeviceProp device;
} gpu;

static bool good(cudaError_t status)
{
    return status == cudaSuccess;
}

static bool open_cuda(uint64_t buffer_bytes)
{
    gpu.bytes = buffer_bytes / 3;
    return good(cudaSetDevice(0)) && good(cudaGetDeviceProperties(&gpu.device, 0)) &&
           good(cudaMalloc(&gpu.left, gpu.bytes)) && good(cudaMalloc(&gpu.right, gpu.bytes)) &&
           good(cudaMalloc(&gpu.product, gpu.bytes)) &&
           good(cudaMalloc(&gpu.workspace, WORKSPACE_BYTES)) &&
           /* small numbers of either sign in every format: power depends on the bits that toggle */
           good(cudaMemset(gpu.left, 0x35, gpu.bytes)) &&
           good(cudaMemset(gpu.right, 0xB2, gpu.bytes)) &&
           cublasLtCreate(&gpu.library) == CUBLAS_STATUS_SUCCESS;
}

static void close_cuda(void)
{
    cublasLtDestroy(gpu.library);
    cudaFree(gpu.workspace);
    cudaFree(gpu.product);
    cudaFree(gpu.right);
    cudaFree(gpu.left);
}

static cudaDataType_t type_of(uint32_t dtype)
{
    return dtype == FP8    ? CUDA_R_8F_E4M3
           : dtype == BF16 ? CUDA_R_16BF
           : dtype == FP16 ? CUDA_R_16F
                           : CUDA_R_32F;
}

static bool has_dtype(uint32_t dtype)
{
    const int generation = 10 * gpu.device.major + gpu.device.minor;
    return dtype == FP32 || dtype == FP16 || (dtype == TF32 && generation >= 80) ||
           (dtype == BF16 && generation >= 80) || (dtype == FP8 && generation >= 89);
}

static uint64_t element_bytes(uint32_t dtype)
{
    return dtype == FP8 ? 1 : dtype == BF16 || dtype == FP16 ? 2 : 4;
}

/* Runs `call` once to warm up and `repeats` times between pairs of events. */
template <typename Call> static bool time_calls(uint32_t repeats, double *seconds, Call call)
{
    cudaEvent_t start, stop;
    bool fine = call() && good(cudaDeviceSynchronize()) && good(cudaEventCreate(&start));
    fine = fine && good(cudaEventCreate(&stop));
    for (uint32_t i = 0; fine && i < repeats; i++) {
        float milliseconds = 0.0f;
        fine = good(cudaEventRecord(start)) && call() && good(cudaEventRecord(stop)) &&
               good(cudaEventSynchronize(stop)) &&
               good(cudaEventElapsedTime(&milliseconds, start, stop));
        seconds[i] = 1e-3 * milliseconds;
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaGetLastError();
    return fine;
}

/* D (m x n) = A' B, both with K innermost: the layout that every format has. */
struct product {
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t choice;
};

static bool describe(const struct machine_matmul *shape, struct product *out)
{
    const cudaDataType_t type = type_of(shape->dtype);
    const cudaDataType_t result = shape->dtype == FP8 ? CUDA_R_16BF : type;
    const cublasComputeType_t compute =
        shape->dtype == TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const size_t workspace = WORKSPACE_BYTES;
    int found = 0;
    return cublasLtMatmulDescCreate(&out->operation, compute, CUDA_R_32F) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulDescSetAttribute(out->operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                          sizeof transposed) == CUBLAS_STATUS_SUCCESS &&
           cublasLtMatrixLayoutCreate(&out->a, type, shape->k, shape->m, (int64_t)shape->k) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatrixLayoutCreate(&out->b, type, shape->k, shape->n, (int64_t)shape->k) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatrixLayoutCreate(&out->d, result, shape->m, shape->n, (int64_t)shape->m) ==
               CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulPreferenceCreate(&out->preference) == CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulPreferenceSetAttribute(
               out->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
               sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
           cublasLtMatmulAlgoGetHeuristic(gpu.library, out->operation, out->a, out->b, out->d,
                                          out->d, out->preference, 1, &out->choice,
                                          &found) == CUBLAS_STATUS_SUCCESS &&
           found == 1;
}

static void forget(struct product *product)
{
    if (product->preference != NULL) {
        cublasLtMatmulPreferenceDestroy(product->preference);
    }
    cublasLtMatrixLayout_t layouts[] = {product->a, product->b, product->d};
    for (cublasLtMatrixLayout_t layout : layouts) {
        if (layout != NULL) {
            cublasLtMatrixLayoutDestroy(layout);
        }
    }
    if (product->operation != NULL) {
        cublasLtMatmulDescDestroy(product->operation);
    }
}

static bool matmul(const struct machine_matmul *shape, uint32_t repeats, double *seconds)
{
    const uint64_t bytes = element_bytes(shape->dtype);
    const uint64_t result_bytes = shape->dtype == FP8 ? 2 : bytes;
    struct product product;
    memset(&product, 0, sizeof product);
    if (!has_dtype(shape->dtype) || shape->m * shape->k * bytes > gpu.bytes ||
        shape->k * shape->n * bytes > gpu.bytes || shape->m * shape->n * result_bytes > gpu.bytes) {
        return false;
    }
    const float one = 1.0f, zero = 0.0f;
    const bool fine = describe(shape, &product) && time_calls(repeats, seconds, [&]() {
                          return cublasLtMatmul(gpu.library, product.operation, &one, gpu.left,
                                                product.a, gpu.right, product.b, &zero, gpu.product,
                                                product.d, gpu.product, product.d,
                                                &product.choice.algo, gpu.workspace,
                                                WORKSPACE_BYTES, 0) == CUBLAS_STATUS_SUCCESS;
                      });
    forget(&product);
    return fine;
}

static bool copy(uint64_t bytes, uint32_t repeats, double *seconds)
{
    return bytes / 2 <= gpu.bytes && time_calls(repeats, seconds, [&]() {
               return good(cudaMemcpyAsync(gpu.product, gpu.left, bytes / 2,
                                           cudaMemcpyDeviceToDevice, 0));
           });
}

static const char *name(void)
{
    return gpu.device.name;
}

extern "C" const struct machine machine_cuda = {
    "cuBLASLt", open_cuda, close_cuda, has_dtype, matmul, copy, name,
};
