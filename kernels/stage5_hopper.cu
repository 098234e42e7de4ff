// stage5_hopper: O = softmax(Q·Kᵀ · softmax_scale) · V on half inputs, by what Hopper has for it: tensor copies that a warp
// issues and nobody waits for in line, mbarriers, and matrix products of a warpgroup (wgmma). For sm_90a alone.
//
// Launch    grid (ceil(S / 128), H, B), block 384 threads = 3 warpgroups, dynamic shared memory below. D must be 64.
//           A block computes 128 query rows of one head and walks over the keys, 64 at a time (a "kv tile").
// Arguments q_map, k_map, v_map: tensor maps of f16 [B·H, S, 64], boxes of [1, rows of the tile, SWIZZLE / 2 columns];
//           O f16 [B,H,S,D], 4-byte aligned.
//
// Flags     STAGES     tiles of K, and of V, that are there or on their way: 2 or 3
//           PING_PONG  the consumers take turns: one is at its scores while the other is at its softmax
//           SWIZZLE    bytes within which tiles are swizzled: 128, 64, 32, or 16 for none
// Gates     DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY, DEBUG_PV_ONLY: compile one part only, its inputs injected
//
// Shared memory, in bytes (16,392 + 16,416 · STAGES)
//   sQ   half [128][64]          16384          full, empty   mbarriers of K's and V's rings
//   sK   half [STAGES][64][64]    8192 each     q_full        mbarrier of Q
//   sV   half [STAGES][64][64]    8192 each
//
// Who does what   warpgroup 0  the producer: its first thread issues all copies, tile after tile, as far ahead as there are
//                              free stages; the others have nothing to do
//                 warpgroup 1, 2  consumers of 64 query rows each. S, P, m, l and U are in registers throughout: a thread has
//                              two rows, and of each 8 columns two (hopper.cuh, wgmma)
//
// mbarriers       full[stage]  1 arrival and the bytes of a tile: it is there
//                 empty[stage] 8 arrivals, one of each consumer's warp: it is read for the last time
//
// Probes    Q, K, V out of shared memory, S, m, l, P and U out of registers · O is the output itself.
//
// Departures from the reference, on purpose: P is rounded to half for P·V while l sums it unrounded; exp(x) is
// ex2.approx(x · log2 e).
#include "hopper.cuh"
#include "tilescope.cuh"

#ifndef STAGES
#define STAGES 2
#endif
#ifndef PING_PONG
#define PING_PONG 1
#endif
#ifndef SWIZZLE
#define SWIZZLE 128
#endif
#ifndef DEBUG_QK_ONLY
#define DEBUG_QK_ONLY 0
#endif
#ifndef DEBUG_SOFTMAX_ONLY
#define DEBUG_SOFTMAX_ONLY 0
#endif
#ifndef DEBUG_PV_ONLY
#define DEBUG_PV_ONLY 0
#endif
#if DEBUG_QK_ONLY + DEBUG_SOFTMAX_ONLY + DEBUG_PV_ONLY > 1
#error "DEBUG_QK_ONLY, DEBUG_SOFTMAX_ONLY and DEBUG_PV_ONLY exclude each other"
#endif

// A gate leaves the rest of the kv tile out, and what only that part uses: loop is not reachable, declared but never
// referenced, set but never used.
#pragma nv_diag_suppress 128, 177, 550

namespace {

constexpr bool RUN_QK = !DEBUG_SOFTMAX_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_SOFTMAX = !DEBUG_QK_ONLY && !DEBUG_PV_ONLY;
constexpr bool RUN_PV = !DEBUG_QK_ONLY && !DEBUG_SOFTMAX_ONLY;

constexpr int TILE_M = 128;
constexpr int TILE_N = 64;
constexpr int HEAD_DIM = 64;
constexpr int CONSUMERS = 2;  // warpgroups
constexpr int THREADS = (1 + CONSUMERS) * WARPGROUP;
constexpr int ROWS = TILE_M / CONSUMERS;  // of a consumer
constexpr int ELEMENTS = ROWS * TILE_N / WARPGROUP;  // of S, and of U, that a thread has
static_assert(HEAD_DIM == TILE_N && ELEMENTS == 32 && ROWS == 64, "one shape of wgmma for both products");

constexpr float LOG2_E = 1.4426950408889634f;

using QTile = Tile<TILE_M, HEAD_DIM, SWIZZLE>;
using KVTile = Tile<TILE_N, HEAD_DIM, SWIZZLE>;

struct Shared {
    QTile q;
    KVTile k[STAGES];
    KVTile v[STAGES];
    unsigned long long q_full;
    unsigned long long k_full[STAGES], k_empty[STAGES];
    unsigned long long v_full[STAGES], v_empty[STAGES];
};

__device__ __forceinline__ float neg_inf() { return __int_as_float(0xff800000); }

// exp(x - m) for x <= m. Where m is still -inf, x is too, and contributes 0.
__device__ __forceinline__ float exp_below(float x, float m) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(__fmul_rn(__fsub_rn(x, m == neg_inf() ? 0.0f : m), LOG2_E)));
    return y;
}

