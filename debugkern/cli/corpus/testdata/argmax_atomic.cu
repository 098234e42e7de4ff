// Position of the largest element of a vector: value and position in one 64-bit number, merged by atomicMax.
// tilescope: --grid 4 --block 64 --arg x=randn:f32[1000] --arg best=zeros:u64[1] --arg n=1000
__device__ unsigned ordered(float f) {
    unsigned u = __float_as_uint(f);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

extern "C" __global__ void argmax_atomic(const float* x, unsigned long long* best, int n) {
    __shared__ unsigned long long s;
    if (threadIdx.x == 0) s = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine = max(mine, (unsigned long long)ordered(x[i]) << 32 | (unsigned)(n - i));
    atomicMax(&s, mine);  // bug: if (mine > s) s = mine; // found: race
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(best, s);
}
