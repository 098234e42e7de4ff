// C = A B of 8-bit integers by WMMA; the sums pass through shared memory and are requantised.
// tilescope: --grid 2 --block 32 --arg A=randint(-100,100):i8[32,32] --arg B=randint(-100,100):i8[16,32] --arg C=unwritten:i8[32,16]
// tilescope: --arg K=32 --arg scale=0.002
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm_wmma_s8(const signed char* A, const signed char* B, signed char* C, int K, float scale) {
    __shared__ int tile[16][16];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc;
    wmma::fill_fragment(acc, 0);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.x * 16 * K + k, K);
        wmma::load_matrix_sync(b, B + k, K);
        wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(&tile[0][0], acc, 16, wmma::mem_row_major);
    __syncwarp();  // bug:
    for (int i = threadIdx.x; i < 256; i += 32) {
        float v = rintf(tile[i / 16][i % 16] * scale);  // found: race
        C[blockIdx.x * 256 + i] = (signed char)fminf(fmaxf(v, -128.f), 127.f);
    }
}
