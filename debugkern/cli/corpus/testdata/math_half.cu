// Functions of half precision, one element and two at a time, with comparisons that give numbers.
// tilescope: --grid 1 --block 32 --arg x=rand:f16[32] --arg y=unwritten:f16[10,32]
// tolerance: 2e-3
#include <cuda_fp16.h>

extern "C" __global__ void math_half(const half* x, half* y) {
    int t = threadIdx.x;
    half v = __hadd(x[t], __float2half(0.25f));
    half2 p = __halves2half2(v, __hneg(v));
    half r[10] = {hexp(v), hlog(v), hsin(v), hcos(v), hsqrt(v), hrcp(v), hexp2(v), __hmax(v, __float2half(0.7f)),
                  __low2half(__hgt2(p, __float2half2_rn(0.6f))), __high2half(h2exp(p))};
    for (int i = 0; i < 10; i++) y[i * 32 + t] = r[i];  // bug: for (int i = 0; i < 10; i++) y[i * 32 + 2 * t] = r[i]; // found: race
}
