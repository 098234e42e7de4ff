// Softmax of short rows, a warp for a row, kept in registers; four rows a block, and the last block is not full.
// tilescope: --grid 3 --block 32,4 --arg x=randn:f32[10,72] --arg y=unwritten:f32[10,72] --arg rows=10 --arg cols=72
// tolerance: 2e-6
template <typename Op>
__device__ float across(float v, Op op) {
#pragma unroll
    for (int d = 16; d > 0; d >>= 1) v = op(v, __shfl_xor_sync(0xffffffff, v, d));  // found: shuffle
    return v;
}

extern "C" __global__ void softmax_warp(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;  // bug: if (row >= rows || lane >= 31) return;
    float v[3], m = -INFINITY, sum = 0.f;
    for (int i = 0; i < 3; i++) {
        v[i] = lane + 32 * i < cols ? x[row * cols + lane + 32 * i] : -INFINITY;
        m = fmaxf(m, v[i]);
    }
    m = across(m, [](float a, float b) { return fmaxf(a, b); });
    for (int i = 0; i < 3; i++) sum += v[i] = __expf(v[i] - m);
    sum = across(sum, [](float a, float b) { return a + b; });
    for (int i = 0; i < 3; i++)
        if (lane + 32 * i < cols) y[row * cols + lane + 32 * i] = v[i] / sum;
}
