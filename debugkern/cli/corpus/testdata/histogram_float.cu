// Histogram of numbers between two bounds, straight in global memory; what lies outside is counted in the first and last bin.
// tilescope: --grid 4 --block 64 --arg x=randn:f32[1000] --arg bins=zeros:i32[16] --arg n=1000 --arg lo=-2 --arg hi=2
extern "C" __global__ void histogram_float(const float* x, int* bins, int n, float lo, float hi) {
    float scale = 16.f / (hi - lo);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int b = (int)floorf((x[i] - lo) * scale);
        b = min(max(b, 0), 15);   // bug: b = min(b, 15);
        atomicAdd(&bins[b], 1);   // found: out-of-bounds
    }
}
