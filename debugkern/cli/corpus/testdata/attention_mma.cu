// Attention with the tensor core and everything but K and V in registers: a warp has 16 queries; scores are the next product's operand.
// tilescope: --grid 2,2 --block 32 --arg Q=randn:f16[2,32,16] --arg K=randn:f16[2,48,16] --arg V=randn:f16[2,48,16]
// tilescope: --arg O=unwritten:f32[2,32,16] --arg SQ=32 --arg SK=48
// tolerance: 2e-3
#include <cuda_fp16.h>
#define MMA(d, a, b0, b1)                                                                                                            \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

__device__ unsigned pack(float lo, float hi) {
    __half2 h = __floats2half2_rn(lo, hi);
    return *reinterpret_cast<unsigned*>(&h);
}
__device__ unsigned at(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ float quad(float v, bool largest) {
    for (int d = 1; d < 4; d *= 2) {
        float u = __shfl_xor_sync(~0u, v, d);
        v = largest ? fmaxf(v, u) : v + u;
    }
    return v;
}

extern "C" __global__ void attention_mma(const half* Q, const half* K, const half* V, float* O, int SQ, int SK) {
    __shared__ __align__(16) half k[2][16][24], v[2][16][24];
    int lane = threadIdx.x, g = lane / 4, q = lane % 4;
    Q += (blockIdx.y * SQ + blockIdx.x * 16) * 16;
    K += blockIdx.y * SK * 16, V += blockIdx.y * SK * 16;
    auto fetch = [&](int tile) {
        int row = lane / 2, col = lane % 2 * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&k[tile & 1][row][col])), "l"(K + (tile * 16 + row) * 16 + col));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(&v[tile & 1][row][col])), "l"(V + (tile * 16 + row) * 16 + col));
        asm volatile("cp.async.commit_group;");
    };
    fetch(0);
    unsigned a[4] = {*(unsigned*)&Q[g * 16 + q * 2], *(unsigned*)&Q[(g + 8) * 16 + q * 2], *(unsigned*)&Q[g * 16 + q * 2 + 8], *(unsigned*)&Q[(g + 8) * 16 + q * 2 + 8]};
    float u[2][4] = {}, m[2] = {-1e30f, -1e30f}, l[2] = {};
    for (int tile = 0; tile < SK / 16; tile++) {
        if (tile + 1 < SK / 16) {
            fetch(tile + 1);
            asm volatile("cp.async.wait_group 1;" ::: "memory");  // bug: asm volatile("cp.async.wait_group 2;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncwarp();
        float s[2][4] = {};
        unsigned b[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at(&k[tile & 1][lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8])));  // found: cp-async
        MMA(s[0], a, b[0], b[1]);
        MMA(s[1], a, b[2], b[3]);
        unsigned p[4];
        for (int h = 0; h < 2; h++) {
            float top = m[h];
            for (int n = 0; n < 2; n++) top = fmaxf(top, fmaxf(s[n][2 * h], s[n][2 * h + 1]) * 0.25f);
            top = quad(top, true);
            float alpha = __expf(m[h] - top), sum = 0.f, e[2][2];
            for (int n = 0; n < 2; n++)
                for (int i = 0; i < 2; i++) sum += e[n][i] = __expf(s[n][2 * h + i] * 0.25f - top);
            l[h] = l[h] * alpha + quad(sum, false);
            m[h] = top;
            for (int n = 0; n < 2; n++) u[n][2 * h] *= alpha, u[n][2 * h + 1] *= alpha, p[h + 2 * n] = pack(e[n][0], e[n][1]);
        }
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3]) : "r"(at(&v[tile & 1][lane % 16][lane / 16 * 8])));
        MMA(u[0], p, b[0], b[1]);
        MMA(u[1], p, b[2], b[3]);
        __syncwarp();
    }
    O += (blockIdx.y * SQ + blockIdx.x * 16) * 16;
    for (int h = 0; h < 2; h++)
        for (int n = 0; n < 2; n++) *(float2*)&O[(g + 8 * h) * 16 + n * 8 + q * 2] = make_float2(u[n][2 * h] / l[h], u[n][2 * h + 1] / l[h]);
}
