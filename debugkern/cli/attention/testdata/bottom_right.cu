// Causal attention of Sq queries over Sk keys, aligned at the bottom right: query i sees keys 0 to i + Sk - Sq. With fewer keys than
// queries the first queries see none: their O is 0.
//
// Launch    grid (ceil(Sq / 16), H, B), block 64 threads. Q, O [B,H,Sq,32], K, V [B,H,Sk,32], halves.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
bottom_right(const half* Q, const half* K, const half* V, half* O, int H, int Sq, int Sk, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, Sq - query0);
    const int last = query0 + M - 1 + Sk - Sq;  // the last key that the block's last row sees
    const int tiles = max(0, (min(Sk, last + 1) + N - 1) / N);
    load(b.q, rows, [&](int r) { return Q + (head * Sq + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < tiles; kv++) {
        const int key0 = kv * N;
        load(b.k, Sk - key0, [&](int n) { return K + (head * Sk + key0 + n) * D; });
        load(b.v, Sk - key0, [&](int n) { return V + (head * Sk + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < Sk && key0 + n <= query0 + r + Sk - Sq; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    __syncthreads();
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * Sq + query0 + r) * D; });
}
