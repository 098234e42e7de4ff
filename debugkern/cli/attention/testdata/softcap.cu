// Attention with capped scores: 2 · tanh(s / 2).
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads. Q, K, V, O [B,H,S,32], halves.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
softcap(const half* Q, const half* K, const half* V, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    const int tiles = (S + N - 1) / N;
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < tiles; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, S - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        for (int i = threadIdx.x; i < M * N; i += THREADS) {
            b.s[i / N][i % N] = __fmul_rn(2.0f, tanhf(__fmul_rn(b.s[i / N][i % N], 0.5f)));
        }
        __syncthreads();
        TS_TILE(TS_C, kv, &b.s[0][0], M, N, N);
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
