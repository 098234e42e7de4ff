// Template arguments that the launch leaves to deduction.
// tilescope: --grid 1 --block 64 --arg in=randn:f32[64] --arg out=zeros:f32[64] --arg n=64
#include <vector>
#include <cstdio>
template <typename T, int UNROLL = 4>
__global__ void copy(const T *in, T *out, int n) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
        int i = threadIdx.x * UNROLL + u;
        if (i < n) out[i] = in[i];
    }
}
int main() {
    float *in = nullptr, *out = nullptr;
    copy<<<1, 64>>>(in, out, 64);
    printf("%d\n", 1);
}
