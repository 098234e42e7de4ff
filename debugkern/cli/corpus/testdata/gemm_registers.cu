// C = A B with tiles of 64 x 64 x 8: a thread holds 4 x 4 results in registers, A is transposed on its way into shared memory.
// tilescope: --grid 1,2 --block 256 --arg A=randn:f32[128,24] --arg B=randn:f32[24,64] --arg C=unwritten:f32[128,64] --arg N=64 --arg K=24
// tolerance: 1e-6
constexpr int BM = 64, BN = 64, BK = 8;

extern "C" __global__ void __launch_bounds__(256) gemm_registers(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                                                  int N, int K) {
    __shared__ float As[BK][BM + 4];
    __shared__ __align__(16) float Bs[BK][BN];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    float acc[4][4] = {};
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    for (int k0 = 0; k0 < K; k0 += BK) {
        if (t < 128) {
            float4 a = *(const float4*)&A[(t / 2) * K + k0 + t % 2 * 4];
            As[t % 2 * 4 + 0][t / 2] = a.x;
            As[t % 2 * 4 + 1][t / 2] = a.y;
            As[t % 2 * 4 + 2][t / 2] = a.z;
            As[t % 2 * 4 + 3][t / 2] = a.w;
        } else {
            int u = t - 128;
            *(float4*)&Bs[u / 16][u % 16 * 4] = *(const float4*)&B[(k0 + u / 16) * N + u % 16 * 4];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float a[4], b[4];
            for (int i = 0; i < 4; i++) a[i] = As[k][ty * 4 + i];  // bug: for (int i = 0; i < 4; i++) a[i] = As[k + 1][ty * 4 + i]; // found: out-of-bounds
            for (int j = 0; j < 4; j++) b[j] = Bs[k][tx * 4 + j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        *(float4*)&C[(ty * 4 + i) * N + tx * 4] = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}
