// C = A B + C in double precision by WMMA, 8 x 8 x 4.
// tilescope: --grid 2,2 --block 32 --arg A=randn:f64[16,12] --arg B=randn:f64[12,16] --arg C=randn:f64[16,16] --arg N=16 --arg K=12
// tolerance: 1e-14
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm_wmma_f64(const double* A, const double* B, double* C, int N, int K) {
    double* tile = C + blockIdx.y * 8 * N + blockIdx.x * 8;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> acc;
    wmma::load_matrix_sync(acc, tile, N, wmma::mem_row_major);
    for (int k = 0; k < K; k += 4) {
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b;
        wmma::load_matrix_sync(a, A + blockIdx.y * 8 * K + k, K);  // bug: wmma::load_matrix_sync(a, A + (blockIdx.y + 1) * 8 * K + k, K); // found: out-of-bounds
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 8, N);
        wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(tile, acc, N, wmma::mem_row_major);
}
