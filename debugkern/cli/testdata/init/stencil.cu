// What it computes is not plain from its text.
#include <iostream>
#define RADIUS 2
#define BLOCK 64
__global__ void stencil(const double *in, double *out, int n) {
    __shared__ double s[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    for (int j = threadIdx.x; j < BLOCK + 2 * RADIUS; j += BLOCK) {
        int g = blockIdx.x * BLOCK + j - RADIUS;
        s[j] = g >= 0 && g < n ? in[g] : 0;
    }
    __syncthreads();
    double v = 0;
    for (int d = 0; d <= 2 * RADIUS; d++) v += s[threadIdx.x + d];
    if (i < n) out[i] = v;
}
int main() {
    const int n = 4096;
    double *in, *out;
    size_t bytes = n * sizeof(double);
    cudaMalloc(&in, bytes);
    cudaMalloc(&out, bytes);
    stencil<<<n / BLOCK, BLOCK>>>(in, out, n);
    std::cout << cudaGetLastError();
}
