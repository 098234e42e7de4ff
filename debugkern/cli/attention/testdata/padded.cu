// One query for each sequence over a padded cache, of which used[b] keys are there (seqused), none perhaps.
//
// Launch    grid (1, H, B), block 64 threads. Q, O [B,H,1,32], K, V [B,H,S,32] halves, used [B] i32.
#include "flash.cuh"
#include "tilescope.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
padded(const half* Q, const half* K, const half* V, half* O, const int* used, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int length = used[blockIdx.z];
    load(b.q, 1, [&](int) { return Q + head * D; });
    start(b);
    for (int kv = 0; kv < (length + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, S - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < length; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    __syncthreads();
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, 1, [&](int) { return O + head * D; });
}
