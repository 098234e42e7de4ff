// __CUDA_ARCH__ in a function of both sides.
// tilescope: --grid 1 --block 32 --arg x=randn:f32[32] --arg y=zeros:f32[32]
#include <cmath>
#include <cstdio>
#include <stdexcept>

__host__ __device__ inline float rsq(float v) {
#ifdef __CUDA_ARCH__
    return rsqrtf(v);
#else
    if (v < 0) throw std::runtime_error("negative");
    return 1.0f / std::sqrt(v);
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "Volta or newer"
#endif

__global__ void norm(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] * rsq(1.f + x[threadIdx.x] * x[threadIdx.x]); }

void host() { printf("%f\n", rsq(2.f)); norm<<<1, 32>>>(nullptr, nullptr); }
