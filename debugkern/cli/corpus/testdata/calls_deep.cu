// Functions that are called and not inlined, with arrays and structs among their arguments.
// tilescope: --grid 1 --block 32 --arg x=randint(0,9):i32[32] --arg y=unwritten:i32[32]
struct Range {
    int lo, hi;
};
__device__ __noinline__ int clamp(int v, Range r) { return v < r.lo ? r.lo : v > r.hi ? r.hi : v; }
__device__ __noinline__ void powers(int v, int out[4]) {
    for (int i = 0, p = 1; i < 4; i++, p *= v) out[i] = p;
}
__device__ __noinline__ int polynomial(int v) {
    int p[4];
    powers(clamp(v, Range{-5, 5}), p);
    return 7 * p[3] - 2 * p[2] + p[1] + p[0];
}

extern "C" __global__ void calls_deep(const int* x, int* y) {
    int t = threadIdx.x;
    y[t] = t % 2 ? polynomial(x[t]) : clamp(x[t], Range{2, 6});  // bug: y[t + 1] = t % 2 ? polynomial(x[t]) : clamp(x[t], Range{2, 6}); // found: out-of-bounds
}
