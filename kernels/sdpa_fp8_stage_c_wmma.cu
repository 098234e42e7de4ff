// sdpa_fp8_stage_c_wmma: fused attention O = softmax(Q·Kᵀ · softmax_scale) · V on 8-bit inputs ("simulated FP8"), the scores
// on the tensor core (WMMA 16x16x16), one pass over the keys with an online softmax.
//
// Launch    grid (ceil(S / 32), H, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64.
//           A block computes 32 query rows of one head and walks over the keys, 32 at a time (a "kv tile").
// Arguments Q, K, V u8 [B,H,S,D], 16-byte aligned; Qs, Ks, Vs f32 [H], one scale a head; O f16 [B,H,S,D].
//           A byte u stands for (u - 128) / 127 · 448 · scale, so 128 is exactly zero.
//
// Flags     USE_CP_ASYNC  K and V bytes of the next kv tile are copied by cp.async while this one is computed (Stage 1)
//           USE_WMMA_PV   P·V on the tensor core too, merged into U through sPV_frag (Stage 2)
//           USE_FUSED_SOFTMAX_PV  no sP: a row's P takes the place of its S in sS (Stage 3A)
//           USE_SMEM_SWIZZLE_XOR  columns of odd rows of sKT and sV exchanged in blocks of eight; ldmatrix and mma.sync read them
//           USE_FUSED_SOFTMAX     no sS: softmax on the score accumulator in registers, in float, through WMMA_ACCUM_LUT (Stage 3B)
//           USE_CP_ASYNC_3STAGE   three staging buffers: two kv tiles are under way while one is computed
//           USE_KV_LUT            K and V decoded by a table of the 256 bytes' values
//           DEBUG_PRINT           block (0,0,0) prints one m, l and U a warp and kv tile
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes                       there with
//   sQ          half  [32][64]                     always                         4096
//   sKT         half  [32][64]  as [key][d]        always                         4096
//   sV          half  [32][64]  as [key][d]        always                         4096
//   sK_u8       u8    [2 or 3][32][64]             USE_CP_ASYNC                   4096 (6144 USE_CP_ASYNC_3STAGE)
//   sV_u8       u8    [2 or 3][32][64]             USE_CP_ASYNC                   4096 (6144 USE_CP_ASYNC_3STAGE)
//   sS          half  [32][32]  as [query][key]    not USE_FUSED_SOFTMAX          2048
//   sP          half  [32][32]  as [query][key]    not USE_FUSED_SOFTMAX_PV       2048
//   m_smem      float [32]                         always                          128
//   l_smem      float [32]                         always                          128
//   U_smem      float [32][64]                     always                         8192
//   sPV_frag    float [4][16][16]                  USE_WMMA_PV                    4096
//   half_max    float [2][32]                      USE_FUSED_SOFTMAX               256
//   half_sum    float [2][32]                      USE_FUSED_SOFTMAX               256
//   rescale_smem float [32]                        USE_FUSED_SOFTMAX               128
//   kv_lut      half  [2][256]                     USE_KV_LUT                     1024
//   Stage 2 is 37,120 bytes, Stage 3A 2,048 fewer, Stage 3B 2,048 fewer and the 640 that two warps need to agree on a row.
//
// Who owns what   S       warp w: the 16x16 quadrant in row w / 2, column w % 2
//                 softmax warp w: query rows 8w … 8w+7, a lane a column; m, l and the rescaling of U go with the row
//                 (fused) warp w: its own quadrant of S, a quad of lanes two rows; warps 2i and 2i + 1 share 16 rows, exchange
//                         the maxima of their halves before exp and the sums after it; warp 2i keeps m and l of the shared rows
//                 P·V     on the tensor core warp w: U rows 16·(w / 2) …+15, columns 32·(w % 2) …+31; else the softmax's rows
//                 K, V    a thread decodes the same 16 bytes that it copied itself, so its own wait is all they need
//
// Block barriers of a kv tile: A  the decoded tile is there for all warps
//                              B  S is complete: softmax reads rows that two warps have written (fused: half_max is complete)
//                              C  P is complete, U is rescaled (fused: half_sum and rescale_smem are complete)
//                              D  sKT and sV have been read for the last time, U is complete
//
// Probes    Q, K, V after A · S after B · m, l, P after C · U after D · O is the output itself. Stage 3A takes a cell of S where
//           its owner reads it, before P overwrites it. Fused: S is the raw accumulator, before B; l after D.
//
// Departures from the reference, on purpose: S is accumulated, scaled and kept in half (fused: in float); P is rounded to half for P·V while l
// sums it unrounded; exp(x) is ex2.approx(x · log2 e); the products P·V of a tile are summed on their own and added to U.
// All float and half arithmetic is spelled with its rounding (.rn), so that no compiler may fuse it in one build and not in
// another: a kernel with probes computes the same bits as one without.
#include <cuda_fp16.h>
#include <mma.h>

