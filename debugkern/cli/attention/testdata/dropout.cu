// Attention with dropout of the probabilities: P·V takes the cells of which a random number is small enough, times 1/keep; l takes all.
// The number is word (key % 4) of Philox 4x32-10 for the counter (key / 4, query, head, batch).
//
// Launch    grid (ceil(S / 16), H, B), block 64 threads. Q, K, V, O [B,H,S,32] halves.
#include "flash.cuh"
#include "tilescope.cuh"

// Word `word` of Philox 4x32-10 (Salmon et al. 2011) for a counter and the key (42, 0).
__device__ unsigned int philox(uint4 c, int word) {
    unsigned int k0 = 42, k1 = 0;
    for (int round = 0; round < 10; round++) {
        const unsigned int h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        const unsigned int h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return word == 0 ? c.x : word == 1 ? c.y : word == 2 ? c.z : c.w;
}

extern "C" __global__ void __launch_bounds__(THREADS)
dropout(const half* Q, const half* K, const half* V, half* O, int H, int S, float scale TS_PARAM) {
    __shared__ Block b;
    const size_t head = blockIdx.z * H + blockIdx.y;
    const int query0 = blockIdx.x * M, rows = min(M, S - query0);
    load(b.q, rows, [&](int r) { return Q + (head * S + query0 + r) * D; });
    start(b);
    for (int kv = 0; kv < (S + N - 1) / N; kv++) {
        const int key0 = kv * N;
        load(b.k, S - key0, [&](int n) { return K + (head * S + key0 + n) * D; });
        load(b.v, S - key0, [&](int n) { return V + (head * S + key0 + n) * D; });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return key0 + n < S; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        for (int i = threadIdx.x; i < M * N; i += THREADS) {
            const int query = query0 + i / N, key = key0 + i % N;
            const bool kept = philox(make_uint4(key / 4, query, blockIdx.y, blockIdx.z), key % 4) < 3221225472u;  // 3/4 of 2^32
            const float p = __half2float(b.p[i / N][i % N]);
            b.p[i / N][i % N] = __float2half_rn(kept ? __fmul_rn(p, 1.0f / 0.75f) : 0.0f);
        }
        __syncthreads();
        TS_TILE(TS_DROPPED, kv, &b.p[0][0], M, N, N);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, rows, [&](int r) { return O + (head * S + query0 + r) * D; });
}
