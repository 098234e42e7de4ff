// Attention, a block for a query: scores in dynamic shared memory, softmax, then the weighted sum of V.
// tilescope: --grid 20,2 --block 32 --shared 80 --arg Q=randn:f32[2,20,16] --arg K=randn:f32[2,20,16] --arg V=randn:f32[2,20,16]
// tilescope: --arg O=unwritten:f32[2,20,16] --arg S=20 --arg D=16
// tolerance: 1e-5
extern "C" __global__ void attention_naive(const float* Q, const float* K, const float* V, float* O, int S, int D) {
    extern __shared__ float score[];
    int q = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
    const float *query = Q + (head * S + q) * D, *keys = K + head * S * D, *values = V + head * S * D;
    float m = -INFINITY, l = 0.f;
    for (int k = lane; k < S; k += 32) {  // bug: for (int k = lane; k <= S; k += 32) {
        float dot = 0.f;
        for (int d = 0; d < D; d++) dot += query[d] * keys[k * D + d];
        score[k] = dot * rsqrtf((float)D);  // found: out-of-bounds
        m = fmaxf(m, score[k]);
    }
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    for (int k = lane; k < S; k += 32) l += score[k] = __expf(score[k] - m);
    for (int d = 16; d; d /= 2) l += __shfl_xor_sync(~0u, l, d);
    __syncwarp();
    for (int d = lane; d < D; d += 32) {
        float sum = 0.f;
        for (int k = 0; k < S; k++) sum += score[k] * values[k * D + d];
        O[(head * S + q) * D + d] = sum / l;
    }
}
