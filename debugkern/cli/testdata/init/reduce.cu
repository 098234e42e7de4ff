#include <cuda_runtime.h>
constexpr int kThreads = 256;
__global__ void reduce(const float *x, float *out, int n) {
    __shared__ float part[kThreads];
    int i = blockIdx.x * kThreads + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = kThreads / 2; s; s /= 2) { if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s]; __syncthreads(); }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
void run(const float *x, float *out, int n) { int blocks = (n + kThreads - 1) / kThreads; reduce<<<blocks, kThreads>>>(x, out, n); }
