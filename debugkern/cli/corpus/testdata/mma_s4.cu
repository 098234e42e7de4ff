// C = A transpose(B) of packed 4-bit integers by mma.sync m16n8k64: A signed, B unsigned.
// tilescope: --grid 1 --block 32 --arg A=randint(0,4294967295):u32[16,8] --arg B=randint(0,4294967295):u32[8,8] --arg C=unwritten:i32[16,8]
extern "C" __global__ void mma_s4(const unsigned* A, const unsigned* B, int* C) {
    int g = threadIdx.x / 4, q = threadIdx.x % 4;
    int d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3)
        : "r"(A[g * 8 + q]), "r"(A[(g + 8) * 8 + q]), "r"(A[g * 8 + q + 4]), "r"(A[(g + 8) * 8 + q + 4]), "r"(B[g * 8 + q]), "r"(B[g * 8 + q + 4]));
    int* c = C + g * 8 + q * 2;
    c[0] = d0, c[1] = d1;
    c[64] = d2, c[65] = d3;  // bug: c[64] = d2, c[66] = d3; // found: race
}
