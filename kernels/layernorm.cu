// layernorm: Y = xhat · gamma + beta, xhat = (x − mean) · rsqrt(var + eps), of every row of X, half in and
// out, any number of columns.
//
// Launch    grid (ceil(R / 8)), block 128 threads = 4 warps, no dynamic shared memory. Any R and C from 1 on.
// Arguments X, Y f16 [R,C], gamma, beta f32 [C], row-major and dense; eps f32.
//
// Flags     USE_RMS  the root mean square in place of the deviation: no mean is subtracted, no beta added
//
// Shared memory, in bytes: mean_smem, var_smem float [8]: 64.
//
// Who owns what   mean, var  warp w: rows 2w and 2w + 1, a lane every 32nd column. The variance is taken
//                            around the mean, in a second pass over the row: nothing cancels
//                 normalise  all threads, a warp consecutive cells of a row
//
// Probes    mean and var after the only barrier · xhat, where it is computed · Y is the output itself.
//
// Departures from the reference, on purpose: rsqrt is rsqrt.approx.
#include <cuda_fp16.h>

#include "tilescope.cuh"

#ifndef USE_RMS
#define USE_RMS 0
#endif

namespace {

constexpr int ROWS = 8;  // a block
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS_PER_WARP = ROWS / WARPS;

// The sum over the lanes of a warp; every lane gets it.
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
layernorm(const half* __restrict__ X, const float* __restrict__ gamma, const float* __restrict__ beta,
          half* __restrict__ Y, int R, int C, float eps TS_PARAM) {
    __shared__ float mean_smem[ROWS];
    __shared__ float var_smem[ROWS];

    const int t = threadIdx.x;
    const int lane = t % 32;
    const int first_row = t / 32 * ROWS_PER_WARP;  // of the warp's rows
    const int row0 = blockIdx.x * ROWS;
    const int rows = min(ROWS, R - row0);
    const size_t base = static_cast<size_t>(row0) * C;

    for (int r = first_row; r < first_row + ROWS_PER_WARP; r++) {
        if (r >= rows) {
            if (lane == 0) mean_smem[r] = var_smem[r] = 0.0f;
            continue;
        }
        const half* x = X + base + static_cast<size_t>(r) * C;
        float mean = 0.0f;
        if (!USE_RMS) {
            float sum = 0.0f;
            for (int c = lane; c < C; c += 32) sum = __fadd_rn(sum, __half2float(x[c]));
            mean = __fdiv_rn(warp_sum(sum), static_cast<float>(C));
        }
        float squares = 0.0f;
        for (int c = lane; c < C; c += 32) {
            const float d = __fsub_rn(__half2float(x[c]), mean);
            squares = __fmaf_rn(d, d, squares);
        }
        squares = warp_sum(squares);
        if (lane == 0) {
            mean_smem[r] = mean;
            var_smem[r] = __fdiv_rn(squares, static_cast<float>(C));
        }
    }
    __syncthreads();
    if (!USE_RMS) {
        TS_VEC(TS_MEAN, 0, mean_smem, ROWS);
    }
    TS_VEC(TS_VAR, 0, var_smem, ROWS);

    for (int r = 0; r < rows; r++) {
        const float mean = mean_smem[r];
        const float rstd = rsqrtf(__fadd_rn(var_smem[r], eps));
        for (int c = t; c < C; c += THREADS) {
            const size_t at = base + static_cast<size_t>(r) * C + c;
            const float xhat = __fmul_rn(__fsub_rn(__half2float(X[at]), mean), rstd);
            TS_OWN(TS_XHAT, 0, r, c, xhat);
            const float scaled = __fmul_rn(xhat, gamma[c]);
            Y[at] = __float2half_rn(USE_RMS ? scaled : __fadd_rn(scaled, beta[c]));
        }
    }
}
