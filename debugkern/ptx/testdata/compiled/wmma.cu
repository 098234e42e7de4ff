// Tile product by WMMA with cp.async staging: one block of 128 threads, static shared tiles.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__device__ __forceinline__ void stage16(half* dst, const half* src) {
  unsigned d = static_cast<unsigned>(__cvta_generic_to_shared(dst));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(d), "l"(src));
}

__device__ __forceinline__ float row_max(float v) {
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  return v;
}

extern "C" __global__ void __launch_bounds__(128) tile_product(const half* __restrict__ a, const half* __restrict__ b,
                                                               float* __restrict__ out, int n) {
  __shared__ __align__(16) half sA[32][72];
  __shared__ __align__(16) half sB[32][72];
  __shared__ __align__(16) float sC[32][40];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < 32 * 8; i += 128) {
    int r = i / 8, c = (i % 8) * 8;
    if (r < n) {
      stage16(&sA[r][c], a + r * 64 + c);
      stage16(&sB[r][c], b + r * 64 + c);
    } else {
      *reinterpret_cast<uint4*>(&sA[r][c]) = make_uint4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(&sB[r][c]) = make_uint4(0, 0, 0, 0);
    }
  }
  asm volatile("cp.async.commit_group;\n");
  asm volatile("cp.async.wait_group 0;\n");
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  int wr = (warp / 2) * 16, wc = (warp % 2) * 16;
  for (int k = 0; k < 64; k += 16) {
    wmma::load_matrix_sync(fa, &sA[wr][k], 72);
    wmma::load_matrix_sync(fb, &sB[wc][k], 72);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(&sC[wr][wc], fc, 40, wmma::mem_row_major);
  __syncthreads();
  for (int r = warp; r < n && r < 32; r += 4) {
    float m = row_max(sC[r][lane]);
    out[r * 32 + lane] = __expf(sC[r][lane] - m);
  }
}
