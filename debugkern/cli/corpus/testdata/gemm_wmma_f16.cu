// C = A B by WMMA with f16 operands and f32 sums; operands staged in shared memory, a warp for each 16 x 16 tile of C.
// tilescope: --grid 2,1 --block 64 --arg A=randn:f16[32,48] --arg B=randn:f16[48,32] --arg C=unwritten:f32[32,32] --arg N=32 --arg K=48
// tolerance: 1e-6
#include <mma.h>
using namespace nvcuda;
constexpr int LD = 24;

extern "C" __global__ void gemm_wmma_f16(const half* A, const half* B, float* C, int N, int K) {
    __shared__ __align__(32) half a[32][LD], b[16][LD];
    int t = threadIdx.x, warp = t / 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.f);
    for (int k = 0; k < K; k += 16) {
        for (int i = t; i < 32 * 16; i += 64) a[i / 16][i % 16] = A[i / 16 * K + k + i % 16];
        for (int i = t; i < 16 * 16; i += 64) b[i / 16][i % 16] = B[(k + i / 16) * N + blockIdx.x * 16 + i % 16];
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::load_matrix_sync(fa, &a[warp * 16][0], LD);
        wmma::load_matrix_sync(fb, &b[0][0], LD);  // bug: wmma::load_matrix_sync(fb, &b[0][0], LD + 8); // found: out-of-bounds
        wmma::mma_sync(acc, fa, fb, acc);
        __syncthreads();
    }
    wmma::store_matrix_sync(C + warp * 16 * N + blockIdx.x * 16, acc, N, wmma::mem_row_major);
}
