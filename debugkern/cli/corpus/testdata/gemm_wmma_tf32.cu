// C = A B by WMMA with operands rounded to tf32, a block for each 16 x 16 tile of C.
// tilescope: --grid 2,2 --block 32 --arg A=randn:f32[32,24] --arg B=randn:f32[24,32] --arg C=unwritten:f32[32,32] --arg N=32 --arg K=24
// tolerance: 2e-3
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm_wmma_tf32(const float* A, const float* B, float* C, int N, int K) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> acc;
    wmma::fill_fragment(acc, 0.f);
    for (int k = 0; k < K; k += 8) {  // bug: for (int k = 0; k <= K; k += 8) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);  // found: out-of-bounds
        for (int i = 0; i < a.num_elements; i++) a.x[i] = wmma::__float_to_tf32(a.x[i]);
        for (int i = 0; i < b.num_elements; i++) b.x[i] = wmma::__float_to_tf32(b.x[i]);
        wmma::mma_sync(acc, a, b, acc);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, acc, N, wmma::mem_row_major);
}
