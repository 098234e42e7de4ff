// Sum of squares, four elements a load, a grid-stride loop and one atomic a warp.
// tilescope: --grid 3 --block 96 --arg x=randn:f32[1204] --arg sum=zeros:f32[1] --arg n=1204
// tolerance: 1e-5
extern "C" __global__ void reduce_float4(const float* __restrict__ x, float* sum, int n) {
    float v = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        float4 q = reinterpret_cast<const float4*>(x)[i];  // bug: float4 q = *reinterpret_cast<const float4*>(x + 2 * i); // found: misaligned
        v += q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    }
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, v);
}
