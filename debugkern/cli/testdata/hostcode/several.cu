// Several kernels in one file: --entry says which.
// tilescope: --entry second --grid 1 --block 64 --arg x=zeros:f32[64]
#include <vector>
__global__ void first(float *x) { x[threadIdx.x] = 1; }
__global__ void second(float *x) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];  // RACE
    x[threadIdx.x] = s[63 - threadIdx.x];  // RACE
}
__global__ void third(float *x, int n) { if (n) x[0] = n; }
int main() { std::vector<float> v; first<<<1, 64>>>(v.data()); second<<<1, 64>>>(v.data()); third<<<1, 1>>>(v.data(), 1); }
