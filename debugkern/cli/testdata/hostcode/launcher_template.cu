// A template with a launcher, instantiated from main.
// tilescope: --entry gemm --grid 2,2 --block 16,16 --arg A=randn:f32[32,48] --arg B=randn:f32[48,32] --arg C=zeros:f32[32,32] --arg M=32 --arg N=32 --arg K=48
#include <cstdio>
#include <iostream>
#include <memory>

template <int TILE, typename T>
__global__ void gemm(const T *A, const T *B, T *C, int M, int N, int K) {
    __shared__ T a[TILE][TILE];
    __shared__ T b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int k = 0; k < K; k += TILE) {
        a[threadIdx.y][threadIdx.x] = A[row * K + k + threadIdx.x];  // RACE
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * N + col];  // RACE
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];  // RACE
    }
    C[row * N + col] = sum;
}

template <int TILE>
void launch(const float *A, const float *B, float *C, int M, int N, int K) {
    dim3 block(TILE, TILE);
    dim3 grid(N / TILE, M / TILE);
    gemm<TILE, float><<<grid, block>>>(A, B, C, M, N, K);
}

int main() {
    float *A = nullptr, *B = nullptr, *C = nullptr;
    auto timer = std::make_unique<int>(3);
    launch<16>(A, B, C, 32, 32, 48);
    std::cout << "done " << *timer << std::endl;
    return 0;
}
