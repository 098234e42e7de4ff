// gemm_wmma: C = gelu(A·B + bias), a matrix product on the tensor core (WMMA 16x16x16, sums in float) with
// bias and GELU in its epilogue.
//
// Launch    grid (ceil(N / 64), ceil(M / 32)), block 256 threads = 8 warps, no dynamic shared memory.
//           Any M, N and K from 1 on. A block computes 32 rows and 64 columns of C and walks over K, 32 at a
//           time (a "k tile").
// Arguments A f16 [M,K], B f16 [K,N], bias f32 [N], C f16 [M,N], row-major and dense. Rows have no alignment,
//           so tiles are copied half by half. Cells beyond M, N or K are 0 in shared memory and add nothing.
//
// Flags     USE_DOUBLE_BUFFER  two buffers for the tiles: one barrier a k tile instead of two
//           USE_GELU_TANH      GELU by tanh instead of erf
// Gates     DEBUG_MAINLOOP_ONLY  stops after the products
//           DEBUG_EPILOGUE_ONLY  leaves the products out; their sums are injected
//
// Shared memory, in bytes                               with USE_DOUBLE_BUFFER
//   sA   half  [1 or 2][32][40]  as [row][k]      2560      5120
//   sB   half  [1 or 2][32][72]  as [k][column]   4608      9216
//   sC   float [32][72]                           9216      9216
//   16,384 bytes; 23,552 with USE_DOUBLE_BUFFER. Rows are 8 elements longer than the tile's, so that the rows
//   of a fragment start in different banks.
//
// Who owns what   tiles     a thread copies 4 cells of A and 8 of B, a warp consecutive ones. The next tile's
//                           are read into registers before the products of this one
//                 products  warp w: the 16x16 block of C in row w / 4, column w % 4
//                 epilogue  a thread computes 8 cells, a warp consecutive ones of a row
//
// Block barriers   A  the tile is there for all warps
//                  B  the tile has been read, the next one may take its place. With USE_DOUBLE_BUFFER the
//                     next one goes to the other buffer, and its barrier A stands before this one is reused
//                  C  the sums of all warps are in sC
//
// Probes    A, B after barrier A · acc, the accumulators in registers, after the products of each k tile ·
//           pre, a cell before GELU, where it is computed · C is the output itself.
//
// Departures from the reference, on purpose: none but roundings. The tensor core truncates while it adds, the
// epilogue rounds every operation to float, and C is rounded to half once.
#include <cuda_fp16.h>
#include <mma.h>

#include "tilescope.cuh"

#ifndef USE_DOUBLE_BUFFER
#define USE_DOUBLE_BUFFER 0
#endif
#ifndef USE_GELU_TANH
#define USE_GELU_TANH 0
#endif
#ifndef DEBUG_MAINLOOP_ONLY
#define DEBUG_MAINLOOP_ONLY 0
#endif
#ifndef DEBUG_EPILOGUE_ONLY
#define DEBUG_EPILOGUE_ONLY 0
#endif
#if DEBUG_MAINLOOP_ONLY && DEBUG_EPILOGUE_ONLY
#error "DEBUG_MAINLOOP_ONLY and DEBUG_EPILOGUE_ONLY exclude each other"
#endif

// A gate leaves a part out, and what only that part uses: declared but never referenced, set but never used.
#pragma nv_diag_suppress 177, 550

