// Softmax of each row in three passes: maximum, sum, quotient. A block for a row.
// tilescope: --grid 5 --block 128 --arg x=randn:f32[5,300] --arg y=unwritten:f32[5,300] --arg cols=300
// tolerance: 2e-6
extern "C" __global__ void softmax_rows(const float* x, float* y, int cols) {
    __shared__ float s[128];
    const float* in = x + blockIdx.x * cols;
    int t = threadIdx.x;
    float m = -INFINITY;
    for (int c = t; c < cols; c += 128) m = fmaxf(m, in[c]);
    s[t] = m;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d) s[t] = fmaxf(s[t], s[t + d]);
        __syncthreads();
    }
    m = s[0];         // found: race
    __syncthreads();  // bug:
    float sum = 0.f;
    for (int c = t; c < cols; c += 128) sum += expf(in[c] - m);
    s[t] = sum;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    for (int c = t; c < cols; c += 128) y[blockIdx.x * cols + c] = expf(in[c] - m) / s[0];
}
