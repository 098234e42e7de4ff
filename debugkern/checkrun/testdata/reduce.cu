// Sums of 256 consecutive numbers: a tree in shared memory.
extern "C" __global__ void reduce(const float* x, float* out, int n) {
    __shared__ float part[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.0f;
    for (int step = 128; step > 0; step >>= 1) {
#ifndef NO_BARRIER
        __syncthreads();
#endif
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
