// flashcore_fused_wmma: fused attention O = softmax(Q·Kᵀ · softmax_scale) · V on half inputs, both products on the tensor core
// (WMMA 16x16x16), the keys of P·V split over warps and merged by atomics.
//
// Launch    grid (ceil(S / 32), H, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64.
// Arguments Q, K, V f16 [B,H,S,D], 16-byte aligned; O f16 [B,H,S,D].
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes (30,976)
//   sQ   half [32][64]             4096    sS      float [32][32]  4096    m_smem    float [32]          128
//   sKT  half [64][32] as [d][key] 4096    sP      half  [32][32]  2048    l_smem    float [32]          128
//   sV   half [32][64] as [key][d] 4096    U_smem  float [32][64]  8192    sPV_frag  float [4][16][16]  4096
//
// Who owns what   S        warp w: the 16x16 quadrant in row w / 2, column w % 2
//                 softmax  warp w: query rows 8w … 8w+7, a lane a column; m, l and the rescaling of U go with the row
//                 P·V      warp w: rows 16·(w / 2) …+15 of U, the contribution of keys 16·(w % 2) …+15 to them. Two warps add to
//                          every cell of U, in any order: U is a sum of three floats whose last rounding may differ from run to run
//
// Block barriers of a kv tile: A  the tile is there for all warps     C  P is complete, U is rescaled
//                              B  S is complete                       D  both halves of the keys are merged
//
// Probes    Q, K, V after A · S after B · m, l, P after C · U after D · O is the output itself.
//
// Departures from the reference, on purpose: P is rounded to half for P·V while l sums it unrounded; exp(x) is
// ex2.approx(x · log2 e); the products P·V of each half of a tile are summed on their own and added to U.
#include <mma.h>

#include "flashcore.cuh"
#include "tilescope.cuh"

namespace wmma = nvcuda::wmma;

extern "C" __global__ void __launch_bounds__(THREADS, 1)
flashcore_fused_wmma(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, half* __restrict__ O,
                     int B, int H, int S, int D, float softmax_scale TS_PARAM) {
    __shared__ __align__(128) half sQ[TILE_M][HEAD_DIM];
    __shared__ __align__(128) half sKT[HEAD_DIM][TILE_N];
    __shared__ __align__(128) half sV[TILE_N][HEAD_DIM];
    __shared__ __align__(128) float sS[TILE_M][TILE_N];
    __shared__ __align__(128) half sP[TILE_M][TILE_N];
    __shared__ __align__(128) float m_smem[TILE_M];
    __shared__ __align__(128) float l_smem[TILE_M];
    __shared__ __align__(128) float U_smem[TILE_M][HEAD_DIM];
    __shared__ __align__(128) float sPV_frag[WARPS][16][16];

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int first_row = warp * ROWS_PER_WARP;          // of the softmax rows that this warp owns
    const int row16 = warp / 2 * 16;                     // of S and U
    const int key16 = warp % 2 * 16;                     // keys: columns of S, the summed dimension of P·V
    const int chunk_row = threadIdx.x / CHUNKS_PER_ROW;  // the 16 halves of a tile that this thread loads
    const int chunk_col = threadIdx.x % CHUNKS_PER_ROW * CHUNK;

    const int query0 = blockIdx.x * TILE_M;
    const int tiles = (S + TILE_N - 1) / TILE_N;
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * HEAD_DIM;  // of this head

    if (RUN_QK) {
        const bool valid = query0 + chunk_row < S;
        const size_t at = base + static_cast<size_t>(query0 + chunk_row) * HEAD_DIM + chunk_col;
        store_chunk(&sQ[chunk_row][chunk_col], load_chunk(Q + (valid ? at : base), valid));
    }
    if (lane < ROWS_PER_WARP) {
        m_smem[first_row + lane] = neg_inf();
        l_smem[first_row + lane] = 0.0f;
    }
    for (int r = 0; r < ROWS_PER_WARP; r++) {
        U_smem[first_row + r][lane] = 0.0f;
        U_smem[first_row + r][lane + 32] = 0.0f;
    }

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int cols = min(TILE_N, S - kv * TILE_N);  // keys of this tile
        const size_t chunk = base + static_cast<size_t>(chunk_row < cols ? kv * TILE_N + chunk_row : 0) * HEAD_DIM + chunk_col;
        if (RUN_QK) {
            const Chunk k = load_chunk(K + chunk, chunk_row < cols);
#pragma unroll
            for (int i = 0; i < CHUNK; i++) sKT[chunk_col + i][chunk_row] = element(k, i);
        }
        if (RUN_PV) store_chunk(&sV[chunk_row][chunk_col], load_chunk(V + chunk, chunk_row < cols));

        float m_carried = 0.0f;  // under the P·V gate: lane r keeps row r's m of the previous tile
        if (DEBUG_PV_ONLY && lane < ROWS_PER_WARP) m_carried = m_smem[first_row + lane];
        if (DEBUG_SOFTMAX_ONLY) {
            TS_INJECT_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
        }
        __syncthreads();  // A
        if (RUN_QK) {
            if (kv == 0) {
                TS_TILE(TS_Q, kv, &sQ[0][0], TILE_M, HEAD_DIM, HEAD_DIM);
            }
            TS_TILE_AT(TS_K, kv, TILE_N, HEAD_DIM, [&](int n, int d) { return &sKT[d][n]; });
        }
        if (RUN_PV) {
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, HEAD_DIM, HEAD_DIM);
        }

        // S = Q·Kᵀ · softmax_scale
        if (RUN_QK) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> s_frag;
            wmma::fill_fragment(s_frag, 0.0f);
