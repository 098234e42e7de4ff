// attention_causal: O = softmax(Q·Kᵀ · softmax_scale + causal mask) · V on half inputs: query i sees keys 0
// to i. Scalar, written to be read: a thread computes a cell of a product, and a row of the softmax.
//
// Launch    grid (ceil(S / 32), H, B), block 128 threads, no dynamic shared memory. D must be 64.
//           A block computes 32 query rows of one head and walks over the keys, 16 at a time (a "kv tile").
//           The walk ends at the diagonal, so blocks visit different numbers of kv tiles. The last two of a
//           block hide keys from some rows, the very last all keys from the first half of them.
// Arguments Q, K, V, O f16 [B,H,S,D].
//
// Flags     WINDOW  how many keys a query sees at most, its own and those before it; 0: all. The walk then
//                   begins at the first kv tile that the block's first row sees.
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes (20,288)
//   sQ  half [32][66] 4224    sS  float [32][17] 2176    m_smem  float [32]  128
//   sK  half [16][66] 2112    sP  half  [32][18] 1152    l_smem  float [32]  128
//   sV  half [16][64] 2048    sU  float [32][65] 8320
//   Rows of all but sV are an odd number of words long: the threads of a warp read and write down columns.
//
// Block barriers of a kv tile: A  the tile is there for all threads   C  P is complete, U is rescaled
//                              B  S is complete                       D  U is complete; sV and sP are read
//
// Probes    Q, K, V after A · S after B · m, l, P after C · U after D · O is the output itself.
//
// Departures from the reference, on purpose: P is rounded to half for P·V while l sums it unrounded; exp(x)
// is ex2.approx(x · log2 e); the products P·V of a tile are summed on their own and added to U.
#include <cuda_fp16.h>

#include "tilescope.cuh"

#ifndef WINDOW
#define WINDOW 0
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

// A gate leaves the rest of the kv tile out, and what only that part uses: loop is not reachable, declared
// but never referenced, set but never used.
#pragma nv_diag_suppress 128, 177, 550

