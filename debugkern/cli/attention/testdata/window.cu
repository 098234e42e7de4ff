// Attention over a window: query i sees keys i - LEFT to i + RIGHT. A block begins with the first kv tile that its first row sees, and
// ends with the last that its last row does.
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads. Q, K, V, O [B,H,S,32], halves.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
window(const half* Q, const half* K, const half* V, half* O, int H, int S, int left, int right, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    const int first = max(0, query0 - left) / N;
    const int end = min(S, query0 + M + right);  // one past the last key that the last row sees
    const int tiles = (end + N - 1) / N - first;
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < tiles; kv++) {
        const int key0 = (first + kv) * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, S - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) {
            const int query = query0 + r, key = key0 + n;
            return key < S && key >= query - left && key <= query + right;
        });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * S + query0 + r) * D; });
}
