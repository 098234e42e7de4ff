// Cooperative groups, with the host's cooperative launch.
// tilescope: --grid 1 --block 64 --arg x=ones:f32[64] --arg out=zeros:f32[1]
#include <cooperative_groups.h>
#include <cuda_runtime_api.h>
#include <iostream>
namespace cg = cooperative_groups;
using namespace std;

__device__ float tileSum(cg::thread_block_tile<32> tile, float v) {
    for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
    return v;
}

__global__ void total(const float *x, float *out) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    float s = tileSum(tile, x[block.thread_rank()]);
    if (tile.thread_rank() == 0) atomicAdd(out, s);
}

int main() {
    float *x, *out;
    void *args[] = {&x, &out};
    cudaError_t e = cudaLaunchCooperativeKernel((void *)total, dim3(1), dim3(64), args, 0, 0);
    cout << cudaGetErrorString(e) << endl;
}
