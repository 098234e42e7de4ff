// linear: O = Q·Kᵀ · V, attention without its softmax, on half inputs: a sum that is carried from kv tile to kv tile and never rescaled.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads, no dynamic shared memory. D must be 64.
// Probes    A after the first barrier of a kv tile, sum after the second; out is the output itself
// Faults    FAULT_TWICE: what is carried over counts twice. FAULT_HALF: the second half of D is missing in A.
//
// Shared memory, in bytes: sA float [16][16], sum_s float [16][64]: 5,120.
#include <cuda_fp16.h>
#include "tilescope.cuh"

#ifndef FAULT_TWICE
#define FAULT_TWICE 0
#endif
#ifndef FAULT_HALF
#define FAULT_HALF 0
#endif

namespace {
constexpr int TILE = 16, DIM = 64, THREADS = 64;
}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
linear(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, half* __restrict__ O, int H, int S TS_PARAM) {
    __shared__ float sA[TILE][TILE];
    __shared__ float sum_s[TILE][DIM];

    const int t = threadIdx.x;
    const int row0 = blockIdx.x * TILE, rows = min(TILE, S - row0);
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * DIM;
    for (int r = 0; r < TILE; r++) sum_s[r][t] = 0.0f;

#pragma unroll 1
    for (int kv = 0; kv < (S + TILE - 1) / TILE; kv++) {
        const int cols = min(TILE, S - kv * TILE);
        for (int i = t; i < TILE * TILE; i += THREADS) {
            const int r = i / TILE, n = i % TILE;
            float a = 0.0f;
            for (int d = 0; d < (r < rows && n < cols ? DIM / (1 + FAULT_HALF) : 0); d++) {
                const size_t q = base + static_cast<size_t>(row0 + r) * DIM + d, k = base + static_cast<size_t>(kv * TILE + n) * DIM + d;
                a = __fmaf_rn(__half2float(Q[q]), __half2float(K[k]), a);
            }
            sA[r][n] = a;
        }
        __syncthreads();
        TS_TILE(TS_A, kv, &sA[0][0], TILE, TILE, TILE);
        for (int r = 0; r < rows; r++) {
            float sum = FAULT_TWICE ? __fmul_rn(2.0f, sum_s[r][t]) : sum_s[r][t];
            for (int n = 0; n < cols; n++) {
                sum = __fmaf_rn(sA[r][n], __half2float(V[base + static_cast<size_t>(kv * TILE + n) * DIM + t]), sum);
            }
            sum_s[r][t] = sum;
        }
        __syncthreads();
        TS_TILE(TS_SUM, kv, &sum_s[0][0], TILE, DIM, DIM);
        __syncthreads();
    }
    for (int r = 0; r < rows; r++) O[base + static_cast<size_t>(row0 + r) * DIM + t] = __float2half_rn(sum_s[r][t]);
}
