// Two producer warps fill one of two buffers while two consumer warps read the other; named barriers say full and empty.
// tilescope: --grid 2 --block 128 --arg x=randn:f32[2,256] --arg sums=unwritten:f32[2,64] --arg tiles=4
// tolerance: 1e-6
__device__ __forceinline__ void meet(int id) { asm volatile("bar.sync %0, 128;" ::"r"(id) : "memory"); }  // found: deadlock
__device__ __forceinline__ void arrive(int id) { asm volatile("bar.arrive %0, 128;" ::"r"(id) : "memory"); }

extern "C" __global__ void named_barriers(const float* x, float* sums, int tiles) {
    __shared__ float buffer[2][64];
    int t = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < tiles; i++) {
            if (i >= 2) meet(3 + i % 2);  // bug: if (i >= 3) meet(3 + i % 2);
            buffer[i % 2][t] = x[blockIdx.x * 256 + i * 64 + t];
            arrive(1 + i % 2);
        }
    } else {
        float sum = 0.f;
        for (int i = 0; i < tiles; i++) {
            meet(1 + i % 2);
            sum += buffer[i % 2][63 - t];
            if (i + 2 < tiles) arrive(3 + i % 2);
        }
        sums[blockIdx.x * 64 + t] = sum;
    }
}