#include "cp_async.cuh"
#include "m16n8k16.cuh"
#include "simulated_fp8.cuh"
#include "tilescope.cuh"
#include "wmma16x16_accum_lut.h"

#ifndef USE_CP_ASYNC
#define USE_CP_ASYNC 0
#endif
#ifndef USE_WMMA_PV
#define USE_WMMA_PV 0
#endif
#ifndef USE_FUSED_SOFTMAX_PV
#define USE_FUSED_SOFTMAX_PV 0
#endif
#ifndef USE_SMEM_SWIZZLE_XOR
#define USE_SMEM_SWIZZLE_XOR 0
#endif
#ifndef USE_FUSED_SOFTMAX
#define USE_FUSED_SOFTMAX 0
#endif
#ifndef USE_CP_ASYNC_3STAGE
#define USE_CP_ASYNC_3STAGE 0
#endif
#ifndef USE_KV_LUT
#define USE_KV_LUT 0
#endif
#ifndef DEBUG_PRINT
#define DEBUG_PRINT 0
#endif
#if USE_FUSED_SOFTMAX && USE_FUSED_SOFTMAX_PV
#error "USE_FUSED_SOFTMAX has no sS that USE_FUSED_SOFTMAX_PV could reuse"
#endif
#if (USE_FUSED_SOFTMAX || USE_FUSED_SOFTMAX_PV || USE_SMEM_SWIZZLE_XOR) && !USE_WMMA_PV
#error "USE_FUSED_SOFTMAX, USE_FUSED_SOFTMAX_PV and USE_SMEM_SWIZZLE_XOR need USE_WMMA_PV"
#endif
#if USE_CP_ASYNC_3STAGE && !USE_CP_ASYNC
#error "USE_CP_ASYNC_3STAGE needs USE_CP_ASYNC"
#endif
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

// A gate leaves the rest of the kv tile out, a flag the functions and arrays of the way not taken: loop is not reachable,
// declared but never referenced, set but never used.
#pragma nv_diag_suppress 128, 177, 550

namespace {

namespace wmma = nvcuda::wmma;

constexpr int TILE_M = 32;    // query rows a block
constexpr int TILE_N = 32;    // keys a kv tile
constexpr int HEAD_DIM = 64;
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS_PER_WARP = TILE_M / WARPS;
constexpr int CHUNKS_PER_ROW = HEAD_DIM / CHUNK;
constexpr int BUFFERS = USE_CP_ASYNC_3STAGE ? 3 : 2;  // staging buffers; as many kv tiles less one are copied ahead
static_assert(TILE_M * CHUNKS_PER_ROW == THREADS && TILE_N * CHUNKS_PER_ROW == THREADS, "one chunk a thread and tile");
static_assert(TILE_N == 32, "softmax: one lane a column");

constexpr bool RUN_QK = !DEBUG_SOFTMAX_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_SOFTMAX = !DEBUG_QK_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_PV = !DEBUG_QK_ONLY && !DEBUG_SOFTMAX_ONLY;

constexpr unsigned FULL_WARP = 0xffffffffu;
constexpr float LOG2_E = 1.4426950408889634f;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x), as the special function unit approximates it.
__device__ __forceinline__ float exp_approx(float x) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(x, LOG2_E)));
    return y;
}

