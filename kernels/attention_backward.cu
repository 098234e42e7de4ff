// attention_backward: the gradients of O = softmax(Q·Kᵀ · softmax_scale) · V. From dO, and from what the forward
// pass left, O and LSE = log of each row's sum of exponentials, it computes
//
//   delta = rowsum(dO ∘ O)          S = Q·Kᵀ · softmax_scale     P = exp(S − LSE)
//   dP = dO·Vᵀ                      dS = P ∘ (dP − delta) · softmax_scale
//   dV = Pᵀ·dO                      dK = dSᵀ·Q                   dQ = dS·K
//
// Half inputs, all products on the tensor core (WMMA 16x16x16).
//
// Launch    grid (ceil(S / 16), H, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64.
//           A block has 16 keys of one head and walks over the queries, 32 at a time (a "query tile"). dK and dV
//           of its keys are its own; to dQ each block adds its part by atomicAdd, in an order that nobody fixes.
// Arguments Q, K, V, O, dO, dK, dV f16 [B,H,S,D], LSE f32 [B,H,S], dQ f32 [B,H,S,D], which is 0 before the launch.
//           All are 16-byte aligned.
//
// Flags     USE_CAUSAL  query i sees keys 0 … i: the walk begins at the diagonal
//
// Shared memory, in bytes (41,728)
//   sK   half  [16][72]  2304    sQ   half  [32][72]  4608    sS   float [32][24]  3072    sP   half [32][24]  1536
//   sV   half  [16][72]  2304    sdO  half  [32][72]  4608    sdP  float [32][24]  3072    sdS  half [32][24]  1536
//   sdK  float [16][72]  4608    sdQ  float [32][72]  9216    delta  float [32]  128
//   sdV  float [16][72]  4608                                 lse    float [32]  128
//   Rows are 16 or 32 bytes longer than the tile's, so that the rows of a fragment start in different banks.
//
// Who owns what   delta        warp w: query rows 8w … 8w+7, a lane two columns
//                 S, dP        warps 0, 1: the two 16x16 blocks of S; warps 2, 3: those of dP
//                 dV, dK       warp w: columns 16w … 16w+15
//                 dQ           warp w: the same columns, of both 16 rows
//
// Block barriers of a query tile: A  the tile and delta are there     C  P and dS are complete
//                                 B  S and dP are complete            D  dV, dK and the part of dQ are complete
//
// Probes    K, V, Q, dO, delta after A · S, dP after B · P, dS after C · dV, dK, dQ_part after D · the outputs
//           themselves.
//
// Departures from the reference, on purpose: P and dS are rounded to half for the products that follow, dS is
// computed from the unrounded P; exp(x) is ex2.approx(x · log2 e).
#include <cuda_fp16.h>
#include <mma.h>

#include "tilescope.cuh"

#ifndef USE_CAUSAL
#define USE_CAUSAL 0
#endif

namespace {

namespace wmma = nvcuda::wmma;

constexpr int TILE_M = 32;  // queries a tile
constexpr int TILE_N = 16;  // keys a block
constexpr int HEAD_DIM = 64;
constexpr int WARPS = 4, THREADS = 32 * WARPS, ROWS_PER_WARP = TILE_M / WARPS;
constexpr int LD = HEAD_DIM + 8;  // of rows of a head's elements
constexpr int LD_S = TILE_N + 8;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) for x <= m, as the special function unit approximates it; 0 for a row that no key takes part in.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    const float below = __fsub_rn(x, m == neg_inf() ? 0.0f : m);
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(below, 1.4426950408889634f)));
    return y;
}

// The first rows of a tile from memory, 8 elements at a time; the others are 0.
template <int ROWS>
__device__ __forceinline__ void load_tile(half (&tile)[ROWS][LD], const half* from, int rows) {
    for (int i = threadIdx.x * 8; i < ROWS * HEAD_DIM; i += THREADS * 8) {
        const int r = i / HEAD_DIM, d = i % HEAD_DIM;
        uint4 x = make_uint4(0, 0, 0, 0);
        if (r < rows) x = *reinterpret_cast<const uint4*>(from + static_cast<size_t>(r) * HEAD_DIM + d);
        *reinterpret_cast<uint4*>(&tile[r][d]) = x;
    }
}

