// Causal attention over sequences of different lengths, one after the other (varlen): sequence b has tokens cu[b] to cu[b + 1].
//
// Launch    grid (ceil(longest / 16), H, sequences), block 64 threads. A block past the end of its sequence has nothing to do.
// Arguments Q, K, V, O [T,H,32] halves, cu [sequences + 1] i32.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
varlen(const half* Q, const half* K, const half* V, half* O, const int* cu, int H, float scale TS_PARAM) {
    __shared__ Block b;
    const int head = blockIdx.y, query0 = blockIdx.x * M;
    const int first = cu[blockIdx.z], length = cu[blockIdx.z + 1] - first;
    if (query0 >= length) return;
    const int rows = min(M, length - query0);
    const auto row = [&](int token) { return (static_cast<size_t>(first + token) * H + head) * D; };
    load(b.q, rows, [&](int r) { return Q + row(query0 + r); });
    start(b);
    for (int kv = 0; kv < (min(length, query0 + M) + N - 1) / N; kv++) {
        const int key0 = kv * N, keys = length - key0;
        load(b.k, keys, [&](int n) { return K + row(key0 + n); });
        load(b.v, keys, [&](int n) { return V + row(key0 + n); });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return n < keys && key0 + n <= query0 + r; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + row(query0 + r); });
}
