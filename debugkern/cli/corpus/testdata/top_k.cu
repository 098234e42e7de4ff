// The four largest elements of each row, largest first: a warp takes the maximum of what is left, four times.
// tilescope: --grid 3 --block 32,2 --arg x=randn:f32[5,90] --arg values=unwritten:f32[5,4] --arg index=unwritten:i32[5,4] --arg rows=5 --arg cols=90
extern "C" __global__ void top_k(const float* x, float* values, int* index, int rows, int cols) {
    int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;  // bug:
    float v[3];
    for (int i = 0; i < 3; i++) {
        int c = lane + 32 * i;
        v[i] = c < cols ? x[row * cols + c] : -INFINITY;  // found: out-of-bounds
    }
    for (int k = 0; k < 4; k++) {
        float best = v[0];
        int at = lane;
        for (int i = 1; i < 3; i++)
            if (v[i] > best) best = v[i], at = lane + 32 * i;
        for (int d = 16; d; d /= 2) {
            float other = __shfl_xor_sync(~0u, best, d);
            int from = __shfl_xor_sync(~0u, at, d);
            if (other > best || other == best && from < at) best = other, at = from;
        }
        if (at % 32 == lane) v[at / 32] = -INFINITY;
        if (lane == 0) values[row * 4 + k] = best, index[row * 4 + k] = at;
    }
}
