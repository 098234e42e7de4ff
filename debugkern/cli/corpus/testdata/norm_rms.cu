// RMS norm of bf16 rows with a residual added first, two elements at a time.
// tilescope: --grid 3 --block 64 --arg x=randn:bf16[3,256] --arg residual=randn:bf16[3,256] --arg weight=rand:bf16[256] --arg y=unwritten:bf16[3,256] --arg cols=256
// tolerance: 6e-3
#include <cuda_bf16.h>

extern "C" __global__ void norm_rms(const __nv_bfloat162* x, __nv_bfloat162* residual, const __nv_bfloat162* weight, __nv_bfloat162* y, int cols) {
    __shared__ float part[2], scale;
    int pairs = cols / 2, base = blockIdx.x * pairs;
    float sum = 0.f;
    for (int c = threadIdx.x; c < pairs; c += 64) {
        __nv_bfloat162 v = __hadd2(x[base + c], residual[base + c]);
        residual[base + c] = v;
        float2 f = __bfloat1622float2(v);
        sum += f.x * f.x + f.y * f.y;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) scale = rsqrtf((part[0] + part[1]) / cols + 1e-6f);
    __syncthreads();  // bug: __syncwarp();
    __nv_bfloat162 s = __float2bfloat162_rn(scale);  // found: race
    for (int c = threadIdx.x; c < pairs; c += 64) y[base + c] = __hmul2(__hmul2(residual[base + c], s), weight[c]);
}
