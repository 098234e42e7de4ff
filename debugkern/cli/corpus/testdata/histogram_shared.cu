// Histogram of bytes: counted in shared memory, then added to the result.
// tilescope: --grid 4 --block 128 --arg x=randint(0,255):u8[4000] --arg bins=zeros:u32[256] --arg n=4000
extern "C" __global__ void histogram_shared(const unsigned char* x, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[x[i]], 1u);  // bug: local[x[i]]++; // found: race
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (local[b]) atomicAdd(&bins[b], local[b]);
}
