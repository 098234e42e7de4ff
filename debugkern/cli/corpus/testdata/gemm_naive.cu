// C = alpha A B + beta C, one thread for each element.
// tilescope: --grid 3,2 --block 16,16 --arg A=randn:f32[20,30] --arg B=randn:f32[30,40] --arg C=randn:f32[20,40]
// tilescope: --arg M=20 --arg N=40 --arg K=30 --arg alpha=0.5 --arg beta=2
// tolerance: 1e-6
extern "C" __global__ void gemm_naive(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.f;
    for (int k = 0; k < K; k++)                    // bug: for (int k = 0; k <= K; k++)
        sum += A[row * K + k] * B[k * N + col];    // found: out-of-bounds
    C[row * N + col] = alpha * sum + beta * C[row * N + col];
}