// Maximum and sum over the four lanes that have a row.
__device__ __forceinline__ float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
    x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ unsigned pair(float x, float y) {
    const half2 h = __floats2half2_rn(x, y);
    return *reinterpret_cast<const unsigned*>(&h);
}

// Issues the copies of a tile: rows from row on of one head.
template <typename T>
__device__ __forceinline__ void load_tile(T& tile, const TensorMap* map, unsigned long long* full, int row, int head) {
    mbarrier_expect(full, T::BYTES);
#pragma unroll
    for (int i = 0; i < T::PANELS; i++) tensor_load(tile.panel(i), map, full, i * T::PANEL_COLS, row, head);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(THREADS, 1)
stage5_hopper(const __grid_constant__ TensorMap q_map, const __grid_constant__ TensorMap k_map,
              const __grid_constant__ TensorMap v_map, half* __restrict__ O, int S, float softmax_scale TS_PARAM) {
    extern __shared__ __align__(1024) unsigned char smem[];
    Shared& shared = *reinterpret_cast<Shared*>(smem);

    const int query0 = blockIdx.x * TILE_M;
    const int head = blockIdx.z * gridDim.y + blockIdx.y;
    const int tiles = (S + TILE_N - 1) / TILE_N;

    if (threadIdx.x == 0) {
        mbarrier_init(&shared.q_full, 1);
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&shared.k_full[i], 1);
            mbarrier_init(&shared.v_full[i], 1);
            mbarrier_init(&shared.k_empty[i], CONSUMERS * WARPGROUP / 32);
            mbarrier_init(&shared.v_empty[i], CONSUMERS * WARPGROUP / 32);
        }
        mbarrier_fence_init();
    }
    __syncthreads();

    if (threadIdx.x < WARPGROUP) {  // the producer
        fewer_registers<24>();
        if (threadIdx.x != 0) return;
        if (RUN_QK) load_tile(shared.q, &q_map, &shared.q_full, query0, head);
#pragma unroll 1
        for (int kv = 0; kv < tiles; kv++) {
            const int stage = kv % STAGES;
            const int round = kv / STAGES;  // the first round finds every stage empty
            if (RUN_QK) {
                if (round > 0) mbarrier_wait(&shared.k_empty[stage], round - 1 & 1);
                load_tile(shared.k[stage], &k_map, &shared.k_full[stage], kv * TILE_N, head);
            }
            if (RUN_PV) {
                if (round > 0) mbarrier_wait(&shared.v_empty[stage], round - 1 & 1);
                load_tile(shared.v[stage], &v_map, &shared.v_full[stage], kv * TILE_N, head);
            }
        }
        return;
    }

    more_registers<240>();
    const int thread = threadIdx.x - WARPGROUP;  // of the consumers
    const int consumer = thread / WARPGROUP;
    const int lane = threadIdx.x % 32;
    const int row0 = consumer * ROWS + thread % WARPGROUP / 32 * 16 + lane / 4;  // the first of the thread's rows: row0 + 8 h
    const int col0 = lane % 4 * 2;                                              // the first of its columns: col0 + 8 j
    const int turn = 1 + consumer, other_turn = 2 - consumer;                   // named barriers of PING_PONG

    float m[2] = {neg_inf(), neg_inf()};
    float l[2] = {0.0f, 0.0f};
    float u[ELEMENTS] = {};

    if (RUN_QK) {
        mbarrier_wait(&shared.q_full, 0);
        for (int i = thread; i < TILE_M * HEAD_DIM; i += CONSUMERS * WARPGROUP) {
            TS_OWN(TS_Q, 0, i / HEAD_DIM, i % HEAD_DIM, *shared.q.at(i / HEAD_DIM, i % HEAD_DIM));
        }
    }
    if (PING_PONG && RUN_QK && consumer == 1) barrier_arrive(other_turn, CONSUMERS * WARPGROUP);

