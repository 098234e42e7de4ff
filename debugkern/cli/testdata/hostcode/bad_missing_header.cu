// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: identifier "fast_tanh" is undefined
// expect-error: it may come from bad_missing_header.cu:4: my_math.cuh, which is found nowhere: give its directory with -I
#include "my_math.cuh"
#include <iostream>
__global__ void k(float *x) { x[threadIdx.x] = fast_tanh(x[threadIdx.x]); }
int main() { k<<<1, 32>>>(nullptr); std::cout << "x"; }
