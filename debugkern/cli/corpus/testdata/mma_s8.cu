// C = A transpose(B) of 8-bit integers by mma.sync m16n8k32.
// tilescope: --grid 2 --block 64 --arg A=randint(-128,127):i8[32,64] --arg B=randint(-128,127):i8[16,64] --arg C=unwritten:i32[32,16] --arg K=64
extern "C" __global__ void mma_s8(const signed char* A, const signed char* B, int* C, int K) {
    __shared__ __align__(16) signed char s[16 * 64];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, g = lane / 4, q = lane % 4;
    ((int4*)s)[t] = ((const int4*)(A + blockIdx.x * 16 * 64))[t];
    __syncthreads();  // bug: __syncwarp();
    int d[4] = {};
    for (int k = 0; k < K; k += 32) {
        int a0 = *(int*)&s[g * 64 + k + q * 4], a1 = *(int*)&s[(g + 8) * 64 + k + q * 4];  // found: race
        int a2 = *(int*)&s[g * 64 + k + q * 4 + 16], a3 = *(int*)&s[(g + 8) * 64 + k + q * 4 + 16];
        int b0 = *(const int*)&B[(warp * 8 + g) * K + k + q * 4], b1 = *(const int*)&B[(warp * 8 + g) * K + k + q * 4 + 16];
        asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    int* c = C + (blockIdx.x * 16 + g) * 16 + warp * 8 + q * 2;
    c[0] = d[0], c[1] = d[1], c[8 * 16] = d[2], c[8 * 16 + 1] = d[3];
}
