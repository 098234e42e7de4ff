// tilescope: --grid 1 --block 32 --arg 0=32 --arg 1=1
// expect-error: bad_lambda.cu:4: template <typename F> forEach is not instantiated: line 5 launches it with a lambda, which has no name
#include <vector>
template <typename F> __global__ void forEach(int n, F f) { int i = threadIdx.x; if (i < n) f(i); }
void run(float *x, int n) { forEach<<<1, 32>>>(n, [=] __device__(int i) { x[i] = i; }); }
