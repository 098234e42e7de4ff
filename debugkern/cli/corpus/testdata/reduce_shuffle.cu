// Sum of each row: a warp adds its lanes by shuffles, the first warp adds what the warps have left in shared memory.
// tilescope: --grid 6 --block 128 --arg x=randn:f32[6,500] --arg sums=unwritten:f32[6] --arg cols=500
// tolerance: 1e-6
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void reduce_shuffle(const float* __restrict__ x, float* __restrict__ sums, int cols) {
    __shared__ float warps[4];
    float v = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) v += x[blockIdx.x * cols + c];
    v = warp_sum(v);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) warps[warp] = v;
    __syncthreads();  // bug:
    if (warp == 0) {
        v = lane < 4 ? warps[lane] : 0.f;  // found: race
        v = warp_sum(v);
        if (lane == 0) sums[blockIdx.x] = v;
    }
}
