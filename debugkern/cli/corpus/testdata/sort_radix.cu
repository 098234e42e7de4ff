// Radix sort of a block's 32-bit keys, one bit at a time: ballots count the zeros of a warp, shared memory those of the block.
// tilescope: --grid 2 --block 128 --arg keys=randint(0,4294967295):u32[256]
extern "C" __global__ void sort_radix(unsigned* keys) {
    __shared__ unsigned s[128], zeros[4];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    unsigned key = keys[blockIdx.x * 128 + t];
    for (int bit = 0; bit < 32; bit++) {
        bool one = key >> bit & 1;
        unsigned votes = __ballot_sync(~0u, !one);
        if (lane == 0) zeros[warp] = __popc(votes);
        __syncthreads();
        unsigned before = 0, all = 0;
        for (int w = 0; w < 4; w++) {
            if (w < warp) before += zeros[w];
            all += zeros[w];
        }
        before += __popc(votes & ((1u << lane) - 1));
        s[one ? all + t - before : before] = key;
        __syncthreads();  // bug: __syncwarp();
        key = s[t];  // found: race
    }
    keys[blockIdx.x * 128 + t] = key;
}
