// Tensor cores through nvcuda::wmma, with cuBLAS as the host's reference.
// tilescope: --grid 1 --block 32 --arg a=randn:f16[16,16] --arg b=randn:f16[16,16] --arg c=zeros:f32[16,16]
#include <mma.h>
#include <cublas_v2.h>
#include <thrust/device_vector.h>
#include <cassert>
using namespace nvcuda;

#define CUBLAS(x) do { cublasStatus_t s = (x); assert(s == CUBLAS_STATUS_SUCCESS); } while (0)

__global__ void tile(const half *a, const half *b, float *c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

class Reference {
    cublasHandle_t handle;
public:
    Reference() { CUBLAS(cublasCreate(&handle)); }
    ~Reference() { cublasDestroy(handle); }
};

int main() {
    Reference r;
    thrust::device_vector<float> c(256);
    tile<<<1, 32>>>(nullptr, nullptr, thrust::raw_pointer_cast(c.data()));
}
