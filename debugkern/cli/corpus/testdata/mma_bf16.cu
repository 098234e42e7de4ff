// C = A transpose(B) by mma.sync with bf16 operands, fragments loaded straight from global memory as pairs; results rounded to bf16.
// tilescope: --grid 2 --block 32 --arg A=randn:bf16[32,48] --arg B=randn:bf16[8,48] --arg C=unwritten:bf16[32,8] --arg K=48
// tolerance: 4e-3
#include <cuda_bf16.h>

extern "C" __global__ void mma_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat162* C, int K) {
    int lane = threadIdx.x, group = lane >> 2, quad = lane & 3;
    const __nv_bfloat16 *a = A + (blockIdx.x * 16 + group) * K + quad * 2, *b = B + group * K + quad * 2;
    float d[4] = {};
    for (int k = 0; k < K; k += 16) {
        unsigned a0 = *(const unsigned*)(a + k), a1 = *(const unsigned*)(a + 8 * K + k);
        unsigned a2 = *(const unsigned*)(a + k + 8), a3 = *(const unsigned*)(a + 8 * K + k + 8);
        unsigned b0 = *(const unsigned*)(b + k), b1 = *(const unsigned*)(b + k + 8);  // bug: unsigned b0 = *(const unsigned*)(b + k), b1 = *(const unsigned*)(b + k + 9); // found: misaligned
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    C[((blockIdx.x * 16 + group) * 8 + quad * 2) / 2] = __floats2bfloat162_rn(d[0], d[1]);
    C[((blockIdx.x * 16 + group + 8) * 8 + quad * 2) / 2] = __floats2bfloat162_rn(d[2], d[3]);
}
