// flashcore.cuh: what the FlashCore kernels share: tiling, gates, and the online softmax of one row.
//
// Half inputs; a block of 4 warps computes 32 query rows of one head and walks over the keys, 32 at a time. In the softmax a
// warp owns 8 rows and a lane a column. Arithmetic is spelled with its rounding, so that no compiler may fuse it.
#pragma once

#include <cuda_fp16.h>

#ifndef DEBUG_QK_ONLY
#define DEBUG_QK_ONLY 0
#endif
#ifndef DEBUG_SOFTMAX_ONLY
#define DEBUG_SOFTMAX_ONLY 0
#endif
#ifndef DEBUG_PV_ONLY
#define DEBUG_PV_ONLY 0
#endif
#if DEBUG_QK_ONLY + DEBUG_SOFTMAX_ONLY + DEBUG_PV_ONLY > 1
#error "DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY and DEBUG_PV_ONLY exclude each other"
#endif

// A gate leaves the rest of the kv tile out, and what only that part uses: loop is not reachable, declared but never
// referenced, set but never used.
#pragma nv_diag_suppress 128, 177, 550

namespace {

constexpr int TILE_M = 32;    // query rows a block
constexpr int TILE_N = 32;    // keys a kv tile
constexpr int HEAD_DIM = 64;
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS_PER_WARP = TILE_M / WARPS;
constexpr int CHUNK = 16;     // halves of a tile's row that one thread loads: two vectors
constexpr int CHUNKS_PER_ROW = HEAD_DIM / CHUNK;
static_assert(TILE_M * CHUNKS_PER_ROW == THREADS && TILE_N * CHUNKS_PER_ROW == THREADS, "one chunk a thread and tile");

constexpr bool RUN_QK = !DEBUG_SOFTMAX_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_SOFTMAX = !DEBUG_QK_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_PV = !DEBUG_QK_ONLY && !DEBUG_SOFTMAX_ONLY;

constexpr unsigned FULL_WARP = 0xffffffffu;
constexpr float LOG2_E = 1.4426950408889634f;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) for x <= m, as the special function unit approximates it. Where m is still -inf, x is too, and contributes 0.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(__fsub_rn(x, m == neg_inf() ? 0.0f : m), LOG2_E)));
    return y;
}

// Maximum and sum over the lanes of a warp; every lane gets them.
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, o));
    return x;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(FULL_WARP, x, o));
    return x;
}

// The lane's score s of a row: m and l of that row move on, its P goes to p. All lanes of the warp get exp(m_old - m_new).
__device__ __forceinline__ float softmax_row(float s, half* p, float* m, float* l, int lane) {
    const float m_old = *m;
    const float m_new = fmaxf(m_old, warp_max(s));
    const float rescale = exp_below(m_old, m_new);
    const float e = exp_below(s, m_new);
    const float l_new = __fadd_rn(__fmul_rn(*l, rescale), warp_sum(e));
    p[lane] = __float2half_rn(e);
    __syncwarp();  // all lanes have read m and l
    if (lane == 0) {
        *m = m_new;
        *l = l_new;
    }
    return rescale;
}

// Sixteen halves of a row.
struct Chunk {
    uint4 half8[2];
};

// Reads a chunk of a row, or zeros where there is no such row.
__device__ __forceinline__ Chunk load_chunk(const half* __restrict__ src, bool valid) {
    if (!valid) return {};
    const uint4* in = reinterpret_cast<const uint4*>(src);
    return {{in[0], in[1]}};
}

__device__ __forceinline__ void store_chunk(half* dst, const Chunk& c) {
    uint4* out = reinterpret_cast<uint4*>(dst);
    out[0] = c.half8[0];
    out[1] = c.half8[1];
}

// Half i of a chunk.
__device__ __forceinline__ half element(const Chunk& c, int i) {
    const uint4& v = c.half8[i / 8];
    const unsigned word = i / 2 % 4 == 0 ? v.x : i / 2 % 4 == 1 ? v.y : i / 2 % 4 == 2 ? v.z : v.w;
    return __ushort_as_half(static_cast<unsigned short>(word >> 16 * (i % 2)));
}

// O = U / l for the warp's rows; a lane writes two columns.
__device__ __forceinline__ void store_output(half* __restrict__ O, const float (*U)[HEAD_DIM], const float* l, int first_row,
                                             int rows, int lane) {
    for (int r = first_row; r < min(first_row + ROWS_PER_WARP, rows); r++) {
        const half2 out = __halves2half2(__float2half_rn(__fdiv_rn(U[r][2 * lane], l[r])),
                                         __float2half_rn(__fdiv_rn(U[r][2 * lane + 1], l[r])));
        *reinterpret_cast<half2*>(&O[static_cast<size_t>(r) * HEAD_DIM + 2 * lane]) = out;
    }
}

}  // namespace
