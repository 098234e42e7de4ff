// Inclusive prefix sums within warps by shuffles; the last warp of the vector is not full.
// tilescope: --grid 2 --block 64 --arg x=randint(0,50):i32[110] --arg y=unwritten:i32[110] --arg n=110
extern "C" __global__ void scan_warp(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int v = i < n ? x[i] : 0;
    bool in = i < n;
    for (int d = 1; d < 32; d <<= 1) {
        int u = __shfl_up_sync(0xffffffff, v, d);  // bug: int u = in ? __shfl_xor_sync(0xffffffff, v, d) : 0; // found: shuffle
        if (lane >= d) v += u;
    }
    if (in) y[i] = v;
}
