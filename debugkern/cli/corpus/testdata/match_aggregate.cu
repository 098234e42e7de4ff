// Histogram with one atomic for each group of lanes that have the same key: match, the leader adds, and the groups' sums of weights by redux.
// tilescope: --grid 2 --block 64 --arg keys=randint(0,6):u32[128] --arg weight=randint(0,50):u32[128] --arg count=zeros:u32[7] --arg sum=zeros:u32[7]
extern "C" __global__ void match_aggregate(const unsigned* keys, const unsigned* weight, unsigned* count, unsigned* sum) {
    int i = blockIdx.x * 64 + threadIdx.x, lane = threadIdx.x % 32;
    unsigned key = keys[i];
    unsigned same = __match_any_sync(0xffffffff, key);
    unsigned total = __reduce_add_sync(same, weight[i]);
    if (lane == __ffs(same) - 1) {
        atomicAdd(&count[key], __popc(same));  // bug: count[key] += __popc(same); // found: race
        atomicAdd(&sum[key], total);
    }
}
