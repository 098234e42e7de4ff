// Causal attention that leaves the logarithm of each row's sum of exponentials as well: LSE = m + log l, -inf in a row without keys.
// Queries before the first key see none.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads. Q, K, V, O [B,H,S,32] halves, LSE [B,H,S] f32.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
lse(const half* Q, const half* K, const half* V, half* O, float* LSE, int H, int S, int late, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < (min(S, query0 + M) + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, S - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < S && key0 + n + late <= query0 + r; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * S + query0 + r) * D; });
    if (threadIdx.x < rows) {
        const int r = threadIdx.x;
        LSE[head * S + query0 + r] = __fadd_rn(b.m[r], logf(b.l[r]));
    }
}
