// Exclusive prefix sums, work-efficient: sums up a tree and hands them down again, with padding against bank conflicts.
// tilescope: --grid 2 --block 64 --shared 544 --arg x=randint(0,100):u32[256] --arg y=unwritten:u32[256]
#define PAD(i) ((i) + ((i) >> 4))

extern "C" __global__ void scan_blelloch(const unsigned* x, unsigned* y) {
    extern __shared__ unsigned tree[];
    int t = threadIdx.x, n = 128, base = blockIdx.x * n, step = 1;
    tree[PAD(t)] = x[base + t];
    tree[PAD(t + 64)] = x[base + t + 64];  // bug: if (t < 32) tree[PAD(t + 64)] = x[base + t + 64];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
            tree[PAD(b)] += tree[PAD(a)];  // found: uninitialised
        }
        step *= 2;
    }
    if (t == 0) tree[PAD(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
            unsigned v = tree[PAD(a)];
            tree[PAD(a)] = tree[PAD(b)];
            tree[PAD(b)] += v;
        }
    }
    __syncthreads();
    y[base + t] = tree[PAD(t)];
    y[base + t + 64] = tree[PAD(t + 64)];
}
