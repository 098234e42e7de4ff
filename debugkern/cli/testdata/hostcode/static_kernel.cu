// A static kernel, and one that no launch names.
// tilescope: --entry fill --grid 1 --block 32 --arg x=zeros:f32[40] --arg n=40
#include <cstring>
#include <cstdio>
static __global__ void fill(float *x, int n) {
    for (int i = threadIdx.x; i <= n; i += blockDim.x) x[i] = 1.0f;  // OUT-OF-BOUNDS
}
static __global__ void unused(float *x) { x[0] = 0; }
static void go(float *x) { fill<<<1, 32>>>(x, 40); }
int main(void) { go(0); return 0; }
