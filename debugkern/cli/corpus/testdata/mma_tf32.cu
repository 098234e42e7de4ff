// C = A B by mma.sync m16n8k8 with tf32 operands.
// tilescope: --grid 1 --block 32 --arg A=randn:f32[16,16] --arg B=randn:f32[16,8] --arg C=unwritten:f32[16,8] --arg K=16
// tolerance: 2e-3
__device__ __forceinline__ unsigned tf32(float x) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

extern "C" __global__ void mma_tf32(const float* A, const float* B, float* C, int K) {
    int g = threadIdx.x / 4, q = threadIdx.x % 4;
    float d[4] = {0.f, 0.f, 0.f, 0.f};
    for (int k = 0; k < K; k += 8) {
        unsigned a0 = tf32(A[g * K + k + q]), a1 = tf32(A[(g + 8) * K + k + q]);
        unsigned a2 = tf32(A[g * K + k + q + 4]), a3 = tf32(A[(g + 8) * K + k + q + 4]);
        unsigned b0 = tf32(B[(k + q) * 8 + g]), b1 = tf32(B[(k + q + 4) * 8 + g]);  // bug: unsigned b0 = tf32(B[(k + q) * 16 + g]), b1 = tf32(B[(k + q + 4) * 16 + g]); // found: out-of-bounds
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    C[g * 8 + q * 2] = d[0];
    C[g * 8 + q * 2 + 1] = d[1];
    C[(g + 8) * 8 + q * 2] = d[2];
    C[(g + 8) * 8 + q * 2 + 1] = d[3];
}
