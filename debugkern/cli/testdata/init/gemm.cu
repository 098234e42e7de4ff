#include <cstdio>
#include <vector>
#define TILE 16
__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; k += TILE) {
        as[threadIdx.y][threadIdx.x] = A[row * K + k + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * N + col];
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
int main() {
    int m = 1024, n = 1024, k = 1024;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float)); cudaMalloc(&b, k * n * sizeof(float)); cudaMalloc((void **)&c, m * n * sizeof(float));
    dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    gemm<<<grid, block>>>(a, b, c, m, n, k);
}
