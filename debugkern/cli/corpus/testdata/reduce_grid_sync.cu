// Largest absolute value of a vector with cooperative groups: blocks, then the whole grid.
// tilescope: --grid 4 --block 64 --cooperative --arg x=randn:f32[1000] --arg parts=unwritten:f32[4] --arg largest=unwritten:f32[1] --arg n=1000
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reduce_grid_sync(const float* x, float* parts, float* largest, int n) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    __shared__ float s[2];
    float v = 0.f;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) v = fmaxf(v, fabsf(x[i]));
    v = cg::reduce(warp, v, cg::greater<float>());
    if (warp.thread_rank() == 0) s[warp.meta_group_rank()] = v;
    cg::sync(block);
    if (block.thread_rank() == 0) parts[block.group_index().x] = fmaxf(s[0], s[1]);
    grid.sync();  // bug:
    if (grid.thread_rank() == 0) {
        v = 0.f;
        for (int b = 0; b < gridDim.x; b++) v = fmaxf(v, parts[b]);  // found: race
        *largest = v;
    }
}
