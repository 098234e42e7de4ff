// Reports what is out of range by printf, times its loop with the clock, and checks an assumption with assert.
// tilescope: --grid 1 --block 64 --arg x=iota:f32[64] --arg y=unwritten:f32[64] --arg cycles=unwritten:i64[2] --arg limit=62
#include <assert.h>
#include <cstdio>

extern "C" __global__ void print_clock(const float* x, float* y, long long* cycles, float limit) {
    int t = threadIdx.x;
    long long start = clock64();
    float v = x[t];
    assert(v >= 0.f);  // bug: assert(v >= 1.f);  // found: trap
    if (v > limit) printf("thread %d: %f is over %.1f\n", t, v, limit);
    y[t] = fminf(v, limit);
    long long took = clock64() - start;
    if (t % 32 == 0) cycles[t / 32] = took > 0;
}