// exp(x - m) for x <= m. Where m is still -inf, x is too: measured from 0 instead, it contributes 0 and not NaN.
__device__ __forceinline__ float exp_below(float x, float m) {
    return exp_approx(__fsub_rn(x, m == neg_inf() ? 0.0f : m));
}

// The maximum of a row of scores, of which each lane holds its own column's. A butterfly: every lane gets it.
__device__ __forceinline__ float row_max(float s) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) s = fmaxf(s, __shfl_xor_sync(FULL_WARP, s, o));
    return s;
}

__device__ __forceinline__ float row_sum(float p) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) p = __fadd_rn(p, __shfl_xor_sync(FULL_WARP, p, o));
    return p;
}

// The maximum and the sum over the four lanes that hold the same two rows of a 16x16 accumulator. Every one of them gets it.
__device__ __forceinline__ float quad_max(float x) {
#pragma unroll
    for (int o = 2; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(FULL_WARP, x, o));
    return x;
}

__device__ __forceinline__ float quad_sum(float x) {
#pragma unroll
    for (int o = 2; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(FULL_WARP, x, o));
    return x;
}

// Prints one value, from the first block only.
__device__ __forceinline__ void debug_print(const char* name, int kv, int row, float value) {
    if (blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        printf("block (%d,%d,%d) warp %d lane %d kv %d: %s[%d] = %.9g\n", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x / 32,
               threadIdx.x % 32, kv, name, row, value);
    }
}

