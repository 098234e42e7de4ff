// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: 5: error: name followed by "::" must be a class or namespace name
// expect-error: bad_thrust.cu:4: <thrust/complex.h> of Thrust is not available: it is in nvidia-cuda-cccl
#include <thrust/complex.h>
__global__ void conj(thrust::complex<float> *z) { z[threadIdx.x].imag(0); }
int main() { conj<<<1, 32>>>(nullptr); }
