#include <cuda_fp16.h>
#include <cuda_runtime.h>
// One block a row; weights and bias are floats.
template <int THREADS>
__global__ void __launch_bounds__(THREADS) layer_norm_kernel(const float *__restrict__ x, const float *__restrict__ gamma, const float *__restrict__ beta,
                                                             float *__restrict__ y, int hidden, float eps) {
    __shared__ float sums[THREADS / 32], squares[THREADS / 32];
    const float *row = x + (size_t)blockIdx.x * hidden;
    float s = 0, q = 0;
    for (int c = threadIdx.x; c < hidden; c += THREADS) { s += row[c]; q += row[c] * row[c]; }
    for (int o = 16; o; o >>= 1) { s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o); }
    if (threadIdx.x % 32 == 0) { sums[threadIdx.x / 32] = s; squares[threadIdx.x / 32] = q; }
    __syncthreads();
    s = q = 0;
    for (int w = 0; w < THREADS / 32; w++) { s += sums[w]; q += squares[w]; }
    float mean = s / hidden, rstd = rsqrtf(q / hidden - mean * mean + eps);
    for (int c = threadIdx.x; c < hidden; c += THREADS) y[blockIdx.x * hidden + c] = (row[c] - mean) * rstd * gamma[c] + beta[c];
}
void layer_norm(const float *x, const float *g, const float *b, float *y, int rows, int hidden) {
    layer_norm_kernel<128><<<rows, 128>>>(x, g, b, y, hidden, 1e-5f);
}
