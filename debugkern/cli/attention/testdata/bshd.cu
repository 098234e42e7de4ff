// Attention on [B,S,H,32] halves, of which a token's heads are followed by 8 elements of padding: torch's layout, and a slice of more.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
bshd(const half* Q, const half* K, const half* V, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const int head = blockIdx.y, query0 = blockIdx.x * M, rows = min(M, S - query0);
    const size_t token0 = static_cast<size_t>(blockIdx.z) * S;
    const int token = H * D + 8;  // elements from one token to the next
    load(b.q, rows, [&](int r) { return Q + (token0 + query0 + r) * token + head * D; });
    start(b);
    for (int kv = 0; kv < (S + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (token0 + key0 + n) * token + head * D; });
        load(b.v, S - key0, [&](int n) { return V + (token0 + key0 + n) * token + head * D; });
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
    finish(b, rows, [&](int r) { return O + (token0 + query0 + r) * token + head * D; });
}
