// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32] --instantiate tile<float>
// expect-error: --instantiate 'tile<float>'
// expect-error: (line 5: template <int BM, typename T> tile)
#include <vector>
template <int BM, typename T> __global__ void tile(T *x) { x[threadIdx.x] = BM; }
int main() { return 0; }