namespace {

constexpr int TILE_M = 32;  // query rows a block
constexpr int TILE_N = 16;  // keys a kv tile
constexpr int DIM = 64;
constexpr int THREADS = 128;
constexpr int LD_QK = DIM + 2, LD_S = TILE_N + 1, LD_P = TILE_N + 2, LD_U = DIM + 1;

constexpr bool RUN_QK = !DEBUG_SOFTMAX_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_SOFTMAX = !DEBUG_QK_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_PV = !DEBUG_QK_ONLY && !DEBUG_SOFTMAX_ONLY;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) for x <= m, as the special function unit approximates it. Where m is still -inf, x is too, and
// contributes 0.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    const float below = __fsub_rn(x, m == neg_inf() ? 0.0f : m);
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(below, 1.4426950408889634f)));
    return y;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_causal(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V,
                 half* __restrict__ O, int H, int S, float softmax_scale TS_PARAM) {
    __shared__ half sQ[TILE_M][LD_QK];
    __shared__ half sK[TILE_N][LD_QK];
    __shared__ half sV[TILE_N][DIM];
    __shared__ float sS[TILE_M][LD_S];
    __shared__ half sP[TILE_M][LD_P];
    __shared__ float m_smem[TILE_M];
    __shared__ float l_smem[TILE_M];
    __shared__ float sU[TILE_M][LD_U];

    const int t = threadIdx.x;
    const int query0 = blockIdx.x * TILE_M;
    const int rows = min(TILE_M, S - query0);
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * DIM;  // of this head
    const int first_tile = WINDOW > 0 ? max(0, query0 - WINDOW + 1) / TILE_N : 0;
    const int tiles = (min(S, query0 + TILE_M) + TILE_N - 1) / TILE_N - first_tile;
    const half zero = __ushort_as_half(0);

    for (int i = t; i < TILE_M * DIM; i += THREADS) {
        const int r = i / DIM, d = i % DIM;
        if (RUN_QK) sQ[r][d] = r < rows ? Q[base + static_cast<size_t>(query0 + r) * DIM + d] : zero;
        sU[r][d] = 0.0f;
    }
    if (t < TILE_M) {
        m_smem[t] = neg_inf();
        l_smem[t] = 0.0f;
    }

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int key0 = (first_tile + kv) * TILE_N;
        for (int i = t; i < TILE_N * DIM; i += THREADS) {
            const int n = i / DIM, d = i % DIM;
            const size_t at = base + static_cast<size_t>(key0 + n) * DIM + d;
            if (RUN_QK) sK[n][d] = key0 + n < S ? K[at] : zero;
            if (RUN_PV) sV[n][d] = key0 + n < S ? V[at] : zero;
        }
        if (DEBUG_SOFTMAX_ONLY) {
            TS_INJECT_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, LD_S);
        }
        const float m_carried = t < TILE_M ? m_smem[t] : 0.0f;  // under the P·V gate: m of the kv tile before
        __syncthreads();  // A
        if (RUN_QK) {
            if (kv == 0) {
                TS_TILE(TS_Q, kv, &sQ[0][0], TILE_M, DIM, LD_QK);
            }
            TS_TILE(TS_K, kv, &sK[0][0], TILE_N, DIM, LD_QK);
        }
        if (RUN_PV) {
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, DIM, DIM);
        }

        if (RUN_QK) {  // S = Q·Kᵀ · softmax_scale
            for (int i = t; i < TILE_M * TILE_N; i += THREADS) {
                const int r = i / TILE_N, n = i % TILE_N;
                float s = 0.0f;
#pragma unroll 4
                for (int d = 0; d < DIM; d++) {
                    s = __fmaf_rn(__half2float(sQ[r][d]), __half2float(sK[n][d]), s);
                }
                sS[r][n] = __fmul_rn(s, softmax_scale);
            }
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

        if (t < TILE_M) {  // the online softmax: row t
            const int query = query0 + t;
            const int first = WINDOW > 0 ? query - WINDOW + 1 - key0 : 0;  // of the columns that take part
            const int last = query - key0;
            const float m_old = RUN_SOFTMAX ? m_smem[t] : m_carried;
            float m = m_smem[t];
            if (RUN_SOFTMAX) {
                for (int n = 0; n < TILE_N; n++) {
                    if (n >= first && n <= last) m = fmaxf(m, sS[t][n]);
                }
            }
            const float rescale = exp_below(m_old, m);
            if (RUN_SOFTMAX) {
                float l = 0.0f;
                for (int n = 0; n < TILE_N; n++) {
                    const float p = n >= first && n <= last ? exp_below(sS[t][n], m) : 0.0f;
                    sP[t][n] = __float2half_rn(p);
                    l = __fadd_rn(l, p);
                }
                l_smem[t] = __fadd_rn(__fmul_rn(l_smem[t], rescale), l);
                m_smem[t] = m;
            }
            if (RUN_PV) {
                for (int d = 0; d < DIM; d++) sU[t][d] = __fmul_rn(sU[t][d], rescale);
            }
        }
        __syncthreads();  // C
        if (RUN_SOFTMAX) {
            TS_VEC(TS_M, kv, m_smem, TILE_M);
            TS_VEC(TS_L, kv, l_smem, TILE_M);
            TS_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, LD_P);
        }
        if (DEBUG_SOFTMAX_ONLY) continue;

        for (int i = t; i < TILE_M * DIM; i += THREADS) {  // U += P·V
            const int r = i / DIM, d = i % DIM;
            float u = 0.0f;
#pragma unroll 4
            for (int n = 0; n < TILE_N; n++) u = __fmaf_rn(__half2float(sP[r][n]), __half2float(sV[n][d]), u);
            sU[r][d] = __fadd_rn(sU[r][d], u);
        }
        __syncthreads();  // D
        TS_TILE(TS_U, kv, &sU[0][0], TILE_M, DIM, LD_U);
    }

    if (RUN_PV) {
        for (int i = t; i < rows * DIM; i += THREADS) {
            const int r = i / DIM, d = i % DIM;
            const float o = __fdiv_rn(sU[r][d], l_smem[r]);
            O[base + static_cast<size_t>(query0 + r) * DIM + d] = __float2half_rn(o);
        }
    }
}
