// attention_gqa: O = softmax(Q·Kᵀ · softmax_scale) · V with grouped heads: Hq query heads share Hkv key and
// value heads, Hq / Hkv neighbouring ones each. The number of queries, Sq, need not be that of the keys, Sk.
// Half inputs, both products on the tensor core (WMMA 16x16x16).
//
// Launch    grid (ceil(Sq / 32), Hq, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64,
//           Hq a multiple of Hkv. A block computes 32 query rows of one query head and walks over the keys,
//           32 at a time (a "kv tile").
// Arguments Q, O f16 [B,Hq,Sq,D], K, V f16 [B,Hkv,Sk,D], 16-byte aligned.
//
// Flags     USE_CAUSAL  query i sees keys 0 … i + Sk − Sq, so that the last query sees all of them (the mask
//                       is aligned at the bottom right). Sk must not be less than Sq
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes (30,976)
//   sQ   half  [32][72]  4608    sS  float [32][40]  5120    m_smem  float [32]  128
//   sK   half  [32][72]  4608    sP  half  [32][40]  2560    l_smem  float [32]  128
//   sV   half  [32][72]  4608    sU  float [32][72]  9216
//   Rows are 16 or 32 bytes longer than the tile's, so that the rows of a fragment start in different banks.
//
// Who owns what   S        warp w: the 16x16 quadrant in row w / 2, column w % 2
//                 softmax  warp w: query rows 8w … 8w+7, a lane a column; m and l of these rows, and
//                          the rescaling of their U
//                 P·V      warp w: rows 16·(w / 2) …+15, columns 32·(w % 2) …+31, added onto what U carries
//
// Block barriers of a kv tile: A  the tile is there for all warps     C  P is complete, U is rescaled
//                              B  S is complete                       D  U is complete; sV and sP are read
//
// Probes    Q, K, V after A · S after B · m, l, P after C · U after D · O is the output itself.
//
// Departures from the reference, on purpose: P is rounded to half for P·V while l sums it unrounded; exp(x)
// is ex2.approx(x · log2 e).
#include <mma.h>

#include "flashcore.cuh"
#include "tilescope.cuh"

#ifndef USE_CAUSAL
#define USE_CAUSAL 0
#endif

namespace {

namespace wmma = nvcuda::wmma;

constexpr int LD_HALF = HEAD_DIM + 8;  // of sQ, sK and sV
constexpr int LD_S = TILE_N + 8;
constexpr int LD_P = TILE_N + 8;
constexpr int LD_U = HEAD_DIM + 8;

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_gqa(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V,
              half* __restrict__ O, int Hq, int Hkv, int Sq, int Sk, float softmax_scale TS_PARAM) {
    __shared__ __align__(128) half sQ[TILE_M][LD_HALF];
    __shared__ __align__(128) half sK[TILE_N][LD_HALF];
    __shared__ __align__(128) half sV[TILE_N][LD_HALF];
    __shared__ __align__(128) float sS[TILE_M][LD_S];
    __shared__ __align__(128) half sP[TILE_M][LD_P];
    __shared__ __align__(128) float m_smem[TILE_M];
    __shared__ __align__(128) float l_smem[TILE_M];
    __shared__ __align__(128) float sU[TILE_M][LD_U];

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int first_row = warp * ROWS_PER_WARP;          // of the softmax rows that this warp owns
    const int row16 = warp / 2 * 16;                     // of its blocks of S and U
    const int chunk_row = threadIdx.x / CHUNKS_PER_ROW;  // the 16 halves of a tile that this thread loads
    const int chunk_col = threadIdx.x % CHUNKS_PER_ROW * CHUNK;

    const int head = blockIdx.y;
    const int kv_head = head / (Hq / Hkv);
    const int query0 = blockIdx.x * TILE_M;
    const int ahead = Sk - Sq;                           // keys that the first query sees before the diagonal
    const int seen = USE_CAUSAL ? min(Sk, query0 + TILE_M + ahead) : Sk;  // keys that the block's rows see
    const int tiles = (seen + TILE_N - 1) / TILE_N;
    const size_t q_base = (static_cast<size_t>(blockIdx.z) * Hq + head) * Sq * HEAD_DIM;
    const size_t kv_base = (static_cast<size_t>(blockIdx.z) * Hkv + kv_head) * Sk * HEAD_DIM;

    if (RUN_QK) {
        const int row = query0 + chunk_row;
        const size_t at = q_base + static_cast<size_t>(row) * HEAD_DIM + chunk_col;
        store_chunk(&sQ[chunk_row][chunk_col], load_chunk(Q + (row < Sq ? at : q_base), row < Sq));
    }
    if (lane < ROWS_PER_WARP) {
        m_smem[first_row + lane] = neg_inf();
        l_smem[first_row + lane] = 0.0f;
    }
    for (int r = 0; r < ROWS_PER_WARP; r++) {
        sU[first_row + r][lane] = 0.0f;
        sU[first_row + r][lane + 32] = 0.0f;
    }

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int key = kv * TILE_N + chunk_row;
        const size_t at = kv_base + static_cast<size_t>(key < Sk ? key : 0) * HEAD_DIM + chunk_col;
        if (RUN_QK) store_chunk(&sK[chunk_row][chunk_col], load_chunk(K + at, key < Sk));
        if (RUN_PV) store_chunk(&sV[chunk_row][chunk_col], load_chunk(V + at, key < Sk));

        float m_carried = 0.0f;  // under the P·V gate: lane r keeps row r's m of the previous tile
        if (DEBUG_PV_ONLY && lane < ROWS_PER_WARP) m_carried = m_smem[first_row + lane];
        if (DEBUG_SOFTMAX_ONLY) {
            TS_INJECT_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, LD_S);
        }
        __syncthreads();  // A
        if (RUN_QK) {
            if (kv == 0) {
                TS_TILE(TS_Q, kv, &sQ[0][0], TILE_M, HEAD_DIM, LD_HALF);
            }
            TS_TILE(TS_K, kv, &sK[0][0], TILE_N, HEAD_DIM, LD_HALF);
        }
        if (RUN_PV) {
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, HEAD_DIM, LD_HALF);
        }

        if (RUN_QK) {  // S = Q·Kᵀ · softmax_scale
            const int key16 = warp % 2 * 16;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> s_frag;
            wmma::fill_fragment(s_frag, 0.0f);
#pragma unroll
            for (int d = 0; d < HEAD_DIM; d += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> q_frag;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> k_frag;
                wmma::load_matrix_sync(q_frag, &sQ[row16][d], LD_HALF);
                wmma::load_matrix_sync(k_frag, &sK[key16][d], LD_HALF);
                wmma::mma_sync(s_frag, q_frag, k_frag, s_frag);
            }
#pragma unroll
            for (int e = 0; e < s_frag.num_elements; e++) s_frag.x[e] = __fmul_rn(s_frag.x[e], softmax_scale);
            wmma::store_matrix_sync(&sS[row16][key16], s_frag, LD_S, wmma::mem_row_major);
            __syncthreads();  // B
            TS_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, LD_S);
        }
        if (DEBUG_PV_ONLY) {
            TS_INJECT_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, LD_P);
            TS_INJECT_VEC(TS_M, kv, m_smem, TILE_M);
            TS_INJECT_VEC(TS_L, kv, l_smem, TILE_M);
            __syncthreads();  // in the place of B
        }
        if (DEBUG_QK_ONLY) continue;

        // Online softmax: m, l and P of the warp's rows, and their U rescaled to the new m.
