// extern "C", for a caller through ctypes.
// tilescope: --entry histogram --grid 2 --block 64 --arg data=randint(0,8):i32[128] --arg bins=zeros:i32[8] --arg n=128
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

__global__ void histogram(const int *data, int *bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bins[data[i] & 7]++;  // RACE
}

int run_histogram(const int *data, int *bins, int n) {
    histogram<<<(n + 63) / 64, 64>>>(data, bins, n);
    return (int)cudaGetLastError();
}

#ifdef __cplusplus
}
#endif
extern "C" __global__ void clear(int *bins) { bins[threadIdx.x] = 0; }
