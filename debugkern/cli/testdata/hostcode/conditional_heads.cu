// A kernel with two heads, and a host function with two: the braces of the branches do not balance.
// tilescope: --grid 1 --block 32 --arg x=zeros:f32[32] --arg v=3
#include <iostream>
#ifdef USE_DOUBLE
__global__ void put(double *x, double v) {
#else
__global__ void put(float *x, float v) {
#endif
    x[threadIdx.x] = v;
}
#ifdef USE_DOUBLE
void go(double *x) {
#else
void go(float *x) {
#endif
    std::cout << "go\n";
    put<<<1, 32>>>(x, 3);
}
#if 0
this is not "code, nor are its braces }}}
#endif
