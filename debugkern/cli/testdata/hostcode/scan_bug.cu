// A scan in shared memory with one barrier too few; printf and assert in the kernel, OpenMP in the host's code.
// tilescope: --grid 1 --block 128 --arg x=randint(0,9):i32[128] --arg y=zeros:i32[128]
#include <omp.h>
#include <assert.h>
#include <iostream>
__device__ int launches = 0;
int host_launches = 0;

__global__ void scan(const int *x, int *y) {
    __shared__ int s[128];
    const unsigned t = threadIdx.x;
    assert(blockDim.x == 128);
    s[t] = x[t];
    __syncthreads();
    for (unsigned d = 1; d < 128; d *= 2) {
        int v = t >= d ? s[t - d] : 0;  // RACE
        __syncthreads();
        s[t] += v;  // RACE
    }
    y[t] = s[t];
    if (t == 0 && y[0] < 0) printf("negative %d\n", launches);
}

int main() {
#pragma omp parallel for
    for (int i = 0; i < 4; i++) host_launches++;
    scan<<<1, 128>>>(nullptr, nullptr);
    std::cout << host_launches << std::endl;
}