#if USE_FUSED_SOFTMAX
using Score = float;
__device__ __forceinline__ float scaled(float s, float scale) { return __fmul_rn(s, scale); }
#else
using Score = half;
__device__ __forceinline__ half scaled(half s, float scale) { return __hmul_rn(s, __float2half_rn(scale)); }
#endif
#if USE_SMEM_SWIZZLE_XOR
using ScoreFragment = Accumulator16<Score>;
#else
using ScoreFragment = wmma::fragment<wmma::accumulator, 16, 16, 16, Score>;
#endif

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
sdpa_fp8_stage_c_wmma(const unsigned char* __restrict__ Q, const unsigned char* __restrict__ K,
                      const unsigned char* __restrict__ V, const float* __restrict__ Qs, const float* __restrict__ Ks,
                      const float* __restrict__ Vs, half* __restrict__ O, int B, int H, int S, int D,
                      float softmax_scale TS_PARAM) {
    __shared__ __align__(128) half sQ[TILE_M][HEAD_DIM];
    __shared__ __align__(128) half sKT[TILE_N][HEAD_DIM];
    __shared__ __align__(128) half sV[TILE_N][HEAD_DIM];
    __shared__ __align__(128) unsigned char sK_u8[BUFFERS][TILE_N][HEAD_DIM];
    __shared__ __align__(128) unsigned char sV_u8[BUFFERS][TILE_N][HEAD_DIM];
    __shared__ __align__(128) half sS[TILE_M][TILE_N];
#if USE_FUSED_SOFTMAX_PV
    half(&sP)[TILE_M][TILE_N] = sS;
#else
    __shared__ __align__(128) half sP[TILE_M][TILE_N];
#endif
    __shared__ __align__(128) float m_smem[TILE_M];
    __shared__ __align__(128) float l_smem[TILE_M];
    __shared__ __align__(128) float U_smem[TILE_M][HEAD_DIM];
    __shared__ __align__(128) float sPV_frag[WARPS][16][16];

    __shared__ __align__(128) float half_max[2][TILE_M];    // of columns 0 … 15 and 16 … 31, in this kv tile alone
    __shared__ __align__(128) float half_sum[2][TILE_M];
    __shared__ __align__(128) float rescale_smem[TILE_M];  // exp(m_old - m_new)
    __shared__ __align__(128) half kv_lut[2][256];         // K's values, V's values

    static_assert(USE_CP_ASYNC_3STAGE || sizeof(sQ) + sizeof(sKT) + sizeof(sV) + sizeof(sK_u8) + sizeof(sV_u8) + sizeof(sS) + sizeof(sP) +
                          sizeof(m_smem) + sizeof(l_smem) + sizeof(U_smem) + sizeof(sPV_frag) == 37120,
                  "the table at the top of this file is out of date");

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int first_row = warp * ROWS_PER_WARP;            // of the softmax rows that this warp owns
    const int chunk_row = threadIdx.x / CHUNKS_PER_ROW;    // the 16 bytes of a tile that this thread owns
    const int chunk_col = threadIdx.x % CHUNKS_PER_ROW * CHUNK;
    const bool exchange = USE_SMEM_SWIZZLE_XOR && chunk_row % 2 == 1;

    const int head = blockIdx.y;
    const int query0 = blockIdx.x * TILE_M;
    const int tiles = (S + TILE_N - 1) / TILE_N;
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + head) * S * HEAD_DIM;  // of this head in Q, K, V and O

    const float k_scale = __fmul_rn(DECODE, Ks[head]);
    const float v_scale = __fmul_rn(DECODE, Vs[head]);

    // Starts copying kv tile kv into its staging buffer.
    auto prefetch = [&](int kv) {
        const int key = kv * TILE_N + chunk_row;
        const size_t src = key < S ? base + static_cast<size_t>(key) * HEAD_DIM + chunk_col : base;
        if (RUN_QK) copy_chunk_async(&sK_u8[kv % BUFFERS][chunk_row][chunk_col], K + src, key < S);
        if (RUN_PV) copy_chunk_async(&sV_u8[kv % BUFFERS][chunk_row][chunk_col], V + src, key < S);
        commit_copies();
    };

    if (USE_CP_ASYNC && (RUN_QK || RUN_PV)) {
        prefetch(0);
        if (USE_CP_ASYNC_3STAGE && tiles > 1) prefetch(1);
    }
    if (USE_KV_LUT && (RUN_QK || RUN_PV)) {
        for (int u = threadIdx.x; u < 256; u += THREADS) {
            kv_lut[0][u] = __ushort_as_half(decode(u, 128.0f, k_scale));
            kv_lut[1][u] = __ushort_as_half(decode(u, 128.0f, v_scale));
        }
        __syncthreads();  // the table is there for all warps
    }

    if (RUN_QK) {
        const int row = query0 + chunk_row;
        Halves16 q = {};  // zeros past the last query
        if (row < S) {
            const uint4 bytes = load_chunk(Q + base + static_cast<size_t>(row) * HEAD_DIM + chunk_col);
            q = decode_chunk(bytes, 128.0f, __fmul_rn(DECODE, Qs[head]));
        }
        store_chunk(sQ[chunk_row], chunk_col, q, false);
    }
    if (lane < ROWS_PER_WARP) {
        m_smem[first_row + lane] = neg_inf();
        l_smem[first_row + lane] = 0.0f;
    }
    for (int r = 0; r < ROWS_PER_WARP; r++) {
        U_smem[first_row + r][lane] = 0.0f;
        U_smem[first_row + r][lane + 32] = 0.0f;
    }

#if USE_FUSED_SOFTMAX
    // Where the lane's accumulator elements lie: in sP, and on which of its two rows.
    const int half_row = warp / 2 * 16, half_col = warp % 2 * 16;
    int cell[8], lane_row[2];
    unsigned lower = 0;  // bit e: element e is not on the row of element 0
    lane_row[0] = lane_row[1] = half_row + WMMA_ACCUM_LUT[lane][0][0];
