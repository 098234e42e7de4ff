// Attention on a transposed V [B,H,32,S]. Q, K, O are [B,H,S,32]; all are halves.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
transposed_v(const half* Q, const half* K, const half* V, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < (S + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        for (int i = threadIdx.x; i < N * D; i += THREADS) {
            const int n = i % N, d = i / N;
            b.v[n][d] = key0 + n < S ? V[(head * D + d) * S + key0 + n] : __ushort_as_half(0);
        }
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < S; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * S + query0 + r) * D; });
}
