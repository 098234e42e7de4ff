// A sum in two launches: every block adds its part, then one warp adds the parts.
extern "C" __global__ void part(const float* x, float* partial, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[t] += s[t + d];
    }
    if (t == 0) partial[blockIdx.x] = s[0];
}
extern "C" __global__ void combine(const float* partial, float* sum, int parts) {
    float v = threadIdx.x < parts ? partial[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x == 0) *sum += v;
}
