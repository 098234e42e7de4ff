// attention_causal: O = softmax(Q·Kᵀ · softmax_scale, keys up to the query) · V on half inputs, scalar arithmetic in float. It is a
// test's kernel, written to be read: the loop over kv tiles ends at the diagonal, and the last tile of a block hides keys from some
// rows, or from all of the first half.
//
// Launch    grid (ceil(S / 32), H, B), block 128 threads, no dynamic shared memory. D must be 64.
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
// Faults    FAULT_MASK: a query sees one key too many. FAULT_SHORT: the loop ends one kv tile early.
//
// Shared memory, in bytes: sQ half [32][64], sK half [16][72], sV half [16][64], sS float [32][16], sP half [32][16], m, l float [32],
// U float [32][64]: 20,032.
#include <cuda_fp16.h>
#include "tilescope.cuh"

#ifndef DEBUG_QK_ONLY
#define DEBUG_QK_ONLY 0
#endif
#ifndef DEBUG_SOFTMAX_ONLY
#define DEBUG_SOFTMAX_ONLY 0
#endif
#ifndef DEBUG_PV_ONLY
#define DEBUG_PV_ONLY 0
#endif
#ifndef FAULT_MASK
#define FAULT_MASK 0
#endif
#ifndef FAULT_SHORT
#define FAULT_SHORT 0
#endif

// A gate leaves the rest of the kv tile out, and what only that part uses.
#pragma nv_diag_suppress 128, 177, 550

namespace {
constexpr int TILE_M = 32, TILE_N = 16, DIM = 64, THREADS = 128;
constexpr bool RUN_QK = !DEBUG_SOFTMAX_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_SOFTMAX = !DEBUG_QK_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_PV = !DEBUG_QK_ONLY && !DEBUG_SOFTMAX_ONLY;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m); 0 where nothing was seen yet.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(__fsub_rn(x, m == neg_inf() ? 0.0f : m), 1.4426950408889634f)));
    return y;
}
}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
attention_causal(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, half* __restrict__ O, int H, int S,
                 float softmax_scale TS_PARAM) {
    __shared__ half sQ[TILE_M][DIM];
    __shared__ half sK[TILE_N][DIM + 8];
    __shared__ half sV[TILE_N][DIM];
    __shared__ float sS[TILE_M][TILE_N];
    __shared__ half sP[TILE_M][TILE_N];
    __shared__ float sm[TILE_M];
    __shared__ float sl[TILE_M];
    __shared__ float sU[TILE_M][DIM];

    const int t = threadIdx.x;
    const int query0 = blockIdx.x * TILE_M;
    const int rows = min(TILE_M, S - query0);
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * DIM;
    const int tiles = (min(S, query0 + TILE_M) + TILE_N - 1) / TILE_N - FAULT_SHORT;

    for (int i = t; i < TILE_M * DIM; i += THREADS) {
        const int r = i / DIM, d = i % DIM;
        if (RUN_QK) sQ[r][d] = r < rows ? Q[base + static_cast<size_t>(query0 + r) * DIM + d] : __ushort_as_half(0);
        sU[r][d] = 0.0f;
    }
    if (t < TILE_M) {
        sm[t] = neg_inf();
        sl[t] = 0.0f;
    }

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int key0 = kv * TILE_N;
        for (int i = t; i < TILE_N * DIM; i += THREADS) {
            const int n = i / DIM, d = i % DIM;
            const size_t at = base + static_cast<size_t>(key0 + n) * DIM + d;
            if (RUN_QK) sK[n][d] = key0 + n < S ? K[at] : __ushort_as_half(0);
            if (RUN_PV) sV[n][d] = key0 + n < S ? V[at] : __ushort_as_half(0);
        }
        if (DEBUG_SOFTMAX_ONLY) {
            TS_INJECT_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
        }
        const float m_carried = t < TILE_M ? sm[t] : 0.0f;  // under the P·V gate: m of the kv tile before
        __syncthreads();
        if (RUN_QK) {
            if (kv == 0) {
                TS_TILE(TS_Q, kv, &sQ[0][0], TILE_M, DIM, DIM);
            }
            TS_TILE(TS_K, kv, &sK[0][0], TILE_N, DIM, DIM + 8);
        }
        if (RUN_PV) {
            TS_TILE(TS_V, kv, &sV[0][0], TILE_N, DIM, DIM);
        }

        if (RUN_QK) {  // S = Q·Kᵀ · softmax_scale
            for (int i = t; i < TILE_M * TILE_N; i += THREADS) {
                const int r = i / TILE_N, n = i % TILE_N;
                float s = 0.0f;
#pragma unroll 4
                for (int d = 0; d < DIM; d++) s = __fmaf_rn(__half2float(sQ[r][d]), __half2float(sK[n][d]), s);
                sS[r][n] = __fmul_rn(s, softmax_scale);
            }
            __syncthreads();
            TS_TILE(TS_S, kv, &sS[0][0], TILE_M, TILE_N, TILE_N);
        }
        if (DEBUG_PV_ONLY) {
            TS_INJECT_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
            TS_INJECT_VEC(TS_M, kv, sm, TILE_M);
            TS_INJECT_VEC(TS_L, kv, sl, TILE_M);
            __syncthreads();
        }
        if (DEBUG_QK_ONLY) {
            __syncthreads();
            continue;
        }

        if (t < TILE_M) {  // the online softmax, a thread a row
            float m = sm[t], rescale;
            if (RUN_SOFTMAX) {
                const int visible = min(TILE_N, min(query0 + t + FAULT_MASK, S - 1) - key0 + 1);  // keys of this tile
                const float m_old = m;
                for (int n = 0; n < visible; n++) m = fmaxf(m, sS[t][n]);
                rescale = exp_below(m_old, m);
                float l = 0.0f;
                for (int n = 0; n < TILE_N; n++) {
                    const float p = n < visible ? exp_below(sS[t][n], m) : 0.0f;
                    sP[t][n] = __float2half_rn(p);
                    l = __fadd_rn(l, p);
                }
                sl[t] = __fadd_rn(__fmul_rn(sl[t], rescale), l);
                sm[t] = m;
            } else {
                rescale = exp_below(m_carried, m);
            }
            if (RUN_PV) {
                for (int d = 0; d < DIM; d++) sU[t][d] = __fmul_rn(sU[t][d], rescale);
            }
        }
        __syncthreads();
        if (RUN_SOFTMAX) {
            TS_VEC(TS_M, kv, sm, TILE_M);
            TS_VEC(TS_L, kv, sl, TILE_M);
            TS_TILE(TS_P, kv, &sP[0][0], TILE_M, TILE_N, TILE_N);
        }
        if (DEBUG_SOFTMAX_ONLY) {
            __syncthreads();
            continue;
        }

        for (int i = t; i < TILE_M * DIM; i += THREADS) {  // U += P·V
            const int r = i / DIM, d = i % DIM;
            float u = 0.0f;
#pragma unroll 4
            for (int n = 0; n < TILE_N; n++) u = __fmaf_rn(__half2float(sP[r][n]), __half2float(sV[n][d]), u);
            sU[r][d] = __fadd_rn(sU[r][d], u);
        }
        __syncthreads();
        TS_TILE(TS_U, kv, &sU[0][0], TILE_M, DIM, DIM);
        __syncthreads();
    }

    if (RUN_PV) {
        for (int i = t; i < rows * DIM; i += THREADS) {
            const int r = i / DIM, d = i % DIM;
            O[base + static_cast<size_t>(query0 + r) * DIM + d] = __float2half_rn(__fdiv_rn(sU[r][d], sl[r]));
        }
    }
}
