// Sparse matrix in rows times a vector, a warp for a row; rows have a different number of entries, one has none.
// tilescope: --grid 3 --block 64 --arg rows=randint(0,0):i32[7] --arg cols=randint(0,19):i32[60] --arg values=randn:f32[60] --arg x=randn:f32[20]
// tilescope: --arg y=unwritten:f32[6] --arg n=6
// tolerance: 1e-5
extern "C" __global__ void spmv_csr(int* rows, const int* cols, const float* values, const float* x, float* y, int n) {
    const int bounds[7] = {0, 5, 5, 40, 41, 50, 60};
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    if (lane == 0) rows[row] = bounds[row];
    float sum = 0.f;
    for (int i = bounds[row] + lane; i < bounds[row + 1]; i += 32)  // bug: for (int i = bounds[row] + lane; i <= bounds[row + 1]; i += 32)
        sum += values[i] * x[cols[i]];                              // found: out-of-bounds
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
