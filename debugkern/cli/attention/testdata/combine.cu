// The parts of O that splits of the keys gave, put together by the logarithms of their sums: O = sum of parts exp(sums - top) / sum of
// exp(sums - top). A part of -inf counts for nothing; without any O is 0.
//
// Launch    grid (ceil(S / 16), H), block 64 threads. parts [splits,H,S,32] halves, sums [splits,H,S] f32, O [H,S,32] halves.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
combine(const half* parts, const float* sums, half* O, int H, int S, int splits TS_PARAM) {
    __shared__ half part[M][D];
    __shared__ float sum[M], top[M], total[M], rescale[M], weight[M], out[M][D];
    const int query0 = blockIdx.x * M, rows = min(M, S - query0), t = threadIdx.x;
    for (int i = t; i < M * D; i += THREADS) out[i / D][i % D] = 0.0f;
    if (t < M) top[t] = neg_inf(), total[t] = 0.0f;
    for (int s = 0; s < splits; s++) {
        const size_t row0 = (static_cast<size_t>(s) * H + blockIdx.y) * S + query0;
        load(part, rows, [&](int r) { return parts + (row0 + r) * D; });
        if (t < M) sum[t] = t < rows ? sums[row0 + t] : neg_inf();
        __syncthreads();
        TS_TILE(TS_PART, s, &part[0][0], M, D, D);
        TS_VEC(TS_SUM, s, sum, M);
        if (t < M) {
            const float m = fmaxf(top[t], sum[t]);
            rescale[t] = exp_below(top[t], m);
            weight[t] = exp_below(sum[t], m);
            total[t] = __fadd_rn(__fmul_rn(total[t], rescale[t]), weight[t]);
            top[t] = m;
        }
        __syncthreads();
        TS_VEC(TS_TOP, s, top, M);
        TS_VEC(TS_TOTAL, s, total, M);
        for (int i = t; i < M * D; i += THREADS) {
            const int r = i / D, d = i % D;
            out[r][d] = __fadd_rn(__fmul_rn(out[r][d], rescale[r]), __fmul_rn(__half2float(part[r][d]), weight[r]));
        }
        __syncthreads();
        TS_TILE(TS_ACC, s, &out[0][0], M, D, D);
    }
    for (int i = t; i < rows * D; i += THREADS) {
        const int r = i / D, d = i % D;
        O[(static_cast<size_t>(blockIdx.y) * S + query0 + r) * D + d] = __float2half_rn(total[r] == 0.0f ? 0.0f : __fdiv_rn(out[r][d], total[r]));
    }
}