#pragma unroll 1
    for (int kv = 0; kv < tiles; kv++) {
        const int stage = kv % STAGES;
        const int parity = kv / STAGES & 1;

        float s[ELEMENTS] = {};
        if (RUN_QK) {  // S = Q·Kᵀ · softmax_scale
            mbarrier_wait(&shared.k_full[stage], parity);
            if (PING_PONG) barrier_wait(turn, CONSUMERS * WARPGROUP);
            wgmma_fence(s);
#pragma unroll
            for (int d = 0; d < HEAD_DIM; d += 16) {
                wgmma_shared(s, shared.q.rows_by_k(consumer * ROWS, d), shared.k[stage].rows_by_k(0, d), d > 0);
            }
            wgmma_commit();
            wgmma_wait<0>(s);
            if (PING_PONG) barrier_arrive(other_turn, CONSUMERS * WARPGROUP);
            for (int i = thread; i < TILE_N * HEAD_DIM; i += CONSUMERS * WARPGROUP) {
                TS_OWN(TS_K, kv, i / HEAD_DIM, i % HEAD_DIM, *shared.k[stage].at(i / HEAD_DIM, i % HEAD_DIM));
            }
            __syncwarp();
            if (lane == 0) mbarrier_arrive(&shared.k_empty[stage]);
#pragma unroll
            for (int e = 0; e < ELEMENTS; e++) {
                s[e] = __fmul_rn(s[e], softmax_scale);
                TS_OWN(TS_S, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8 + e % 2, s[e]);
            }
        }
        if (DEBUG_QK_ONLY) continue;

        // Online softmax of the thread's two rows.
        float rescale[2];
        unsigned p[ELEMENTS / 8][4];  // pairs of P, in the order in which wgmma takes them as A: 16 keys each
        if (RUN_SOFTMAX) {
            if (DEBUG_SOFTMAX_ONLY) {
#pragma unroll
                for (int e = 0; e < ELEMENTS; e++) {
                    TS_INJECT_OWN(TS_S, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8 + e % 2, s[e]);
                }
            }
            float highest[2] = {neg_inf(), neg_inf()};
#pragma unroll
            for (int e = 0; e < ELEMENTS; e++) {
                const int key = kv * TILE_N + col0 + e / 4 * 8 + e % 2;
                if (key >= S) s[e] = neg_inf();
                highest[e / 2 % 2] = fmaxf(highest[e / 2 % 2], s[e]);
            }
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float m_new = fmaxf(m[h], row_max(highest[h]));
                rescale[h] = exp_below(m[h], m_new);
                m[h] = m_new;
            }
            float sum[2] = {0.0f, 0.0f};
#pragma unroll
            for (int e = 0; e < ELEMENTS; e++) {
                s[e] = exp_below(s[e], m[e / 2 % 2]);
                sum[e / 2 % 2] = __fadd_rn(sum[e / 2 % 2], s[e]);
                TS_OWN(TS_P, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8 + e % 2, __float2half_rn(s[e]));
            }
#pragma unroll
            for (int h = 0; h < 2; h++) {
                l[h] = __fadd_rn(__fmul_rn(l[h], rescale[h]), row_sum(sum[h]));
                if (col0 == 0) {
                    TS_OWN(TS_M, kv, row0 + 8 * h, 0, m[h]);
                    TS_OWN(TS_L, kv, row0 + 8 * h, 0, l[h]);
                }
            }
#pragma unroll
            for (int e = 0; e < ELEMENTS; e += 2) p[e / 8][e / 2 % 4] = pair(s[e], s[e + 1]);
        } else {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float m_old = m[h];
                TS_INJECT_OWN(TS_M, kv, row0 + 8 * h, 0, m[h]);
                TS_INJECT_OWN(TS_L, kv, row0 + 8 * h, 0, l[h]);
                rescale[h] = exp_below(m_old, m[h]);
            }
#pragma unroll
            for (int e = 0; e < ELEMENTS; e += 2) {
                half x = __float2half_rn(0.0f), y = x;
                TS_INJECT_OWN(TS_P, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8, x);
                TS_INJECT_OWN(TS_P, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8 + 1, y);
                p[e / 8][e / 2 % 4] = pair(__half2float(x), __half2float(y));
            }
        }
        if (DEBUG_SOFTMAX_ONLY) continue;

        // U = U · rescale + P·V
#pragma unroll
        for (int e = 0; e < ELEMENTS; e++) u[e] = __fmul_rn(u[e], rescale[e / 2 % 2]);
        mbarrier_wait(&shared.v_full[stage], parity);
        wgmma_fence(u, p);
#pragma unroll
        for (int n = 0; n < TILE_N; n += 16) wgmma_registers(u, p[n / 16], shared.v[stage].k_by_cols(n));
        wgmma_commit();
        wgmma_wait<0>(u);
        for (int i = thread; i < TILE_N * HEAD_DIM; i += CONSUMERS * WARPGROUP) {
            TS_OWN(TS_V, kv, i / HEAD_DIM, i % HEAD_DIM, *shared.v[stage].at(i / HEAD_DIM, i % HEAD_DIM));
        }
        __syncwarp();
        if (lane == 0) mbarrier_arrive(&shared.v_empty[stage]);
#pragma unroll
        for (int e = 0; e < ELEMENTS; e++) {
            TS_OWN(TS_U, kv, row0 + e / 2 % 2 * 8, col0 + e / 4 * 8 + e % 2, u[e]);
        }
    }

    if (RUN_PV) {
#pragma unroll
        for (int e = 0; e < ELEMENTS; e += 2) {
            const int h = e / 2 % 2;
            const int row = query0 + row0 + 8 * h;
            if (row < S) {
                const half2 o = __floats2half2_rn(__fdiv_rn(u[e], l[h]), __fdiv_rn(u[e + 1], l[h]));
                *reinterpret_cast<half2*>(&O[(static_cast<size_t>(head) * S + row) * HEAD_DIM + col0 + e / 4 * 8]) = o;
            }
        }
    }
}
