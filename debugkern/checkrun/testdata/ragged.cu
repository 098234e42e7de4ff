// Fused attention of sequences that fill neither the last block of queries nor the last tile of keys: two warps have 16 queries each, the last
// keys come first, and tiles that need a mask (the last one, with CAUSAL those on the diagonal) are computed by a copy of the loop body of their
// own. Q, K, V, O are [heads, S, 32]. grid (ceil(S / 32), heads), block 64, no shared memory. Stages: S, m, l, P, U in registers, O.
// The factor is log2(e) / sqrt(32).
#include <cuda_fp16.h>

#define MMA(d, a, b0, b1)                                                                                        \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "      \
                 "{%0,%1,%2,%3};"                                                                                 \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

constexpr int kDim = 32, kKeys = 16;
constexpr float kFactor = 0.25503486f, kNone = -1e30f;

__device__ __forceinline__ unsigned short bits(const half* p, int row, int col, int S) {
    return row < S ? __half_as_ushort(p[row * kDim + col]) : 0;
}
__device__ __forceinline__ unsigned alongRow(const half* p, int row, int col, int S) {
    return bits(p, row, col, S) | bits(p, row, col + 1, S) << 16;
}
__device__ __forceinline__ unsigned alongColumn(const half* p, int row, int col, int S) {
    return bits(p, row, col, S) | bits(p, row + 1, col, S) << 16;
}
__device__ __forceinline__ unsigned pack(float x, float y) {
    return __half_as_ushort(__float2half(x)) | __half_as_ushort(__float2half(y)) << 16;
}

template <bool kMask>
__device__ __forceinline__ void iteration(const half* K, const half* V, int key, int row, int S, const unsigned (&a)[2][4],
                                          float (&m)[2], float (&l)[2], float (&u)[4][4]) {
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4 * 2;
    float s[2][4] = {};
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            MMA(s[n], a[k], alongRow(K, key + 8 * n + g, 16 * k + q, S), alongRow(K, key + 8 * n + g, 16 * k + q + 8, S));
    if (kMask) {
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at = key + 8 * n + q + e % 2;
#ifdef CAUSAL
                const bool seen = at < S && at <= row + e / 2 * 8;
#else
                const bool seen = at < S;
#endif
                if (!seen) s[n][e] = kNone;
            }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float top = fmaxf(fmaxf(s[0][2 * h], s[0][2 * h + 1]), fmaxf(s[1][2 * h], s[1][2 * h + 1]));
        top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
        top = fmaxf(fmaxf(top, __shfl_xor_sync(~0u, top, 2)), m[h]);
        const float base = top == kNone ? 0 : top, old = exp2f((m[h] - base) * kFactor);
        float sum = 0;
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int e = 2 * h; e < 2 * h + 2; e++) sum += s[n][e] = exp2f((s[n][e] - base) * kFactor);
        l[h] = l[h] * old + sum;
        m[h] = top;
#pragma unroll
        for (int n = 0; n < 4; n++) {
            u[n][2 * h] *= old;
            u[n][2 * h + 1] *= old;
        }
    }
    const unsigned p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]), pack(s[1][2], s[1][3])};
#pragma unroll
    for (int n = 0; n < 4; n++) MMA(u[n], p, alongColumn(V, key + q, 8 * n + g, S), alongColumn(V, key + q + 8, 8 * n + g, S));
}

extern "C" __global__ void ragged(const half* Q, const half* K, const half* V, float* O, int S) {
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4 * 2;
    const int head = blockIdx.y * S * kDim, row = blockIdx.x * 32 + threadIdx.x / 32 * 16 + g;
    Q += head, K += head, V += head, O += head;
    unsigned a[2][4];
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) a[k][i] = alongRow(Q, row + i % 2 * 8, 16 * k + i / 2 * 8 + q, S);
    float m[2] = {kNone, kNone}, l[2] = {}, u[4][4] = {};
#ifdef CAUSAL
    const int tiles = min((S + kKeys - 1) / kKeys, 2 * static_cast<int>(blockIdx.x) + 2);
    const int plain = min(S / kKeys, 2 * static_cast<int>(blockIdx.x));
#else
    const int tiles = (S + kKeys - 1) / kKeys;
    const int plain = S / kKeys;
#endif
    int t = tiles - 1;
#pragma unroll 1
    for (; t >= plain; t--) iteration<true>(K, V, t * kKeys, row, S, a, m, l, u);
#pragma unroll 1
    for (; t >= 0; t--) iteration<false>(K, V, t * kKeys, row, S, a, m, l, u);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        l[h] += __shfl_xor_sync(~0u, l[h], 1);
        l[h] += __shfl_xor_sync(~0u, l[h], 2);
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (row + 8 * h < S) O[(row + 8 * h) * kDim + 8 * n + q + e] = u[n][2 * h + e] / l[h];
    }
}
