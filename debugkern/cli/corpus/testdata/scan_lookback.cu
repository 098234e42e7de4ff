// Inclusive prefix sums of a long vector in one pass: a block publishes its total, and looks back at those of the blocks before it.
// tilescope: --grid 9 --block 64 --arg x=randint(0,20):u32[576] --arg y=unwritten:u32[576] --arg ticket=zeros:u32[1]
// tilescope: --arg state=zeros:u32[9] --arg total=unwritten:u32[9] --arg prefix=unwritten:u32[9]
extern "C" __global__ void scan_lookback(const unsigned* x, unsigned* y, unsigned* ticket, volatile unsigned* state,
                                         unsigned* total, unsigned* prefix) {
    __shared__ unsigned s[64], tile, before;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    s[t] = x[tile * 64 + t];
    for (int d = 1; d < 64; d *= 2) {
        __syncthreads();
        unsigned u = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += u;
    }
    __syncthreads();
    if (t == 0) {
        unsigned sum = 0;
        total[tile] = s[63];
        __threadfence();
        if (tile > 0) {
            state[tile] = 1;
            for (int k = tile - 1;; k--) {
                unsigned seen;
                while ((seen = state[k]) == 0) __nanosleep(20);
                __threadfence();
                if (seen == 2) {
                    sum += prefix[k];  // found: race
                    break;
                }
                sum += total[k];
            }
        }
        prefix[tile] = sum + s[63];
        __threadfence();  // bug:
        state[tile] = 2;
        before = sum;
    }
    __syncthreads();
    y[tile * 64 + t] = before + s[t];
}
