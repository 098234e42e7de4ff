// A header of one's own with code for both sides.
// tilescope: --grid 1 --block 64 --arg x=randn:f32[64] --arg y=zeros:f32[64]
#include "own_header.h"
#include "sub/missing_host_tool.h"

__global__ void twice(const float *x, float *y) { y[threadIdx.x] = own::twice(x[threadIdx.x]) + own::zero(y); }

int main() { own::Buffer<float> a(64), b(64); twice<<<1, 64>>>(a.data(), b.data()); own::report(std::string("done")); }
