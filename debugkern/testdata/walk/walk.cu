// walk: fused attention on halves in the smallest form that has every way of capturing a tile, for tests of what was not
// captured and of capture by line.
//
// Launch    grid (ceil(S / 16), H, B), block 128 threads = 4 warps. D must be 16. Warp w has query rows 4w … 4w+3.
// Probes    S, U by TS_OWN: a thread stores its own two cells · m, l by TS_VEC · P by TS_TILE · O is the output itself.
// FAULT     what is wrong on purpose: WARP_EXIT warp 3 leaves in the last kv tile · WARP_SHORT warp 3 leaves the loop a tile
//           early · SHORT the loop ends a tile early · BLOCK_SHORT the same in block x = 1 alone · LONG it goes on for one tile,
//           of padding keys · SKIP warp 2 does not come to the probe of S · SCALE S is half as large again, and has no
//           probe · LINES nothing is wrong, and S has no probe.
#include <cuda_fp16.h>

#include "tilescope.cuh"

#define WARP_EXIT 1
#define WARP_SHORT 2
#define SHORT 3
#define BLOCK_SHORT 4
#define LONG 5
#define SKIP 6
#define SCALE 7
#define LINES 8
#ifndef FAULT
#define FAULT 0
#endif

constexpr int T = 16;

extern "C" __global__ void walk(const half* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, half* __restrict__ O,
                                int H, int S, float scale TS_PARAM) {
    __shared__ half sK[T][T], sV[T][T], sP[T][T];
    __shared__ float sS[T][T], m_s[T], l_s[T];
    const int warp = threadIdx.x / 32, row = threadIdx.x / 8, col = threadIdx.x % 8 * 2;
    const int query = blockIdx.x * T + row;
    const size_t base = (static_cast<size_t>(blockIdx.z) * H + blockIdx.y) * S * T;
    int tiles = (S + T - 1) / T;
    if (FAULT == SHORT) tiles -= 1;
    if (FAULT == BLOCK_SHORT && blockIdx.x == 1) tiles -= 1;
    if (FAULT == WARP_SHORT && warp == 3) tiles -= 1;
    if (FAULT == LONG) tiles += 1;
    float u[2] = {0.0f, 0.0f};
    if (threadIdx.x < T) m_s[threadIdx.x] = __int_as_float(0xff800000), l_s[threadIdx.x] = 0.0f;

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int key = kv * T + row;
        for (int j = 0; j < 2; j++) {
            sK[row][col + j] = key < S ? K[base + static_cast<size_t>(key) * T + col + j] : __float2half(0.0f);
            sV[row][col + j] = key < S ? V[base + static_cast<size_t>(key) * T + col + j] : __float2half(0.0f);
        }
        __syncthreads();
        if (FAULT == WARP_EXIT && warp == 3 && kv == tiles - 1) return;
#pragma unroll 1
        for (int j = 0; j < 2; j++) {  // not unrolled: a line that is passed twice in a kv tile
            float s = 0.0f;
            for (int d = 0; d < T; d++) {
                s = __fmaf_rn(query < S ? __half2float(Q[base + static_cast<size_t>(query) * T + d]) : 0.0f, __half2float(sK[col + j][d]), s);
            }
            s = __fmul_rn(s, FAULT == SCALE ? 1.5f * scale : scale);
            if (kv * T + col + j >= S) s = __int_as_float(0xff800000);
            sS[row][col + j] = s;  // passed twice
            if (FAULT < SCALE && (FAULT != SKIP || warp != 2)) TS_OWN(TS_S, kv, row, col + j, s);
        }
        __syncthreads();  // S is there
        const float before = m_s[row];
        float m = before, sum = 0.0f;
        for (int c = 0; c < T; c++) m = fmaxf(m, sS[row][c]);
        for (int c = 0; c < T; c++) sum = __fadd_rn(sum, __expf(__fsub_rn(sS[row][c], m)));
        const float carry = __expf(__fsub_rn(before, m));
        for (int j = 0; j < 2; j++) sP[row][col + j] = __float2half(__expf(__fsub_rn(sS[row][col + j], m)));
        __syncthreads();
        if (col == 0) m_s[row] = m, l_s[row] = __fmaf_rn(l_s[row], carry, sum);
        __syncthreads();
        TS_VEC(TS_M, kv, m_s, T);
        TS_VEC(TS_L, kv, l_s, T);
        TS_TILE(TS_P, kv, &sP[0][0], T, T, T);
        for (int j = 0; j < 2; j++) {
            float pv = 0.0f;
            for (int k = 0; k < T; k++) pv = __fmaf_rn(__half2float(sP[row][k]), __half2float(sV[k][col + j]), pv);
            u[j] = __fadd_rn(__fmul_rn(u[j], carry), pv);
            TS_OWN(TS_U, kv, row, col + j, u[j]);
        }
        __syncthreads();
    }
    if (query < S) {
        for (int j = 0; j < 2; j++) O[base + static_cast<size_t>(query) * T + col + j] = __float2half(__fdividef(u[j], l_s[row]));
    }
}
