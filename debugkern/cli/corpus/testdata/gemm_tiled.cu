// C = A B by tiles of 16 x 16 in shared memory; sides need not be multiples of the tile.
// tilescope: --grid 2,3 --block 16,16 --arg A=randn:f32[40,50] --arg B=randn:f32[50,24] --arg C=unwritten:f32[40,24]
// tilescope: --arg M=40 --arg N=24 --arg K=50
// tolerance: 1e-6
template <int T>
__device__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[T][T], b[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0.f;
    for (int k = 0; k < K; k += T) {
        a[ty][tx] = row < M && k + tx < K ? A[row * K + k + tx] : 0.f;
        b[ty][tx] = k + ty < K && col < N ? B[(k + ty) * N + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += a[ty][i] * b[i][tx];  // found: race
        __syncthreads();                                          // bug:
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int M, int N, int K) { multiply<16>(A, B, C, M, N, K); }
