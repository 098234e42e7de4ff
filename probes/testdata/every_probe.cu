// Uses every probe once; block of 64 threads, any grid, kv tiles 0 … tiles - 1. No shared memory beyond the two tiles.
// Each thread's fragment element e of kv tile t is 1000·t + 10·thread + e unless it is injected.
#include "tilescope.cuh"

struct Fragment {
    float x[4];
};

extern "C" __global__ void every_probe(float* out, int tiles TS_PARAM) {
    __shared__ unsigned short tile[8][20];  // 16 columns used
    __shared__ float vec[16];
    for (int kv = 0; kv < tiles; kv++) {
        for (int i = threadIdx.x; i < 128; i += 64) tile[i / 16][i % 16] = 100 * kv + i;
        if (threadIdx.x < 16) vec[threadIdx.x] = kv + 0.5f;
        TS_INJECT_TILE(TS_P, kv, &tile[0][0], 8, 16, 20);
        TS_INJECT_VEC(TS_M, kv, vec, 16);
        __syncthreads();
        TS_TILE(TS_S, kv, &tile[0][0], 8, 16, 20);
        TS_VEC(TS_L, kv, vec, 16);
        Fragment frag;
        for (int e = 0; e < 4; e++) frag.x[e] = 1000 * kv + 10 * threadIdx.x + e;
        TS_INJECT_FRAG(TS_K, kv, frag);
        TS_FRAG(TS_U, kv, frag);
        TS_OWN(TS_V, kv, threadIdx.x / 8, threadIdx.x % 8, frag.x[1]);
        out[threadIdx.x] = frag.x[0] + vec[threadIdx.x % 16] + tile[threadIdx.x % 8][threadIdx.x % 16];
        __syncthreads();
    }
}
