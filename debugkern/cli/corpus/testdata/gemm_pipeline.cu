// C = A B with three stages of asynchronous copies, by the functions of cuda_pipeline.h.
// tilescope: --grid 1,2 --block 128 --arg A=randn:f16[64,96] --arg B=randn:f16[96,32] --arg C=unwritten:f32[64,32] --arg N=32 --arg K=96
// tolerance: 1e-6
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
constexpr int STAGES = 3, BK = 16;

extern "C" __global__ void gemm_pipeline(const half* A, const half* B, float* C, int N, int K) {
    __shared__ __align__(16) half a[STAGES][32][BK], b[STAGES][BK][32];
    int t = threadIdx.x, tiles = K / BK;
    auto fetch = [&](int tile) {
        if (tile < tiles) {
            int s = tile % STAGES, k = tile * BK;
            if (t < 64) __pipeline_memcpy_async(&a[s][t / 2][t % 2 * 8], &A[(blockIdx.y * 32 + t / 2) * K + k + t % 2 * 8], 16);
            else __pipeline_memcpy_async(&b[s][(t - 64) / 4][t % 4 * 8], &B[(k + (t - 64) / 4) * N + t % 4 * 8], 16);
        }
        __pipeline_commit();
    };
    fetch(0);
    fetch(1);
    float acc[8] = {};
    for (int tile = 0; tile < tiles; tile++) {
        __pipeline_wait_prior(1);
        __syncthreads();  // bug:
        fetch(tile + 2);
        int s = tile % STAGES;
        for (int k = 0; k < BK; k++)
            for (int i = 0; i < 8; i++) acc[i] += __half2float(a[s][t / 32 * 8 + i][k]) * __half2float(b[s][k][t % 32]);  // found: cp-async
    }
    for (int i = 0; i < 8; i++) C[(blockIdx.y * 32 + t / 32 * 8 + i) * N + t % 32] = acc[i];
}
