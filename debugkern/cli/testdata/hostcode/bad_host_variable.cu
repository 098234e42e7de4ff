// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: bad_host_variable.cu:4: this variable of the host's is left out of the device's part: make it constexpr, or __constant__
#include <vector>
int size = 128;
__global__ void k(float *x) { if (threadIdx.x < size) x[threadIdx.x] = 0; }