namespace {

namespace wmma = nvcuda::wmma;

constexpr int TILE_M = 32;  // rows of C a block
constexpr int TILE_N = 64;  // columns of C a block
constexpr int TILE_K = 32;  // summed indices a k tile
constexpr int PAD = 8;
constexpr int THREADS = 256;
constexpr int BUFFERS = USE_DOUBLE_BUFFER ? 2 : 1;
constexpr int A_CELLS = TILE_M * TILE_K / THREADS;  // of a tile, a thread
constexpr int B_CELLS = TILE_K * TILE_N / THREADS;
static_assert(TILE_M / 16 * (TILE_N / 16) * 32 == THREADS, "a warp for each 16x16 block of C");

constexpr bool RUN_MAINLOOP = !DEBUG_EPILOGUE_ONLY;
constexpr bool RUN_EPILOGUE = !DEBUG_MAINLOOP_ONLY;

// x·Φ(x), Φ the normal distribution.
__device__ __forceinline__ float gelu(float x) {
#if USE_GELU_TANH
    const float cube = __fmul_rn(__fmul_rn(__fmul_rn(0.044715f, x), x), x);
    const float phi2 = __fadd_rn(1.0f, tanhf(__fmul_rn(0.7978845608028654f, __fadd_rn(x, cube))));
#else
    const float phi2 = __fadd_rn(1.0f, erff(__fmul_rn(x, 0.7071067811865476f)));
#endif
    return __fmul_rn(__fmul_rn(0.5f, x), phi2);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
gemm_wmma(const half* __restrict__ A, const half* __restrict__ B, const float* __restrict__ bias,
          half* __restrict__ C, int M, int N, int K TS_PARAM) {
    __shared__ __align__(128) half sA[BUFFERS][TILE_M][TILE_K + PAD];
    __shared__ __align__(128) half sB[BUFFERS][TILE_K][TILE_N + PAD];
    __shared__ __align__(128) float sC[TILE_M][TILE_N + PAD];

    const int t = threadIdx.x;
    const int warp = t / 32;
    const int row16 = warp / 4 * 16;  // of the warp's block of C
    const int col16 = warp % 4 * 16;
    const int row0 = blockIdx.y * TILE_M;
    const int col0 = blockIdx.x * TILE_N;
    const int tiles = (K + TILE_K - 1) / TILE_K;
    const half zero = __ushort_as_half(0);

    // The thread's cells of a k tile.
    half a[A_CELLS], b[B_CELLS];
    auto fetch = [&](int kt) {
#pragma unroll
        for (int i = 0; i < A_CELLS; i++) {
            const int cell = i * THREADS + t, row = row0 + cell / TILE_K, k = kt * TILE_K + cell % TILE_K;
            a[i] = row < M && k < K ? A[static_cast<size_t>(row) * K + k] : zero;
        }
#pragma unroll
        for (int i = 0; i < B_CELLS; i++) {
            const int cell = i * THREADS + t, k = kt * TILE_K + cell / TILE_N, col = col0 + cell % TILE_N;
            b[i] = k < K && col < N ? B[static_cast<size_t>(k) * N + col] : zero;
        }
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);

    if (RUN_MAINLOOP) {
        fetch(0);
#pragma unroll 1
        for (int kt = 0; kt < tiles; kt++) {
            const int buffer = kt % BUFFERS;
#pragma unroll
            for (int i = 0; i < A_CELLS; i++) sA[buffer][(i * THREADS + t) / TILE_K][t % TILE_K] = a[i];
#pragma unroll
            for (int i = 0; i < B_CELLS; i++) sB[buffer][(i * THREADS + t) / TILE_N][t % TILE_N] = b[i];
            __syncthreads();  // A
            TS_TILE(TS_A, kt, &sA[buffer][0][0], TILE_M, TILE_K, TILE_K + PAD);
            TS_TILE(TS_B, kt, &sB[buffer][0][0], TILE_K, TILE_N, TILE_N + PAD);

            if (kt + 1 < tiles) fetch(kt + 1);
#pragma unroll
            for (int k = 0; k < TILE_K; k += 16) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_frag;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_frag;
                wmma::load_matrix_sync(a_frag, &sA[buffer][row16][k], TILE_K + PAD);
                wmma::load_matrix_sync(b_frag, &sB[buffer][k][col16], TILE_N + PAD);
                wmma::mma_sync(acc, a_frag, b_frag, acc);
            }
            TS_FRAG(TS_ACC, kt, acc);
            if (!USE_DOUBLE_BUFFER) __syncthreads();  // B
        }
    } else {
        TS_INJECT_FRAG(TS_ACC, tiles - 1, acc);
    }

    if (RUN_EPILOGUE) {
        wmma::store_matrix_sync(&sC[row16][col16], acc, TILE_N + PAD, wmma::mem_row_major);
        __syncthreads();  // C
        for (int cell = t; cell < TILE_M * TILE_N; cell += THREADS) {
            const int r = cell / TILE_N, c = cell % TILE_N;
            if (row0 + r >= M || col0 + c >= N) continue;
            const float x = __fadd_rn(sC[r][c], bias[col0 + c]);
            TS_OWN(TS_PRE, tiles, r, c, x);
            C[static_cast<size_t>(row0 + r) * N + col0 + c] = __float2half_rn(gelu(x));
        }
    }
}