#pragma unroll
    for (int e = 0; e < 8; e++) {
        const int row = half_row + WMMA_ACCUM_LUT[lane][e][0];
        cell[e] = row * TILE_N + half_col + WMMA_ACCUM_LUT[lane][e][1];
        if (row != lane_row[0]) {
            lower |= 1u << e;
            lane_row[1] = row;
        }
    }
    const bool leader = lane % 4 == 0;  // of the quad that holds the same two rows
#endif

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int cols = min(TILE_N, S - kv * TILE_N);  // keys of this tile

        // K and V. A copy overwrites the buffer that was decoded one tile ago, before that tile's A. The waits count what may
        // still be under way: the tiles after this one.
        if (USE_CP_ASYNC && (RUN_QK || RUN_PV)) {
            if (USE_CP_ASYNC_3STAGE && kv + 2 < tiles) {
                prefetch(kv + 2);
                wait_copies<2>();
            } else if (kv + 1 < tiles) {
                if (!USE_CP_ASYNC_3STAGE) prefetch(kv + 1);
                wait_copies<1>();
            } else {
                wait_copies<0>();
            }
        }
        const size_t chunk = base + static_cast<size_t>(kv * TILE_N + chunk_row) * HEAD_DIM + chunk_col;
        if (RUN_QK) {
            Halves16 k = {};  // zeros past the last key
            if (chunk_row < cols) {
                const uint4 bytes = load_chunk(USE_CP_ASYNC ? &sK_u8[kv % BUFFERS][chunk_row][chunk_col] : K + chunk);
                k = USE_KV_LUT ? look_up_chunk(bytes, kv_lut[0]) : decode_chunk(bytes, 128.0f, k_scale);
            }
            store_chunk(sKT[chunk_row], chunk_col, k, exchange);
        }
        if (RUN_PV) {
            Halves16 v = {};
            if (chunk_row < cols) {
                const uint4 bytes = load_chunk(USE_CP_ASYNC ? &sV_u8[kv % BUFFERS][chunk_row][chunk_col] : V + chunk);
                v = USE_KV_LUT ? look_up_chunk(bytes, kv_lut[1]) : decode_chunk(bytes, 128.0f, v_scale);
            }
            store_chunk(sV[chunk_row], chunk_col, v, exchange);
        }

        float m_carried = 0.0f;  // under the P·V gate: lane r keeps row r's m of the previous tile
        if (DEBUG_PV_ONLY && lane < ROWS_PER_WARP) m_carried = m_smem[first_row + lane];
        if (DEBUG_SOFTMAX_ONLY && !USE_FUSED_SOFTMAX) {
            TS_INJECT_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
        }
        __syncthreads();  // A
        if (RUN_QK) {
            if (kv == 0) {
                TS_TILE(TS_Q, kv, &sQ[0][0], TILE_M, HEAD_DIM, HEAD_DIM);
            }
#if USE_SMEM_SWIZZLE_XOR
            TS_TILE_AT(TS_K, kv, TILE_N, HEAD_DIM, [&](int n, int d) { return &sKT[n][swizzled(n, d)]; });
#else
            TS_TILE(TS_K, kv, &sKT[0][0], TILE_N, HEAD_DIM, HEAD_DIM);
#endif
        }
        if (RUN_PV) {
#if USE_SMEM_SWIZZLE_XOR
            TS_TILE_AT(TS_V, kv, TILE_N, HEAD_DIM, [&](int n, int d) { return &sV[n][swizzled(n, d)]; });
#else
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, HEAD_DIM, HEAD_DIM);
#endif
        }

        // S = Q·Kᵀ · softmax_scale
        const int row16 = warp / 2 * 16, col16 = warp % 2 * 16;  // the warp's quadrant of S
        ScoreFragment s_frag;
        if (RUN_QK) {
            constexpr unsigned kt_ld = HEAD_DIM;  // from one key of sKT to the next
#if USE_SMEM_SWIZZLE_XOR
#pragma unroll
            for (int e = 0; e < s_frag.num_elements; e++) s_frag.x[e] = 0;
            const BlockRow q_at = rows_first(lane), k_at = columns_first(lane);
#pragma unroll
            for (int d = 0; d < HEAD_DIM; d += 16) {
                const int n = col16 + k_at.row;
                multiply_add(s_frag, load_blocks(&sQ[row16 + q_at.row][d + q_at.col]),
                             load_blocks(&sKT[0][0] + n * kt_ld + swizzled(n, d + k_at.col)));
            }
#else
            wmma::fill_fragment(s_frag, Score(0));
#pragma unroll
            for (int d = 0; d < HEAD_DIM; d += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> q_frag;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> k_frag;
                wmma::load_matrix_sync(q_frag, &sQ[row16][d], HEAD_DIM);
                wmma::load_matrix_sync(k_frag, &sKT[col16][d], kt_ld);
                wmma::mma_sync(s_frag, q_frag, k_frag, s_frag);
            }
#endif
#pragma unroll
            for (int e = 0; e < s_frag.num_elements; e++) s_frag.x[e] = scaled(s_frag.x[e], softmax_scale);
        }
