// Attention in splits of the keys: block (x, head, split) leaves the part of O that its keys give, divided by their own sum, and the
// logarithm of that sum. A split without keys leaves 0 and -inf. combine.cu puts the parts together.
//
// Launch    grid (ceil(S / 16), H, splits), block 64 threads. Q, K, V [H,S,32] halves, parts [splits,H,S,32] halves, sums [splits,H,S] f32.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
split(const half* Q, const half* K, const half* V, half* parts, float* sums, int H, int S, int share, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    const int first = blockIdx.z * share, end = min(S, first + share);  // of the keys of this split
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < (max(0, end - first) + N - 1) / N; kv++) {
        const int key0 = first + kv * N;
        load(b.k, end - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, end - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < end; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    __syncthreads();
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    const size_t row0 = (blockIdx.z * H + head) * S + query0;
    finish(b, rows, [&](int r) { return parts + (row0 + r) * D; });
    if (threadIdx.x < rows) {
        const float l = b.l[threadIdx.x];
        sums[row0 + threadIdx.x] = l == 0.0f ? neg_inf() : __fadd_rn(b.m[threadIdx.x], logf(l));
    }
}
