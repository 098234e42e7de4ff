// Sum of a vector in one launch: each block leaves its part in global memory, and the block that finishes last adds the parts.
// tilescope: --grid 8 --block 64 --arg x=randn:f32[2000] --arg parts=unwritten:f32[8] --arg counter=zeros:u32[1]
// tilescope: --arg sum=unwritten:f32[1] --arg n=2000
// tolerance: 1e-5
__device__ float block_sum(float v, float* s) {
    int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    return s[0];
}

extern "C" __global__ void reduce_last_block(const float* x, float* parts, unsigned* counter, float* sum, int n) {
    __shared__ float s[64];
    __shared__ bool last;
    float v = 0.f;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) v += x[i];
    v = block_sum(v, s);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = v;
        __threadfence();  // bug:
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    v = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0.f;  // found: race
    v = block_sum(v, s);
    if (threadIdx.x == 0) *sum = v;
}