#if USE_FUSED_SOFTMAX
        if (DEBUG_SOFTMAX_ONLY) {
            TS_INJECT_FRAG(TS_S, kv, s_frag);
        }
        if (RUN_QK) {
            TS_FRAG(TS_S, kv, s_frag);
        }
        // The maximum of the warp's half of each of the lane's two rows, for the warp that has the other half.
        float m_old[2], top[2] = {neg_inf(), neg_inf()};
        if (RUN_SOFTMAX) {
#pragma unroll
            for (int e = 0; e < 8; e++) {
                if (cell[e] % TILE_N >= cols) s_frag.x[e] = neg_inf();
                if (lower >> e & 1) top[1] = fmaxf(top[1], s_frag.x[e]);
                else top[0] = fmaxf(top[0], s_frag.x[e]);
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                m_old[i] = m_smem[lane_row[i]];
                top[i] = quad_max(top[i]);
                if (leader) half_max[warp % 2][lane_row[i]] = top[i];
            }
        }
        if (RUN_QK || RUN_SOFTMAX) __syncthreads();  // B
#else
        if (RUN_QK) {
            constexpr unsigned s_ld = TILE_N;  // from one query of sS to the next
#if USE_SMEM_SWIZZLE_XOR
            store_tile(&sS[0][0] + row16 * s_ld + col16, s_frag, s_ld, lane);
#else
            wmma::store_matrix_sync(&sS[0][0] + row16 * s_ld + col16, s_frag, s_ld, wmma::mem_row_major);
#endif
            __syncthreads();  // B
            if (!USE_FUSED_SOFTMAX_PV || DEBUG_QK_ONLY) {
                TS_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
            }
        }
#endif
        if (DEBUG_PV_ONLY) {
            TS_INJECT_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
            TS_INJECT_VEC(TS_M, kv, m_smem, TILE_M);
            TS_INJECT_VEC(TS_L, kv, l_smem, TILE_M);
            __syncthreads();  // in the place of B
        }
        if (DEBUG_QK_ONLY) continue;

