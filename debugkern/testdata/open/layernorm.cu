// layernorm: y = (x − mean) · rsqrt(var + eps) of every row of Q, half in and out, a warp a row and a lane two columns.
//
// Launch    grid (ceil(S / 8), H, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64.
// Probes    mean and var after the barrier; y is the output itself
// Faults    FAULT_DIVISOR: the variance is divided by D − 1. FAULT_NEIGHBOUR: a row subtracts the mean of the row next to it.
//           FAULT_EPS: eps is forgotten, which shows only in a row of equal numbers.
//
// Shared memory, in bytes: mean_s, var_s float [8]: 64.
#include <cuda_fp16.h>
#include "tilescope.cuh"

#ifndef FAULT_DIVISOR
#define FAULT_DIVISOR 0
#endif
#ifndef FAULT_NEIGHBOUR
#define FAULT_NEIGHBOUR 0
#endif
#ifndef FAULT_EPS
#define FAULT_EPS 0
#endif

namespace {
constexpr int ROWS = 8, DIM = 64, WARPS = 4;

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
layernorm(const half* __restrict__ X, half* __restrict__ Y, int H, int S, float eps TS_PARAM) {
    __shared__ float mean_s[ROWS];
    __shared__ float var_s[ROWS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = blockIdx.x * ROWS;
    const size_t base = ((static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S + row0) * DIM;

    for (int r = warp; r < ROWS; r += WARPS) {
        if (row0 + r >= S) {
            if (lane == 0) mean_s[r] = var_s[r] = 0.0f;
            continue;
        }
        const float2 x = __half22float2(reinterpret_cast<const half2*>(X + base + r * DIM)[lane]);
        const float mean = __fdiv_rn(warp_sum(__fadd_rn(x.x, x.y)), static_cast<float>(DIM));
        const float a = __fsub_rn(x.x, mean), b = __fsub_rn(x.y, mean);
        const float var = __fdiv_rn(warp_sum(__fmaf_rn(b, b, __fmul_rn(a, a))), static_cast<float>(DIM - FAULT_DIVISOR));
        if (lane == 0) {
            mean_s[r] = mean;
            var_s[r] = var;
        }
    }
    __syncthreads();
    TS_VEC(TS_MEAN, 0, mean_s, ROWS);
    TS_VEC(TS_VAR, 0, var_s, ROWS);
    for (int r = warp; r < ROWS; r += WARPS) {
        if (row0 + r >= S) continue;
        const float2 x = __half22float2(reinterpret_cast<const half2*>(X + base + r * DIM)[lane]);
        const float mean = mean_s[FAULT_NEIGHBOUR ? r ^ 1 : r];
        const float rstd = rsqrtf(FAULT_EPS ? var_s[r] : __fadd_rn(var_s[r], eps));
        reinterpret_cast<half2*>(Y + base + r * DIM)[lane] =
            __floats2half2_rn(__fmul_rn(__fsub_rn(x.x, mean), rstd), __fmul_rn(__fsub_rn(x.y, mean), rstd));
    }
}
