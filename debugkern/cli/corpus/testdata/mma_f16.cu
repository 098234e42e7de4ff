// C = A B by mma.sync m16n8k16: A and B pass through swizzled shared memory and are loaded by ldmatrix, B transposed on the way.
// tilescope: --grid 1,2 --block 64 --arg A=randn:f16[32,64] --arg B=randn:f16[64,16] --arg C=unwritten:f32[32,16] --arg N=16 --arg K=64
// tolerance: 1e-6
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void mma_f16(const half* A, const half* B, float* C, int N, int K) {
    __shared__ __align__(16) half a[16][32], b[32][16];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    float d[4] = {};
    for (int k = 0; k < K; k += 32) {
        int row = t / 4, chunk = t % 4;
        *(uint4*)&a[row][(chunk ^ (row / 2 & 3)) * 8] = *(const uint4*)&A[(blockIdx.y * 16 + row) * K + k + chunk * 8];
        *(uint4*)&b[t / 2][t % 2 * 8] = *(const uint4*)&B[(k + t / 2) * N + t % 2 * 8];
        __syncthreads();
        for (int kk = 0; kk < 2; kk++) {
            unsigned ra[4], rb[2];
            int r = lane % 16, c = kk * 2 + lane / 16;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                         : "r"(shared_address(&a[r][(c ^ (r / 2 & 3)) * 8])));
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                         : "=r"(rb[0]), "=r"(rb[1])
                         : "r"(shared_address(&b[kk * 16 + lane % 16][warp * 8])));  // found: race
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        }
        __syncthreads();  // bug:
    }
    float* c = C + (blockIdx.y * 16 + lane / 4) * N + warp * 8 + lane % 4 * 2;
    *(float2*)c = make_float2(d[0], d[1]);
    *(float2*)(c + 8 * N) = make_float2(d[2], d[3]);
}
