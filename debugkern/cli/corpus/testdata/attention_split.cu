// Attention of one query a head with its keys split over blocks: each leaves its maximum, sum and result; the block that ends last merges.
// tilescope: --grid 4,3 --block 32 --arg Q=randn:f32[3,32] --arg K=randn:f32[3,60,32] --arg V=randn:f32[3,60,32] --arg O=unwritten:f32[3,32]
// tilescope: --arg part=unwritten:f32[3,4,34] --arg done=zeros:u32[3] --arg S=60
// tolerance: 1e-5
__device__ float sum32(float v) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void attention_split(const float* Q, const float* K, const float* V, float* O, float* part, unsigned* done, int S) {
    int split = blockIdx.x, splits = gridDim.x, head = blockIdx.y, lane = threadIdx.x;
    int each = (S + splits - 1) / splits, first = split * each, end = min(S, first + each);
    float q = Q[head * 32 + lane] * 0.17677669f, m = -INFINITY, l = 0.f, u = 0.f;
    for (int k = first; k < end; k++) {
        float s = sum32(q * K[(head * S + k) * 32 + lane]), top = fmaxf(m, s), alpha = __expf(m - top), p = __expf(s - top);
        l = l * alpha + p;
        u = u * alpha + p * V[(head * S + k) * 32 + lane];
        m = top;
    }
    float* mine = part + (head * splits + split) * 34;
    mine[2 + lane] = u;
    if (lane == 0) mine[0] = m, mine[1] = l;
    __threadfence();  // bug:
    __syncwarp();
    bool last = false;
    if (lane == 0) last = atomicAdd(&done[head], 1) == splits - 1;
    __syncwarp();
    last = __shfl_sync(~0u, last, 0);
    if (!last) return;
    __threadfence();
    float M = -INFINITY, L = 0.f, U = 0.f;
    for (int i = 0; i < splits; i++) {
        const float* p = part + (head * splits + i) * 34;
        float top = fmaxf(M, p[0]);  // found: race
        float a = __expf(M - top), b = __expf(p[0] - top);
        L = L * a + p[1] * b;
        U = U * a + p[2 + lane] * b;
        M = top;
    }
    O[head * 32 + lane] = U / L;
}
