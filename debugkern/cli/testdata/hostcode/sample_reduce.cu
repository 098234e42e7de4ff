// In the manner of a CUDA sample: checkCudaErrors, a timer, command line helpers.
// tilescope: --grid 4 --block 256 --arg in=randn:f32[1024] --arg out=zeros:f32[4] --arg n=1024
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <vector>

#define BLOCK 256

template <typename T>
void check(T result, char const *const func, const char *const file, int const line) {
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\" \n", file, line, static_cast<unsigned int>(result), func);
        exit(EXIT_FAILURE);
    }
}
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)

__global__ void blockSum(const float *in, float *out, int n) {
    __shared__ float part[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * BLOCK + t;
    part[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];  // RACE
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

static float cpuSum(const std::vector<float> &v) {
    float s = 0.f;
    for (float x : v) s += x;
    return s;
}

int main(int argc, char **argv) {
    int n = 1024, blocks = (n + BLOCK - 1) / BLOCK;
    std::vector<float> h(n, 1.0f);
    float *dIn, *dOut;
    int dev = findCudaDevice(argc, (const char **)argv);
    printf("device %d\n", dev);
    checkCudaErrors(cudaMalloc((void **)&dIn, n * sizeof(float)));
    checkCudaErrors(cudaMalloc((void **)&dOut, blocks * sizeof(float)));
    checkCudaErrors(cudaMemcpy(dIn, h.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    blockSum<<<blocks, BLOCK>>>(dIn, dOut, n);
    getLastCudaError("blockSum failed");
    checkCudaErrors(cudaDeviceSynchronize());
    return cpuSum(h) == 0;
}
