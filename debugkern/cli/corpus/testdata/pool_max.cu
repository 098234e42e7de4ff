// Maximum of windows of 3 x 3 with stride 2, and where it was.
// tilescope: --grid 6 --block 32 --arg x=randn:f32[2,3,11,13] --arg y=unwritten:f32[2,3,5,6] --arg index=unwritten:i32[2,3,5,6] --arg H=11 --arg W=13
extern "C" __global__ void pool_max(const float* x, float* y, int* index, int H, int W) {
    int OH = (H - 3) / 2 + 1, OW = (W - 3) / 2 + 1;  // bug: int OH = (H - 3 + 1) / 2 + 1, OW = (W - 3) / 2 + 2;
    const float* plane = x + blockIdx.x * H * W;
    for (int o = threadIdx.x; o < OH * OW; o += blockDim.x) {
        float best = -INFINITY;
        int where = 0;
        for (int i = 0; i < 9; i++) {
            int at = (o / OW * 2 + i / 3) * W + o % OW * 2 + i % 3;
            if (plane[at] > best) best = plane[at], where = at;
        }
        y[blockIdx.x * OH * OW + o] = best;  // found: out-of-bounds
        index[blockIdx.x * OH * OW + o] = where;
    }
}
