// Keeps the positive elements: a warp counts them with a ballot and takes its places from a counter. The order is not defined, so the
// kept elements are marked.
// tilescope: --grid 3 --block 96 --arg x=randn:f32[280] --arg kept=unwritten:f32[280] --arg count=zeros:i32[1] --arg n=280
extern "C" __global__ void compact_ballot(const float* x, float* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float v = i < n ? x[i] : 0.f;
    unsigned votes = __ballot_sync(~0u, v > 0.f);
    int at = 0;
    if (lane == 0) at = atomicAdd(count, __popc(votes));  // bug: if (lane == 0) { at = *count; *count = at + __popc(votes); } // found: race
    at = __shfl_sync(~0u, at, 0) + __popc(votes & ((1u << lane) - 1));
    if (v > 0.f) kept[at] = v;
}
