// Causal attention with linear biases (ALiBi): a score loses slope · distance, with a slope for each head.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads. Q, K, V, O [B,H,S,32], halves.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
alibi(const half* Q, const half* K, const half* V, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    const int tiles = (min(S, query0 + M) + N - 1) / N;
    const float slope = exp2f(__fdiv_rn(-8.0f * (blockIdx.y + 1), H));
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
            const int distance = key0 + i % N - query0 - i / N;
            b.s[i / N][i % N] = __fadd_rn(b.s[i / N][i % N], __fmul_rn(slope, distance));
        }
        __syncthreads();
        TS_TILE(TS_A, kv, &b.s[0][0], M, N, N);
        softmax(b, [&](int r, int n) { return key0 + n < S && key0 + n <= query0 + r; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * S + query0 + r) * D; });
}