// A 16x16 block of A·Bᵀ over a head's elements, times scale.
__device__ __forceinline__ void scores(float* out, const half* a, const half* b, float scale) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
#pragma unroll
    for (int d = 0; d < HEAD_DIM; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
        wmma::load_matrix_sync(x, a + d, LD);
        wmma::load_matrix_sync(y, b + d, LD);
        wmma::mma_sync(sum, x, y, sum);
    }
#pragma unroll
    for (int e = 0; e < sum.num_elements; e++) sum.x[e] = __fmul_rn(sum.x[e], scale);
    wmma::store_matrix_sync(out, sum, LD_S, wmma::mem_row_major);
}

// A 16x16 block of a gradient of the keys: += Aᵀ·B over the queries of a tile.
__device__ __forceinline__ void add_transposed(float* out, const half* a, const half* b) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, out, LD, wmma::mem_row_major);
#pragma unroll
    for (int r = 0; r < TILE_M; r += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> x;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
        wmma::load_matrix_sync(x, a + r * LD_S, LD_S);
        wmma::load_matrix_sync(y, b + r * LD, LD);
        wmma::mma_sync(sum, x, y, sum);
    }
    wmma::store_matrix_sync(out, sum, LD, wmma::mem_row_major);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_backward(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V,
                   const half* __restrict__ O, const half* __restrict__ dO, const float* __restrict__ LSE,
                   float* __restrict__ dQ, half* __restrict__ dK, half* __restrict__ dV, int H, int S,
                   float softmax_scale TS_PARAM) {
    __shared__ __align__(128) half sK[TILE_N][LD];
    __shared__ __align__(128) half sV[TILE_N][LD];
    __shared__ __align__(128) half sQ[TILE_M][LD];
    __shared__ __align__(128) half sdO[TILE_M][LD];
    __shared__ __align__(128) float sS[TILE_M][LD_S];
    __shared__ __align__(128) float sdP[TILE_M][LD_S];
    __shared__ __align__(128) half sP[TILE_M][LD_S];
    __shared__ __align__(128) half sdS[TILE_M][LD_S];
    __shared__ __align__(128) float sdK[TILE_N][LD];
    __shared__ __align__(128) float sdV[TILE_N][LD];
    __shared__ __align__(128) float sdQ[TILE_M][LD];
    __shared__ __align__(128) float delta[TILE_M];
    __shared__ __align__(128) float lse[TILE_M];

    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int col16 = warp * 16;  // of a head's elements, this warp's
    const size_t row0 = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S;  // of this head
    const int key0 = blockIdx.x * TILE_N;
    const int keys = min(TILE_N, S - key0);
    const int first_tile = USE_CAUSAL ? key0 / TILE_M : 0;
    const int tiles = (S + TILE_M - 1) / TILE_M - first_tile;

    load_tile(sK, K + (row0 + key0) * HEAD_DIM, keys);
    load_tile(sV, V + (row0 + key0) * HEAD_DIM, keys);
    for (int i = t; i < TILE_N * HEAD_DIM; i += THREADS) {
        sdK[i / HEAD_DIM][i % HEAD_DIM] = 0.0f;
        sdV[i / HEAD_DIM][i % HEAD_DIM] = 0.0f;
    }

#pragma unroll 1
    for (int i = 0; i < tiles; i++) {
        const int query0 = (first_tile + i) * TILE_M;
        const int rows = min(TILE_M, S - query0);
        load_tile(sQ, Q + (row0 + query0) * HEAD_DIM, rows);
        load_tile(sdO, dO + (row0 + query0) * HEAD_DIM, rows);
        for (int r = warp * ROWS_PER_WARP; r < (warp + 1) * ROWS_PER_WARP; r++) {  // delta = rowsum(dO ∘ O)
            float sum = 0.0f;
            if (r < rows) {
                const size_t at = (row0 + query0 + r) * HEAD_DIM + lane;
                sum = __fmaf_rn(__half2float(dO[at]), __half2float(O[at]),
                                __fmul_rn(__half2float(dO[at + 32]), __half2float(O[at + 32])));
            }
#pragma unroll
            for (int offset = 16; offset > 0; offset /= 2) {
                sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, offset));
            }
            if (lane == 0) {
                delta[r] = sum;
                lse[r] = r < rows ? LSE[row0 + query0 + r] : neg_inf();
            }
        }
        __syncthreads();  // A
        if (i == 0) {
            TS_TILE(TS_K, i, &sK[0][0], TILE_N, HEAD_DIM, LD);
            TS_TILE(TS_V, i, &sV[0][0], TILE_N, HEAD_DIM, LD);
        }
        TS_TILE(TS_Q, i, &sQ[0][0], TILE_M, HEAD_DIM, LD);
        TS_TILE(TS_DO, i, &sdO[0][0], TILE_M, HEAD_DIM, LD);
        TS_VEC(TS_DELTA, i, delta, TILE_M);

        const int row16 = warp % 2 * 16;
        if (warp < 2) {
            scores(&sS[row16][0], &sQ[row16][0], &sK[0][0], softmax_scale);
        } else {
            scores(&sdP[row16][0], &sdO[row16][0], &sV[0][0], 1.0f);
        }
        __syncthreads();  // B
        TS_TILE(TS_S, i, &sS[0][0], TILE_M, TILE_N, LD_S);
        TS_TILE(TS_DP, i, &sdP[0][0], TILE_M, TILE_N, LD_S);

        for (int c = t; c < TILE_M * TILE_N; c += THREADS) {
            const int r = c / TILE_N, n = c % TILE_N;
            const bool seen = r < rows && n < keys && (!USE_CAUSAL || key0 + n <= query0 + r);
            const float p = seen ? exp_below(sS[r][n], lse[r]) : 0.0f;
            const float ds = seen ? __fmul_rn(__fmul_rn(p, __fsub_rn(sdP[r][n], delta[r])), softmax_scale) : 0.0f;
            sP[r][n] = __float2half_rn(p);
            sdS[r][n] = __float2half_rn(ds);
        }
        __syncthreads();  // C
        TS_TILE(TS_P, i, &sP[0][0], TILE_M, TILE_N, LD_S);
        TS_TILE(TS_DS, i, &sdS[0][0], TILE_M, TILE_N, LD_S);

        add_transposed(&sdV[0][col16], &sP[0][0], &sdO[0][col16]);
        add_transposed(&sdK[0][col16], &sdS[0][0], &sQ[0][col16]);
