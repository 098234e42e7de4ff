// Inclusive prefix sums of a block's elements, two buffers used in turn.
// tilescope: --grid 3 --block 128 --arg x=randint(-9,9):i32[384] --arg y=unwritten:i32[384]
extern "C" __global__ void scan_hillis(const int* x, int* y) {
    __shared__ int buffer[2][128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, from = 0;
    buffer[0][t] = x[i];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int v = buffer[from][t];
        if (t >= d) v += buffer[from][t - d];  // found: race
        from ^= 1;
        buffer[from][t] = v;
        __syncthreads();  // bug:
    }
    y[i] = buffer[from][t];
}
