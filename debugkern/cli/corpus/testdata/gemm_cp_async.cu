// C = A B by tiles of 32 x 32 x 16, the next tile copied asynchronously while one is multiplied.
// tilescope: --grid 2,1 --block 256 --arg A=randn:f32[32,64] --arg B=randn:f32[64,64] --arg C=unwritten:f32[32,64] --arg N=64 --arg K=64
// tolerance: 1e-6
__device__ __forceinline__ void copy16(void* to, const void* from) {
    unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int N>
__device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N)); }

extern "C" __global__ void gemm_cp_async(const float* A, const float* B, float* C, int N, int K) {
    __shared__ __align__(16) float a[2][32][16], b[2][16][32];
    int t = threadIdx.x, col = t % 32, row = t / 32;
    auto fetch = [&](int stage, int k) {
        if (t < 128) copy16(&a[stage][t / 4][t % 4 * 4], &A[(blockIdx.y * 32 + t / 4) * K + k + t % 4 * 4]);
        else copy16(&b[stage][(t - 128) / 8][t % 8 * 4], &B[(k + (t - 128) / 8) * N + blockIdx.x * 32 + t % 8 * 4]);
        commit();
    };
    float acc[4] = {};
    fetch(0, 0);
    int stage = 0;
    for (int k = 0; k < K; k += 16, stage ^= 1) {
        if (k + 16 < K) fetch(stage ^ 1, k + 16);
        if (k + 16 < K) wait<1>();
        else wait<0>();  // bug: else wait<1>();
        __syncthreads();
        for (int i = 0; i < 16; i++) {
            float v = b[stage][i][col];  // found: cp-async
            for (int r = 0; r < 4; r++) acc[r] += a[stage][row + 8 * r][i] * v;
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++) C[(blockIdx.y * 32 + row + 8 * r) * N + blockIdx.x * 32 + col] = acc[r];
}