#if USE_FUSED_SOFTMAX
        // Online softmax in registers. The partner's half counts before anything is rescaled: m_new is that of the whole row.
        if (RUN_SOFTMAX) {
            float m_new[2], sum[2] = {};
#pragma unroll
            for (int i = 0; i < 2; i++) {
                m_new[i] = fmaxf(m_old[i], fmaxf(half_max[0][lane_row[i]], half_max[1][lane_row[i]]));
            }
#pragma unroll
            for (int e = 0; e < 8; e++) {
                const float p = exp_below(s_frag.x[e], lower >> e & 1 ? m_new[1] : m_new[0]);
                if (lower >> e & 1) sum[1] = __fadd_rn(sum[1], p);
                else sum[0] = __fadd_rn(sum[0], p);
                (&sP[0][0])[cell[e]] = __float2half_rn(p);
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const int row = lane_row[i];
                sum[i] = quad_sum(sum[i]);
                const float rescale = exp_below(m_old[i], m_new[i]);
                if (leader) half_sum[warp % 2][row] = sum[i];
                if (leader && warp % 2 == 0) {
                    m_smem[row] = m_new[i];
                    rescale_smem[row] = rescale;
                }
            }
        } else if (lane < ROWS_PER_WARP) {
            rescale_smem[first_row + lane] = exp_below(m_carried, m_smem[first_row + lane]);
        }
#else
        // Online softmax: m, l and P of the warp's rows, and their U rescaled to the new m.
#pragma unroll 4
        for (int r = 0; r < ROWS_PER_WARP; r++) {
            const int row = first_row + r;
            const float m_old = RUN_SOFTMAX ? m_smem[row] : __shfl_sync(FULL_WARP, m_carried, r);
            float m_new, s = 0.0f;
            if (RUN_SOFTMAX) {
                s = __half2float(sS[row][lane]);
#if USE_FUSED_SOFTMAX_PV && !DEBUG_SOFTMAX_ONLY
                TS_OWN(TS_S, kv, row, lane, sS[row][lane]);
#endif
                if (lane >= cols) s = neg_inf();
                m_new = fmaxf(m_old, row_max(s));
            } else {
                m_new = m_smem[row];
            }
            const float rescale = exp_below(m_old, m_new);
            if (RUN_SOFTMAX) {
                float p = exp_below(s, m_new);
                const float l_new = __fadd_rn(__fmul_rn(l_smem[row], rescale), row_sum(p));
                sP[row][lane] = __float2half_rn(p);
                __syncwarp();  // all lanes have read m and l
                if (lane == 0) {
                    m_smem[row] = m_new;
                    l_smem[row] = l_new;
                }
            }
            if (RUN_PV) {
                U_smem[row][lane] = __fmul_rn(U_smem[row][lane], rescale);
                U_smem[row][lane + 32] = __fmul_rn(U_smem[row][lane + 32], rescale);
            }
        }
#endif
        __syncthreads();  // C
        if (RUN_SOFTMAX) {
            TS_VEC(TS_M, kv, m_smem, TILE_M);
            TS_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
#if USE_FUSED_SOFTMAX
            if (leader && warp % 2 == 0) {
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const int row = lane_row[i];
                    l_smem[row] = __fadd_rn(__fmul_rn(l_smem[row], rescale_smem[row]), __fadd_rn(half_sum[0][row], half_sum[1][row]));
                }
            }
