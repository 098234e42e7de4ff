// softmax_row: Y = softmax of every row of X, any number of columns. One pass over a row's tiles finds its
// maximum and its sum of exponentials (online), a second one normalises.
//
// Launch    grid (ceil(R / 8)), block 128 threads = 4 warps, no dynamic shared memory. Any R and C from 1 on.
//           A block computes 8 rows and walks over the columns, 64 at a time (a "column tile").
// Arguments X, Y f32 [R,C], row-major and dense.
//
// Flags     USE_LOG  the logarithm of the softmax: (x − m) − log l
// Gates     DEBUG_STATS_ONLY      stops after m and l
//           DEBUG_NORMALISE_ONLY  leaves the first pass out; m and l are injected
//
// Shared memory, in bytes: sX float [8][64] 2048 · m_smem float [8] 32 · l_smem float [8] 32: 2,112.
//
// Who owns what   tile       all threads copy it, a warp consecutive cells; −inf past the last row and column
//                 m and l    warp w: rows 2w and 2w + 1, a lane columns lane and lane + 32. Every lane keeps
//                            both in registers
//                 normalise  all threads, a warp consecutive cells of a row
//
// Block barriers   A  the tile is there for all warps
//                  B  the tile has been read, the next one may take its place
//                  C  m and l of all rows are in shared memory
//
// Probes    X after barrier A · m, l after each column tile, by lane 0 of the warp · Y is the output itself.
//
// Departures from the reference, on purpose: exp(x) is ex2.approx(x · log2 e).
#include "tilescope.cuh"

#ifndef USE_LOG
#define USE_LOG 0
#endif
#ifndef DEBUG_STATS_ONLY
#define DEBUG_STATS_ONLY 0
#endif
#ifndef DEBUG_NORMALISE_ONLY
#define DEBUG_NORMALISE_ONLY 0
#endif
#if DEBUG_STATS_ONLY && DEBUG_NORMALISE_ONLY
#error "DEBUG_STATS_ONLY and DEBUG_NORMALISE_ONLY exclude each other"
#endif

// A gate leaves a pass out, and what only that pass uses: declared but never referenced.
#pragma nv_diag_suppress 177

namespace {

constexpr int ROWS = 8;    // a block
constexpr int TILE = 64;   // columns a tile
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS_PER_WARP = ROWS / WARPS;

constexpr bool RUN_STATS = !DEBUG_NORMALISE_ONLY;
constexpr bool RUN_NORMALISE = !DEBUG_STATS_ONLY;

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) for x <= m, as the special function unit approximates it. Where m is still -inf, x is too, and
// contributes 0.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    const float below = __fsub_rn(x, m == neg_inf() ? 0.0f : m);
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(below, 1.4426950408889634f)));
    return y;
}

// Maximum and sum over the lanes of a warp; every lane gets them.
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, o));
    return x;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
softmax_row(const float* __restrict__ X, float* __restrict__ Y, int R, int C TS_PARAM) {
    __shared__ float sX[ROWS][TILE];
    __shared__ float m_smem[ROWS];
    __shared__ float l_smem[ROWS];

    const int t = threadIdx.x;
    const int lane = t % 32;
    const int first_row = t / 32 * ROWS_PER_WARP;  // of the warp's rows
    const int row0 = blockIdx.x * ROWS;
    const int rows = min(ROWS, R - row0);
    const int tiles = (C + TILE - 1) / TILE;
    const size_t base = static_cast<size_t>(row0) * C;

    if (RUN_STATS) {
        float m[ROWS_PER_WARP], l[ROWS_PER_WARP];
#pragma unroll
        for (int i = 0; i < ROWS_PER_WARP; i++) {
            m[i] = neg_inf();
            l[i] = 0.0f;
        }
#pragma unroll 1
        for (int tile = 0; tile < tiles; tile++) {
            for (int cell = t; cell < ROWS * TILE; cell += THREADS) {
                const int r = cell / TILE, c = tile * TILE + cell % TILE;
                sX[r][cell % TILE] = r < rows && c < C ? X[base + static_cast<size_t>(r) * C + c] : neg_inf();
            }
            __syncthreads();  // A
            TS_TILE(TS_X, tile, &sX[0][0], ROWS, TILE, TILE);
#pragma unroll
            for (int i = 0; i < ROWS_PER_WARP; i++) {
                const float x0 = sX[first_row + i][lane], x1 = sX[first_row + i][lane + 32];
                const float m_new = fmaxf(m[i], warp_max(fmaxf(x0, x1)));
                const float sum = warp_sum(__fadd_rn(exp_below(x0, m_new), exp_below(x1, m_new)));
                l[i] = __fadd_rn(__fmul_rn(l[i], exp_below(m[i], m_new)), sum);
                m[i] = m_new;
                if (lane == 0) {
                    TS_OWN(TS_M, tile, first_row + i, 0, m[i]);
                    TS_OWN(TS_L, tile, first_row + i, 0, l[i]);
                }
            }
            __syncthreads();  // B
        }
        if (lane == 0) {
#pragma unroll
            for (int i = 0; i < ROWS_PER_WARP; i++) {
                m_smem[first_row + i] = m[i];
                l_smem[first_row + i] = l[i];
            }
        }
    } else {
        TS_INJECT_VEC(TS_M, tiles - 1, m_smem, ROWS);
        TS_INJECT_VEC(TS_L, tiles - 1, l_smem, ROWS);
    }

    if (RUN_NORMALISE) {
        __syncthreads();  // C
        for (int r = 0; r < rows; r++) {
            for (int c = t; c < C; c += THREADS) {
                const size_t at = base + static_cast<size_t>(r) * C + c;
                Y[at] = USE_LOG ? __fsub_rn(__fsub_rn(X[at], m_smem[r]), logf(l_smem[r]))
                                : __fdiv_rn(exp_below(X[at], m_smem[r]), l_smem[r]);
            }
        }
    }
}
