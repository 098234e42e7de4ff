// Two instances of one kernel: --entry names the arguments too.
// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32] --entry ns::b<32,float>
#include <vector>
namespace ns {
constexpr int kSmall = 32;
template <int N, typename T> __global__ void b(T *x) { x[threadIdx.x] = N; }
void go(float *x) { const int big = 2 * kSmall; b<big, float><<<1, 32>>>(x); b<kSmall><<<1, 32>>>(x); }
}