#pragma unroll
        for (int r = 0; r < TILE_M; r += 16) {  // this block's part of dQ
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> part;
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
            wmma::fill_fragment(part, 0.0f);
            wmma::load_matrix_sync(x, &sdS[r][0], LD_S);
            wmma::load_matrix_sync(y, &sK[0][col16], LD);
            wmma::mma_sync(part, x, y, part);
            wmma::store_matrix_sync(&sdQ[r][col16], part, LD, wmma::mem_row_major);
        }
        __syncthreads();  // D
        TS_TILE(TS_DV, i, &sdV[0][0], TILE_N, HEAD_DIM, LD);
        TS_TILE(TS_DK, i, &sdK[0][0], TILE_N, HEAD_DIM, LD);
        TS_TILE(TS_DQ_PART, i, &sdQ[0][0], TILE_M, HEAD_DIM, LD);

        for (int c = t; c < rows * HEAD_DIM; c += THREADS) {
            const int r = c / HEAD_DIM, d = c % HEAD_DIM;
            atomicAdd(&dQ[(row0 + query0 + r) * HEAD_DIM + d], sdQ[r][d]);
        }
    }

    for (int c = t; c < keys * HEAD_DIM; c += THREADS) {
        const int n = c / HEAD_DIM, d = c % HEAD_DIM;
        const size_t at = (row0 + key0 + n) * HEAD_DIM + d;
        dK[at] = __float2half_rn(sdK[n][d]);
        dV[at] = __float2half_rn(sdV[n][d]);
    }
}
