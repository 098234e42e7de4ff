// The steps of fused attention for one block, as the kernels of this folder share them: they differ in where tiles lie and in which keys
// a query sees. 64 threads, 16 queries, 16 keys a kv tile, heads of 32 elements. Scalar, written to be read.
//
// Between two steps stands a barrier of the kernel's.
#pragma once
#include <cuda_fp16.h>

constexpr int M = 16, N = 16, D = 32, THREADS = 64;

// What a block has in shared memory.
struct Block {
    half q[M][D], k[N][D], v[N][D], p[M][N];
    float s[M][N], m[M], l[M], u[M][D], rescale[M];
};

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) as the special function unit approximates it; 0 where no key has been seen.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    const float below = __fsub_rn(x, m == neg_inf() ? 0.0f : m);
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(below, 1.4426950408889634f)));
    return y;
}

__device__ __forceinline__ void start(Block& b) {
    for (int i = threadIdx.x; i < M * D; i += THREADS) b.u[i / D][i % D] = 0.0f;
    if (threadIdx.x < M) b.m[threadIdx.x] = neg_inf(), b.l[threadIdx.x] = 0.0f;
}

// The rows of a tile that exist, from where row r begins; the others are 0.
template <typename Row>
__device__ __forceinline__ void load(half (&tile)[16][D], int rows, Row row) {
    for (int i = threadIdx.x; i < 16 * D; i += THREADS) {
        const int r = i / D, d = i % D;
        tile[r][d] = r < rows ? row(r)[d] : __ushort_as_half(0);
    }
}

// S = Q·Kᵀ · scale
__device__ __forceinline__ void scores(Block& b, float scale) {
    for (int i = threadIdx.x; i < M * N; i += THREADS) {
        float s = 0.0f;
        for (int d = 0; d < D; d++) s = __fmaf_rn(__half2float(b.q[i / N][d]), __half2float(b.k[i % N][d]), s);
        b.s[i / N][i % N] = __fmul_rn(s, scale);
    }
}

// The online softmax: m, l, P. Thread r has row r, of which visible(r, n) says which columns take part.
template <typename Visible>
__device__ __forceinline__ void softmax(Block& b, Visible visible) {
    const int r = threadIdx.x;
    if (r >= M) return;
    float m = b.m[r], l = 0.0f;
    for (int n = 0; n < N; n++) {
        if (visible(r, n)) m = fmaxf(m, b.s[r][n]);
    }
    for (int n = 0; n < N; n++) {
        const float p = visible(r, n) ? exp_below(b.s[r][n], m) : 0.0f;
        b.p[r][n] = __float2half_rn(p);
        l = __fadd_rn(l, p);
    }
    b.rescale[r] = exp_below(b.m[r], m);
    b.l[r] = __fadd_rn(__fmul_rn(b.l[r], b.rescale[r]), l);
    b.m[r] = m;
}

// U = U·exp(m_old - m) + P·V
__device__ __forceinline__ void accumulate(Block& b) {
    for (int i = threadIdx.x; i < M * D; i += THREADS) {
        const int r = i / D, d = i % D;
        float u = 0.0f;
        for (int n = 0; n < N; n++) u = __fmaf_rn(__half2float(b.p[r][n]), __half2float(b.v[n][d]), u);
        b.u[r][d] = __fadd_rn(__fmul_rn(b.u[r][d], b.rescale[r]), u);
    }
}

// O = U / l; 0 in a row that no key took part in.
template <typename Row>
__device__ __forceinline__ void finish(Block& b, int rows, Row row) {
    for (int i = threadIdx.x; i < M * D; i += THREADS) {
        const int r = i / D, d = i % D;
        const float l = b.l[r];
        if (r < rows) row(r)[d] = __float2half_rn(l == 0.0f ? 0.0f : __fdiv_rn(b.u[r][d], l));
    }
}

// The probes that stand after the barriers behind the tiles, S, the softmax, and U.
#define PROBE_KV(b, kv)                             \
    TS_TILE(TS_K, kv, &(b).k[0][0], N, D, D);       \
    TS_TILE(TS_V, kv, &(b).v[0][0], N, D, D)
#define PROBE_S(b, kv) TS_TILE(TS_S, kv, &(b).s[0][0], M, N, N)
#define PROBE_SOFTMAX(b, kv)                        \
    TS_VEC(TS_M, kv, (b).m, M);                     \
    TS_VEC(TS_L, kv, (b).l, M);                     \
    TS_TILE(TS_P, kv, &(b).p[0][0], M, N, N)
#define PROBE_U(b, kv) TS_TILE(TS_U, kv, &(b).u[0][0], M, D, D)
