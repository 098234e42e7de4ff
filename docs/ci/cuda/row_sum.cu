// Sums of rows: a block of 128 threads for each row, a tree in shared memory.
// tilescope: --grid 8 --block 128 --arg x=randn:f32[8,200] --arg out=unwritten:f32[8] --arg columns=200
// tilescope: --expect 'out[r] <- x[r][*]'
extern "C" __global__ void row_sum(const float *x, float *out, int columns) {
    __shared__ float part[128];
    const int t = threadIdx.x, row = blockIdx.x;
    float sum = 0.0f;
    for (int c = t; c < columns; c += 128) sum += x[row * columns + c];
    part[t] = sum;
    for (int step = 64; step > 0; step >>= 1) {
        __syncthreads();
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) out[row] = part[0];
}
