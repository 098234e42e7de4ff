// A softmax with a CPU check and timing by events.
#include <cfloat>
#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

struct Stopwatch {
    cudaEvent_t a, b;
    Stopwatch() { cudaEventCreate(&a); cudaEventCreate(&b); }
    float stop() { float ms; cudaEventElapsedTime(&ms, a, b); return ms; }
};

__inline__ __device__ float warpMax(float v) {
    for (int o = 16; o; o >>= 1) v = std::max(v, __shfl_xor_sync(0xffffffffu, v, o));
    return v;
}
__inline__ __device__ float warpSum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

__global__ void softmax(const float *in, float *out, int cols) {
    __shared__ float part[4];
    const float *x = in + blockIdx.x * cols;
    float *y = out + blockIdx.x * cols;
    float m = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = std::max(m, x[c]);
    m = warpMax(m);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
    __syncthreads();
    m = std::max(std::max(part[0], part[1]), std::max(part[2], part[3]));
    __syncthreads();
    float s = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += expf(x[c] - m);
    s = warpSum(s);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    s = part[0] + part[1] + part[2] + part[3];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = expf(x[c] - m) / s;
}

std::vector<float> reference(const std::vector<float> &x) {
    float m = *std::max_element(x.begin(), x.end());
    std::vector<float> y(x.size());
    std::transform(x.begin(), x.end(), y.begin(), [m](float v) { return std::exp(v - m); });
    float s = std::accumulate(y.begin(), y.end(), 0.f);
    for (auto &v : y) v /= s;
    return y;
}

int main() { Stopwatch w; softmax<<<3, 128>>>(nullptr, nullptr, 200); std::cout << w.stop() << reference({1, 2}).size() << "\n"; }
