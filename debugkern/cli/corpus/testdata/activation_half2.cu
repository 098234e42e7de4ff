// GELU (tanh form) of one half of a vector times the other half, on pairs of halves.
// tilescope: --grid 2 --block 32 --arg x=randn:f16[4,64] --arg y=unwritten:f16[4,32] --arg rows=4
// tolerance: 4e-3
#include <cuda_fp16.h>

extern "C" __global__ void activation_half2(const __half2* x, __half2* y, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / 16, c = i % 16;
    if (row >= rows) return;
    __half2 a = x[row * 32 + c], gate = x[row * 32 + 16 + c];  // bug: __half2 a = x[row * 32 + c], gate = x[row * 32 + 32 + c]; // found: out-of-bounds
    __half2 k = __float2half2_rn(0.7978845608f), third = __float2half2_rn(0.044715f), one = __float2half2_rn(1.f);
    __half2 inner = __hmul2(k, __hfma2(third, __hmul2(a, __hmul2(a, a)), a));
    float2 f = __half22float2(inner);
    __half2 t = __floats2half2_rn(tanhf(f.x), tanhf(f.y));
    y[i] = __hmul2(__hmul2(__hmul2(__float2half2_rn(0.5f), a), __hadd2(one, t)), gate);
}
