// half and bfloat16, with host conversions.
// tilescope: --grid 1 --block 64 --arg x=randn:f16[64] --arg y=randn:bf16[64] --arg z=zeros:f32[64]
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <vector>
#include <random>
using bf16 = __nv_bfloat16;
typedef __half half_t;
using std::vector;

vector<half_t> randomHalves(int n) {
    std::mt19937 rng(7);
    vector<half_t> v(n);
    for (auto &h : v) h = __float2half(rng() % 100 / 100.f);
    return v;
}

__global__ void mix(const half_t *x, const bf16 *y, float *z) {
    int i = threadIdx.x;
    z[i] = __half2float(x[i]) + __bfloat162float(y[i]);
}

int main() { auto v = randomHalves(64); mix<<<1, 64>>>(v.data(), nullptr, nullptr); }
