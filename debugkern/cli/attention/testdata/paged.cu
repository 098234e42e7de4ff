// One query for each sequence over a paged cache: page table[b][i] of the pool has keys 8·i to 8·i + 7 of sequence b, used[b] of them in
// all. What the table has past the last page is no page.
//
// Launch    grid (1, H, B), block 64 threads. Q, O [B,H,32], K, V [pages,8,H,32] halves, table [B,P] i32, used [B] i32.
#include "flash.cuh"
#include "tilescope.cuh"

constexpr int PAGE = 8;  // keys

extern "C" __global__ void __launch_bounds__(THREADS)
paged(const half* Q, const half* K, const half* V, half* O, const int* table, const int* used, int H, int P, float scale TS_PARAM) {
    __shared__ Block b;
    const int head = blockIdx.y, length = used[blockIdx.z];
    const int* pages = table + blockIdx.z * P;
    const size_t query = (static_cast<size_t>(blockIdx.z) * H + head) * D;
    const auto row = [&](int key) { return ((pages[key / PAGE] * PAGE + key % PAGE) * H + head) * D; };
    load(b.q, 1, [&](int) { return Q + query; });
    start(b);
    for (int kv = 0; kv < (length + N - 1) / N; kv++) {
        const int key0 = kv * N, keys = length - key0;
        load(b.k, keys, [&](int n) { return K + row(key0 + n); });
        load(b.v, keys, [&](int n) { return V + row(key0 + n); });
        __syncthreads();
        PROBE_KV(b, kv);
        scores(b, scale);
        __syncthreads();
        PROBE_S(b, kv);
        softmax(b, [&](int r, int n) { return n < keys; });
        __syncthreads();
        PROBE_SOFTMAX(b, kv);
        accumulate(b);
        __syncthreads();
        PROBE_U(b, kv);
    }
    __syncthreads();
    TS_TILE(TS_Q, 0, &b.q[0][0], M, D, D);
    finish(b, 1, [&](int) { return O + query; });
}
