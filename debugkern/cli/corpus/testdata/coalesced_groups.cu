// Threads that have something to do form a group: one atomic for all of them, and a sum over tiles of eight threads.
// tilescope: --grid 2 --block 64 --arg x=randint(0,100):i32[128] --arg out=unwritten:i32[128] --arg count=zeros:i32[1] --arg sums=unwritten:i32[16]
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void coalesced_groups(const int* x, int* out, int* count, int* sums) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> eight = cg::tiled_partition<8>(block);
    int i = blockIdx.x * 64 + threadIdx.x, v = x[i];
    int s = cg::reduce(eight, v, cg::plus<int>());
    if (eight.thread_rank() == 0) sums[i / 8] = s;  // bug: if (eight.thread_rank() <= 1) sums[i / 8 + eight.thread_rank()] = s; // found: race
    out[i] = cg::inclusive_scan(eight, v);
    if (v > 50) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, active.size());
    }
}
