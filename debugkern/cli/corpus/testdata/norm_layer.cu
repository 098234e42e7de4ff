// Layer norm with Welford's update, merged over the warps; also gives mean and reciprocal deviation.
// tilescope: --grid 6 --block 96 --arg x=randn:f32[6,250] --arg gamma=rand:f32[250] --arg beta=randn:f32[250]
// tilescope: --arg y=unwritten:f32[6,250] --arg mean=unwritten:f32[6] --arg rstd=unwritten:f32[6] --arg cols=250 --arg eps=1e-5
// tolerance: 1e-5
extern "C" __global__ void norm_layer(const float* x, const float* gamma, const float* beta, float* y, float* mean, float* rstd, int cols, float eps) {
    __shared__ float ms[3], m2s[3], ns[3];
    float m = 0.f, m2 = 0.f, n = 0.f;
    const float* row = x + blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = row[c], d = v - m;
        n += 1.f;
        m += d / n;
        m2 += d * (v - m);
    }
    auto merge = [&](float bm, float bm2, float bn) {
        float t = n + bn, d = bm - m;
        if (t > 0.f) {
            m += d * bn / t;
            m2 += bm2 + d * d * n * bn / t;
        }
        n = t;
    };
    for (int d = 16; d > 0; d /= 2) {
        float bm = __shfl_down_sync(~0u, m, d), bm2 = __shfl_down_sync(~0u, m2, d), bn = __shfl_down_sync(~0u, n, d);
        merge(bm, bm2, bn);
    }
    int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) ms[warp] = m, m2s[warp] = m2, ns[warp] = n;
    __syncthreads();
    m = ms[0], m2 = m2s[0], n = ns[0];
    for (int w = 1; w < 3; w++) merge(ms[w], m2s[w], ns[w]);  // bug: for (int w = 1; w <= 3; w++) merge(ms[w], m2s[w], ns[w]); // found: out-of-bounds
    float r = rsqrtf(m2 / n + eps);
    if (threadIdx.x == 0) mean[blockIdx.x] = m, rstd[blockIdx.x] = r;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = (row[c] - m) * r * gamma[c] + beta[c];
}
