// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: has 3 kernels: choose one with --entry (a, ns::b<64,float>, ns::b<32,float>)
#include <vector>
__global__ void a(float *x) { x[threadIdx.x] = 1; }
namespace ns {
template <int N, typename T> __global__ void b(T *x) { x[threadIdx.x] = N; }
void go(float *x) { b<64, float><<<1, 32>>>(x); b<32><<<1, 32>>>(x); a<<<1, 32>>>(x); }
}
