// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: bad_template.cu:6: template <int BM, int BN, typename T, bool CAUSAL = false> flash is not instantiated
// expect-error: --instantiate 'flash<64,64,float,false>'
#include <string>
template <int BM, int BN, typename T, bool CAUSAL = false>
__global__ void flash(const T *q, T *o) { __shared__ T s[BM][BN]; s[0][0] = q[0]; o[0] = CAUSAL ? T(0) : s[0][0]; }
std::string describe() { return "flash"; }
