// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: bad_host_call.cu:6:42: error: identifier "helper" is undefined
// expect-error: bad_host_call.cu:5: this function of the host's is left out of the device's part: mark it __device__
#include <vector>
float helper(float x) { return 2 * x; }
__global__ void k(float *x) { x[0] = 1 + helper(x[0]); }