#endif
            if (DEBUG_PRINT && lane == 0 && (!USE_FUSED_SOFTMAX || warp % 2 == 0)) {
                const int row = USE_FUSED_SOFTMAX ? row16 : first_row;
                debug_print("m", kv, row, m_smem[row]);
                debug_print("l", kv, row, l_smem[row]);
            }
            if (!USE_FUSED_SOFTMAX) {
                TS_VEC(TS_L, kv, l_smem, TILE_M);
            }
        }
        if (DEBUG_SOFTMAX_ONLY) {
#if USE_FUSED_SOFTMAX
            __syncthreads();  // in the place of D: l is complete
            TS_VEC(TS_L, kv, l_smem, TILE_M);
#endif
            continue;
        }

        // U += P·V
        if (USE_WMMA_PV) {
#if USE_SMEM_SWIZZLE_XOR
            const BlockRow at = rows_first(lane);
            Operand16 p_frag[TILE_N / 16];
#pragma unroll
            for (int n = 0; n < TILE_N / 16; n++) p_frag[n] = load_blocks(&sP[row16 + at.row][16 * n + at.col]);
#else
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p_frag[TILE_N / 16];
#pragma unroll
            for (int n = 0; n < TILE_N / 16; n++) wmma::load_matrix_sync(p_frag[n], &sP[row16][16 * n], TILE_N);
#endif
#pragma unroll
            for (int t = 0; t < 2; t++) {
                const int u_col = warp % 2 * 32 + t * 16;
#if USE_SMEM_SWIZZLE_XOR
                Accumulator16<float> pv_frag = {};
#pragma unroll
                for (int n = 0; n < TILE_N / 16; n++) {
                    const int key = 16 * n + at.row;
                    multiply_add(pv_frag, p_frag[n], load_blocks_transposed(&sV[key][swizzled(key, u_col + at.col)]));
                }
                store_tile(&sPV_frag[warp][0][0], pv_frag, 16, lane);
#else
                wmma::fragment<wmma::accumulator, 16, 16, 16, float> pv_frag;
                wmma::fill_fragment(pv_frag, 0.0f);
#pragma unroll
                for (int n = 0; n < TILE_N / 16; n++) {
                    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> v_frag;
                    wmma::load_matrix_sync(v_frag, &sV[16 * n][u_col], HEAD_DIM);
                    wmma::mma_sync(pv_frag, p_frag[n], v_frag, pv_frag);
                }
                wmma::store_matrix_sync(&sPV_frag[warp][0][0], pv_frag, 16, wmma::mem_row_major);
#endif
                __syncwarp();  // the fragment is there for all lanes
#pragma unroll
                for (int i = 0; i < 8; i++) {
                    const int row = i * 2 + lane / 16, col = lane % 16;
                    float* u = &U_smem[row16 + row][u_col + col];
                    const float carried = USE_FUSED_SOFTMAX ? __fmul_rn(*u, rescale_smem[row16 + row]) : *u;
                    *u = __fadd_rn(carried, sPV_frag[warp][row][col]);
                }
                __syncwarp();  // all lanes have read it
            }
        } else {
            float2 sum[ROWS_PER_WARP] = {};  // columns 2·lane and 2·lane + 1 of the warp's rows
#pragma unroll 4
            for (int n = 0; n < TILE_N; n++) {
                const float2 v = __half22float2(*reinterpret_cast<const half2*>(&sV[n][2 * lane]));
#pragma unroll
                for (int r = 0; r < ROWS_PER_WARP; r++) {
                    const float p = __half2float(sP[first_row + r][n]);
                    sum[r].x = __fmaf_rn(p, v.x, sum[r].x);
                    sum[r].y = __fmaf_rn(p, v.y, sum[r].y);
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS_PER_WARP; r++) {
                float* u = &U_smem[first_row + r][2 * lane];
                u[0] = __fadd_rn(u[0], sum[r].x);
                u[1] = __fadd_rn(u[1], sum[r].y);
            }
        }
        __syncthreads();  // D
        TS_TILE(TS_U, kv, &U_smem[0][0], TILE_M, HEAD_DIM, HEAD_DIM);
        if (USE_FUSED_SOFTMAX && RUN_SOFTMAX) {
            TS_VEC(TS_L, kv, l_smem, TILE_M);
        }
        if (DEBUG_PRINT && lane == 0) debug_print("U", kv, first_row, U_smem[first_row][0]);
    }

    if (RUN_PV) {
        for (int r = 0; r < ROWS_PER_WARP; r++) {
            const int row = first_row + r;
            if (query0 + row >= S) break;
            const float l = l_smem[row];
            const half2 out = __halves2half2(__float2half_rn(__fdiv_rn(U_smem[row][2 * lane], l)),
                                             __float2half_rn(__fdiv_rn(U_smem[row][2 * lane + 1], l)));
            *reinterpret_cast<half2*>(&O[base + static_cast<size_t>(query0 + row) * HEAD_DIM + 2 * lane]) = out;
        }
    }
}
