// Batch norm in training: mean and variance of each channel over batch and image, then the normalised output and running statistics.
// tilescope: --grid 5 --block 64 --arg x=randn:f32[3,5,7,9] --arg y=unwritten:f32[3,5,7,9] --arg running=zeros:f32[2,5]
// tilescope: --arg N=3 --arg C=5 --arg HW=63 --arg momentum=0.1
// tolerance: 1e-5
extern "C" __global__ void norm_batch(const float* x, float* y, float* running, int N, int C, int HW, float momentum) {
    __shared__ float2 s[64];
    int c = blockIdx.x, t = threadIdx.x;
    float2 v = make_float2(0.f, 0.f);
    for (int i = t; i < N * HW; i += 64) {
        float e = x[(i / HW * C + c) * HW + i % HW];  // bug: float e = x[(i / HW * C + c + 1) * HW + i % HW]; // found: out-of-bounds
        v.x += e;
        v.y += e * e;
    }
    s[t] = v;
    for (int d = 32; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[t].x += s[t + d].x, s[t].y += s[t + d].y;
    }
    __syncthreads();
    float mean = s[0].x / (N * HW), var = s[0].y / (N * HW) - mean * mean, r = rsqrtf(var + 1e-5f);
    if (t == 0) {
        running[c] = (1.f - momentum) * running[c] + momentum * mean;
        running[C + c] = (1.f - momentum) * running[C + c] + momentum * var;
    }
    for (int i = t; i < N * HW; i += 64) {
        int at = (i / HW * C + c) * HW + i % HW;
        y[at] = (x[at] - mean) * r;
    }
}
