// Attention on packed queries, keys and values: QKV [B,S,3,H,32], O [B,S,H,32], halves.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
packed(const half* QKV, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const int head = blockIdx.y, query0 = blockIdx.x * M, rows = min(M, S - query0);
    const size_t token0 = static_cast<size_t>(blockIdx.z) * S;
    // Where the row of a token begins: which is 0 for queries, 1 for keys, 2 for values.
    const auto row = [&](int token, int which) { return QKV + (((token0 + token) * 3 + which) * H + head) * D; };
    load(b.q, rows, [&](int r) { return row(query0 + r, 0); });
    start(b);
    for (int kv = 0; kv < (S + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return row(key0 + n, 1); });
        load(b.v, S - key0, [&](int n) { return row(key0 + n, 2); });
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
    finish(b, rows, [&](int r) { return O + ((token0 + query0 + r) * H + head) * D; });
}