#pragma unroll 4
        for (int r = 0; r < ROWS_PER_WARP; r++) {
            const int row = first_row + r;
            float rescale;
            if (RUN_SOFTMAX) {
                const int end = USE_CAUSAL ? min(Sk, query0 + row + ahead + 1) : Sk;  // of what the row sees
                const float s = kv * TILE_N + lane < end ? sS[row][lane] : neg_inf();
                rescale = softmax_row(s, sP[row], &m_smem[row], &l_smem[row], lane);
            } else {
                rescale = exp_below(__shfl_sync(FULL_WARP, m_carried, r), m_smem[row]);
            }
            if (RUN_PV) {
                sU[row][lane] = __fmul_rn(sU[row][lane], rescale);
                sU[row][lane + 32] = __fmul_rn(sU[row][lane + 32], rescale);
            }
        }
        __syncthreads();  // C
        if (RUN_SOFTMAX) {
            TS_VEC(TS_M, kv, m_smem, TILE_M);
            TS_VEC(TS_L, kv, l_smem, TILE_M);
            TS_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, LD_P);
        }
        if (DEBUG_SOFTMAX_ONLY) continue;

        // U += P·V
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int d = warp % 2 * 32 + i * 16;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> u_frag;
            wmma::load_matrix_sync(u_frag, &sU[row16][d], LD_U, wmma::mem_row_major);
#pragma unroll
            for (int n = 0; n < TILE_N; n += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p_frag;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> v_frag;
                wmma::load_matrix_sync(p_frag, &sP[row16][n], LD_P);
                wmma::load_matrix_sync(v_frag, &sV[n][d], LD_HALF);
                wmma::mma_sync(u_frag, p_frag, v_frag, u_frag);
            }
            wmma::store_matrix_sync(&sU[row16][d], u_frag, LD_U, wmma::mem_row_major);
        }
        __syncthreads();  // D
        TS_TILE(TS_U, kv, &sU[0][0], TILE_M, HEAD_DIM, LD_U);
    }

    if (RUN_PV) {
        for (int r = first_row; r < min(first_row + ROWS_PER_WARP, Sq - query0); r++) {
            const half2 o = __halves2half2(__float2half_rn(__fdiv_rn(sU[r][2 * lane], l_smem[r])),
                                           __float2half_rn(__fdiv_rn(sU[r][2 * lane + 1], l_smem[r])));
            *reinterpret_cast<half2*>(&O[q_base + static_cast<size_t>(query0 + r) * HEAD_DIM + 2 * lane]) = o;
        }
    }
}
