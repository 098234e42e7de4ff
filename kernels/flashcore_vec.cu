// flashcore_vec: fused attention O = softmax(Q·Kᵀ · softmax_scale) · V on half inputs, scalar arithmetic in float, vectorised
// loads, one pass over the keys with an online softmax: the trusted baseline of the FlashCore kernels.
//
// Launch    grid (ceil(S / 32), H, B), block 128 threads = 4 warps, no dynamic shared memory. D must be 64.
// Arguments Q, K, V f16 [B,H,S,D], 16-byte aligned; O f16 [B,H,S,D].
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes (27,392)
//   sQ      half  [32][64]  4096      sS      float [32][32]  4096      m_smem  float [32]      128
//   sK      half  [32][72]  4608      sP      half  [32][32]  2048      l_smem  float [32]      128
//   sV      half  [32][64]  4096      U_smem  float [32][64]  8192
//   Rows of sK are padded by eight halves: a lane reads the row of its own key, 16 bytes at a time, without bank conflicts.
//
// Who owns what   a warp: query rows 8w … 8w+7 throughout. S and softmax: a lane a key. P·V and O: a lane two columns.
//
// Block barriers of a kv tile: A  the tile is there for all warps     C  P is complete, U is rescaled
//                              B  S is complete                       D  sK and sV have been read for the last time
//
// Probes    Q, K, V after A · S after B · m, l, P after C · U after D · O is the output itself.
//
// Departures from the reference, on purpose: P is rounded to half for P·V while l sums it unrounded; exp(x) is
// ex2.approx(x · log2 e); the products P·V of a tile are summed on their own and added to U.
#include "flashcore.cuh"
#include "tilescope.cuh"

namespace {
constexpr int K_PAD = 8;

// acc + the dot product of eight pairs of halves, in order.
__device__ __forceinline__ float dot8(float acc, const uint4& a, const uint4& b) {
    const half2* x = reinterpret_cast<const half2*>(&a);
    const half2* y = reinterpret_cast<const half2*>(&b);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 u = __half22float2(x[i]), v = __half22float2(y[i]);
        acc = __fmaf_rn(u.y, v.y, __fmaf_rn(u.x, v.x, acc));
    }
    return acc;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
flashcore_vec(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, half* __restrict__ O, int B,
              int H, int S, int D, float softmax_scale TS_PARAM) {
    __shared__ __align__(128) half sQ[TILE_M][HEAD_DIM];
    __shared__ __align__(128) half sK[TILE_N][HEAD_DIM + K_PAD];
    __shared__ __align__(128) half sV[TILE_N][HEAD_DIM];
    __shared__ __align__(128) float sS[TILE_M][TILE_N];
    __shared__ __align__(128) half sP[TILE_M][TILE_N];
    __shared__ __align__(128) float m_smem[TILE_M];
    __shared__ __align__(128) float l_smem[TILE_M];
    __shared__ __align__(128) float U_smem[TILE_M][HEAD_DIM];

    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int first_row = warp * ROWS_PER_WARP;
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
        if (RUN_QK) store_chunk(&sK[chunk_row][chunk_col], load_chunk(K + chunk, chunk_row < cols));
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
            TS_TILE(TS_K, kv, &sK[0][0], TILE_N, HEAD_DIM, HEAD_DIM + K_PAD);
        }
        if (RUN_PV) {
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, HEAD_DIM, HEAD_DIM);
        }

        // S = Q·Kᵀ · softmax_scale
        if (RUN_QK) {
            float s[ROWS_PER_WARP] = {};
#pragma unroll 2
            for (int d = 0; d < HEAD_DIM; d += 8) {
                const uint4 k = *reinterpret_cast<const uint4*>(&sK[lane][d]);
#pragma unroll
                for (int r = 0; r < ROWS_PER_WARP; r++) {
                    s[r] = dot8(s[r], *reinterpret_cast<const uint4*>(&sQ[first_row + r][d]), k);
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS_PER_WARP; r++) sS[first_row + r][lane] = __fmul_rn(s[r], softmax_scale);
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

        // U += P·V
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
        __syncthreads();  // D
        TS_TILE(TS_U, kv, &U_smem[0][0], TILE_M, HEAD_DIM, HEAD_DIM);
    }

    if (RUN_PV) store_output(O + base + static_cast<size_t>(query0) * HEAD_DIM, U_smem, l_smem, first_row, S - query0, lane);
}
