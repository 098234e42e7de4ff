// Sum of a vector: each block adds its part in shared memory, halving the number of threads at each step.
// tilescope: --grid 4 --block 256 --arg x=randn:f32[1000] --arg sums=unwritten:f32[4] --arg n=1000
// tolerance: 1e-6
extern "C" __global__ void reduce_tree(const float* x, float* sums, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? x[i] : 0.f;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];  // found: race
        __syncthreads();                          // bug:
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