#pragma unroll
            for (int d = 0; d < HEAD_DIM; d += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> q_frag;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> k_frag;
                wmma::load_matrix_sync(q_frag, &sQ[row16][d], HEAD_DIM);
                wmma::load_matrix_sync(k_frag, &sKT[d][key16], TILE_N);
                wmma::mma_sync(s_frag, q_frag, k_frag, s_frag);
            }
#pragma unroll
            for (int e = 0; e < s_frag.num_elements; e++) s_frag.x[e] = __fmul_rn(s_frag.x[e], softmax_scale);
            wmma::store_matrix_sync(&sS[row16][key16], s_frag, TILE_N, wmma::mem_row_major);
            __syncthreads();  // B
            TS_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
        }
        if (DEBUG_PV_ONLY) {
            TS_INJECT_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
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
                const float s = lane < cols ? sS[row][lane] : neg_inf();
                rescale = softmax_row(s, sP[row], &m_smem[row], &l_smem[row], lane);
            } else {
                rescale = exp_below(__shfl_sync(FULL_WARP, m_carried, r), m_smem[row]);
            }
            if (RUN_PV) {
                U_smem[row][lane] = __fmul_rn(U_smem[row][lane], rescale);
                U_smem[row][lane + 32] = __fmul_rn(U_smem[row][lane + 32], rescale);
            }
        }
        __syncthreads();  // C
        if (RUN_SOFTMAX) {
            TS_VEC(TS_M, kv, m_smem, TILE_M);
            TS_VEC(TS_L, kv, l_smem, TILE_M);
            TS_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
        }
        if (DEBUG_SOFTMAX_ONLY) continue;

        // U += P·V, the warp's 16 keys of it
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> p_frag;
        wmma::load_matrix_sync(p_frag, &sP[row16][key16], TILE_N);
#pragma unroll
        for (int d = 0; d < HEAD_DIM; d += 16) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> v_frag;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> pv_frag;
            wmma::load_matrix_sync(v_frag, &sV[key16][d], HEAD_DIM);
            wmma::fill_fragment(pv_frag, 0.0f);
            wmma::mma_sync(pv_frag, p_frag, v_frag, pv_frag);
            wmma::store_matrix_sync(&sPV_frag[warp][0][0], pv_frag, 16, wmma::mem_row_major);
            __syncwarp();  // the fragment is there for all lanes
#pragma unroll
            for (int i = 0; i < 8; i++) {
                const int row = i * 2 + lane / 16, col = lane % 16;
                float* u = &U_smem[row16 + row][d + col];
                const float part = sPV_frag[warp][row][col];
                atomicAdd(u, part);
            }
            __syncwarp();  // all lanes have read it
        }
        __syncthreads();  // D
        TS_TILE(TS_U, kv, &U_smem[0][0], TILE_M, HEAD_DIM, HEAD_DIM);
    }

    if (RUN_PV) store_output(O + base + static_cast<size_t>(query0) * HEAD_DIM, U_smem, l_smem, first_row, S - query0, lane);
}
