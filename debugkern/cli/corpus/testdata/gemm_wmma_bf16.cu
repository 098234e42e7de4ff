// C = A transpose(B) by WMMA with bf16 operands, straight from global memory, 32 x 8 x 16 fragments.
// tilescope: --grid 1,2 --block 64 --arg A=randn:bf16[64,32] --arg B=randn:bf16[16,32] --arg C=unwritten:f32[64,16] --arg N=16 --arg K=32
// tolerance: 1e-6
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm_wmma_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int N, int K) {
    int warp = threadIdx.x / 32;
    A += blockIdx.y * 32 * K;
    B += warp * 8 * K;
    C += blockIdx.y * 32 * N + warp * 8;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, __nv_bfloat16, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 32, 8, 16, float> acc;
    wmma::fill_fragment(acc, 0.f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + k, K);
        wmma::load_matrix_sync(b, B + k, K);
        wmma::mma_sync(acc, a, b, acc);
    }
    for (int i = 0; i < acc.num_elements; i++) acc.x[i] *= 2.f;
    wmma::store_matrix_sync(C, acc, N, wmma::mem_row_major);  // bug: wmma::store_matrix_sync(C, acc, 8, wmma::mem_row_major); // found: race
}
