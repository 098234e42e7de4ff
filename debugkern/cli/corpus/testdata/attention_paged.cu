// One decoding step with keys and values in pages of eight, found through a table; sequences have different lengths.
// tilescope: --grid 3 --block 64 --arg q=randn:f16[3,64] --arg cache=randn:f16[12,2,8,64] --arg table=randint(0,11):i32[3,4]
// tilescope: --arg lengths=randint(5,31):i32[3] --arg out=unwritten:f16[3,64]
// tolerance: 2e-3
#include <cuda_fp16.h>

extern "C" __global__ void attention_paged(const half* q, const half* cache, const int* table, const int* lengths, half* out) {
    __shared__ float score[32], warp_part[2];
    int b = blockIdx.x, t = threadIdx.x, n = lengths[b];
    float mine = __half2float(q[b * 64 + t]) * 0.125f;
    for (int k = 0; k < n; k++) {
        int page = table[b * 4 + k / 8];  // bug: int page = table[b * 8 + k / 8]; // found: out-of-bounds
        float s = mine * __half2float(cache[((page * 2 + 0) * 8 + k % 8) * 64 + t]);
        for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
        if (t % 32 == 0) warp_part[t / 32] = s;
        __syncthreads();
        if (t == 0) score[k] = warp_part[0] + warp_part[1];
        __syncthreads();
    }
    float m = -INFINITY, l = 0.f, u = 0.f;
    for (int k = 0; k < n; k++) m = fmaxf(m, score[k]);
    for (int k = 0; k < n; k++) {
        float p = __expf(score[k] - m);
        l += p;
        u += p * __half2float(cache[((table[b * 4 + k / 8] * 2 + 1) * 8 + k % 8) * 64 + t]);
    }
    out[b * 64 + t] = __float2half(u / l);
}
