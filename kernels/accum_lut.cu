// accum_lut: introspection. Which cells of a tile do the lanes of a warp hold in a WMMA 16x16x16 fragment, in element order?
//
// Launch    grid (1, 1, 1), block 32 threads = 1 warp, no dynamic shared memory.
// Arguments acc_f32, acc_f16 i32 [32][8]; a_row, a_col, b_row, b_col i32 [32][16]. Each receives, for [lane][element], the
//           row-major index of a cell (0 … 255). a is 16 queries x 16 k, b is 16 k x 16 columns, row_major or col_major in memory.
//
// An accumulator is filled by lane and element with numbers that say who holds them, stored, and read back: where a number
// lies is what its holder owns. A cell that nobody stored keeps -1, and so does an element whose number is found nowhere.
// An operand is loaded from a matrix whose cells hold their own index, so each element says which cell it came from; lanes
// share cells there (512 elements, 256 cells). Both kinds of number are at most 256: exact in half.
//
// Shared memory: float_tile float [16][16] 1024 bytes, half_tile half [16][16] 512 bytes. No stages, nothing to compare.
#include <cuda_fp16.h>
#include <mma.h>

namespace {

namespace wmma = nvcuda::wmma;

constexpr int SIDE = 16;
constexpr int CELLS = SIDE * SIDE;

__device__ __forceinline__ float number(float x) { return x; }
__device__ __forceinline__ float number(half x) { return __half2float(x); }

// Fills an accumulator with lane · 8 + element + 1, stores it, and writes where each number is found.
template <typename T>
__device__ void accumulator(int* owner, T* tile, int lane) {
    wmma::fragment<wmma::accumulator, SIDE, SIDE, SIDE, T> frag;
    for (int e = 0; e < frag.num_elements; e++) {
        owner[lane * frag.num_elements + e] = -1;
        frag.x[e] = T(static_cast<float>(lane * frag.num_elements + e + 1));
    }
    for (int i = lane; i < CELLS; i += 32) tile[i] = T(0.0f);
    __syncwarp();  // the tile is empty, the table too
    wmma::store_matrix_sync(tile, frag, SIDE, wmma::mem_row_major);
    __syncwarp();  // the fragment is there for all lanes
    for (int i = lane; i < CELLS; i += 32) {
        const int holder = static_cast<int>(number(tile[i])) - 1;
        if (holder >= 0) owner[holder] = i;
    }
    __syncwarp();  // all lanes have read it
}

// Loads an operand whose cells hold their row-major index, and writes what each element came from.
template <typename Use, typename Layout>
__device__ void operand(int* origin, half* tile, bool transposed, int lane) {
    for (int i = lane; i < CELLS; i += 32) {
        const int cell = transposed ? i % SIDE * SIDE + i / SIDE : i;
        tile[i] = __float2half_rn(static_cast<float>(cell));
    }
    __syncwarp();  // the tile is there for all lanes
    wmma::fragment<Use, SIDE, SIDE, SIDE, half, Layout> frag;
    wmma::load_matrix_sync(frag, tile, SIDE);
    for (int e = 0; e < frag.num_elements; e++) {
        origin[lane * frag.num_elements + e] = static_cast<int>(__half2float(frag.x[e]));
    }
    __syncwarp();  // all lanes have read it
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
accum_lut(int* __restrict__ acc_f32, int* __restrict__ acc_f16, int* __restrict__ a_row, int* __restrict__ a_col,
          int* __restrict__ b_row, int* __restrict__ b_col) {
    __shared__ __align__(128) float float_tile[CELLS];
    __shared__ __align__(128) half half_tile[CELLS];
    const int lane = threadIdx.x;
    accumulator(acc_f32, float_tile, lane);
    accumulator(acc_f16, half_tile, lane);
    operand<wmma::matrix_a, wmma::row_major>(a_row, half_tile, false, lane);
    operand<wmma::matrix_a, wmma::col_major>(a_col, half_tile, true, lane);
    operand<wmma::matrix_b, wmma::row_major>(b_row, half_tile, false, lane);
    operand<wmma::matrix_b, wmma::col_major>(b_col, half_tile, true, lane);
}
