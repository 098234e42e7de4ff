// Both sides of the tile are the template's; B is stored by its columns; the grid has rows in x.
#include <vector>
constexpr int BK = 8;
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
template <int BM, int BN, typename T>
__global__ void matmul_nt(const T *A, const T *B, T *out, int M, int N, int K) {
    __shared__ T sA[BM][BK + 1], sB[BN][BK + 1];
    int m = blockIdx.x * BM + threadIdx.y, n = blockIdx.y * BN + threadIdx.x;
    T acc = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        if (threadIdx.x < BK) sA[threadIdx.y][threadIdx.x] = m < M ? A[m * K + k0 + threadIdx.x] : T(0);
        if (threadIdx.y < BK) sB[threadIdx.x][threadIdx.y] = n < N ? B[n * K + k0 + threadIdx.y] : T(0);
        __syncthreads();
        for (int k = 0; k < BK; k++) acc += sA[threadIdx.y][k] * sB[threadIdx.x][k];
        __syncthreads();
    }
    if (m < M && n < N) out[m * N + n] = acc;
}
template <int BM, int BN> void launch(const float *a, const float *b, float *c, int M, int N, int K) {
    dim3 grid(ceil_div(M, BM), ceil_div(N, BN));
    matmul_nt<BM, BN, float><<<grid, dim3(BN, BM)>>>(a, b, c, M, N, K);
}
int main() {
    std::vector<float> host(1);
    launch<8, 32>(host.data(), nullptr, nullptr, 100, 200, 300);
}
