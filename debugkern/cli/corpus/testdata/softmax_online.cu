// Softmax with a running maximum and sum, merged over the block by shuffles of pairs; half precision in and out.
// tilescope: --grid 4 --block 64 --arg x=randn:f16[4,200] --arg y=unwritten:f16[4,200] --arg cols=200 --arg scale=2.5
// tolerance: 1e-3
#include <cuda_fp16.h>
struct State {
    float m, l;
};
__device__ State merge(State a, State b) {
    float m = fmaxf(a.m, b.m);
    return {m, a.l * __expf(a.m - m) + b.l * __expf(b.m - m)};
}

extern "C" __global__ void softmax_online(const half* __restrict__ x, half* __restrict__ y, int cols, float scale) {
    __shared__ State warps[2];
    State s = {-1e30f, 0.f};
    const half* row = x + blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += 64) s = merge(s, {__half2float(row[c]) * scale, 1.f});  // bug: for (int c = threadIdx.x; c <= cols + 64; c += 64) s = merge(s, {__half2float(row[c]) * scale, 1.f}); // found: out-of-bounds
    for (int d = 16; d > 0; d /= 2) s = merge(s, {__shfl_xor_sync(~0u, s.m, d), __shfl_xor_sync(~0u, s.l, d)});
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    s = merge(warps[0], warps[1]);
    float inverse = __frcp_rn(s.l);
    for (int c = threadIdx.x; c < cols; c += 64) y[blockIdx.x * cols + c] = __float2half_rn(__expf(__half2float(row[c]) * scale - s.m) * inverse);
}
