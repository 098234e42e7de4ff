// C = A transpose(B) of 8-bit floats by mma.sync m16n8k32, with one scale for each operand.
// tilescope: --grid 1 --block 32 --arch sm_89 --arg A=randint(0,119):u8[16,32] --arg B=randint(128,247):u8[8,32] --arg C=unwritten:f32[16,8]
// tilescope: --arg scales=rand:f32[2]
// tolerance: 1e-6
extern "C" __global__ void mma_e4m3(const unsigned char* A, const unsigned char* B, float* C, const float* scales) {
    int g = threadIdx.x / 4, q = threadIdx.x % 4;
    const unsigned *a = (const unsigned*)A, *b = (const unsigned*)B;
    float d[4] = {};
    unsigned a0 = a[g * 8 + q], a1 = a[(g + 8) * 8 + q], a2 = a[g * 8 + q + 4], a3 = a[(g + 8) * 8 + q + 4];
    unsigned b0 = b[g * 8 + q], b1 = b[g * 8 + q + 4];
    asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    float s = scales[0] * scales[1];  // bug: float s = scales[0] * scales[2]; // found: out-of-bounds
    C[g * 8 + q * 2] = d[0] * s, C[g * 8 + q * 2 + 1] = d[1] * s;
    C[(g + 8) * 8 + q * 2] = d[2] * s, C[(g + 8) * 8 + q * 2 + 1] = d[3] * s;
}
