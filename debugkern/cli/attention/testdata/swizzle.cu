// Scores of attention with K swizzled in shared memory: of a key's four chunks of 8 elements, chunk i lies where i ^ (key % 4) would, so
// that threads that read a column do not meet in one bank. There are no probes: tiles are captured where they lie.
//
// Launch    grid (ceil(S / 16), H, 1), block 64 threads. Q, K [H,S,32] halves, T [H,S] f32: the largest score of each query.
#include "flash.cuh"

__device__ __forceinline__ int swizzled(int n, int d) { return n * D + ((d / 8) ^ (n % 4)) * 8 + d % 8; }

extern "C" __global__ void __launch_bounds__(THREADS)
swizzle(const half* Q, const half* K, float* T, int S, float scale) {
    __shared__ half sQ[M][D], sK[N * D];
    __shared__ float sS[M][N], sT[M];
    const size_t head = blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    load(sQ, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    if (threadIdx.x < M) sT[threadIdx.x] = neg_inf();
    for (int kv = 0; kv < (S + N - 1) / N; kv++) {
        const int key0 = kv * N;
        for (int i = threadIdx.x; i < N * D; i += THREADS) {
            const int n = i / D, d = i % D;
            sK[swizzled(n, d)] = key0 + n < S ? K[(head * S + key0 + n) * D + d] : __ushort_as_half(0);
        }
        __syncthreads();  // loaded
        for (int i = threadIdx.x; i < M * N; i += THREADS) {
            float s = 0.0f;
            for (int d = 0; d < D; d++) {
                s = __fmaf_rn(__half2float(sQ[i / N][d]), __half2float(sK[swizzled(i % N, d)]), s);
            }
            sS[i / N][i % N] = __fmul_rn(s, scale);
        }
        __syncthreads();  // scored
        if (threadIdx.x < M) {
            for (int n = 0; n < min(N, S - key0); n++) sT[threadIdx.x] = fmaxf(sT[threadIdx.x], sS[threadIdx.x][n]);
        }
        __syncthreads();
    }
    if (threadIdx.x < rows) T[head * S + query0 + threadIdx.x] = sT[threadIdx.x];
}
