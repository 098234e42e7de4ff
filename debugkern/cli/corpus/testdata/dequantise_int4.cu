// Packed 4-bit weights to half precision by the exponent trick: lop3 puts nibbles into the mantissa of 1024, one subtraction takes it away.
// tilescope: --grid 2 --block 32 --arg packed=randint(0,4294967295):u32[64] --arg scale=rand:f16[8] --arg w=unwritten:f16[64,8]
// tolerance: 1e-3
#include <cuda_fp16.h>

extern "C" __global__ void dequantise_int4(const unsigned* packed, const half* scale, __half2* w) {
    int i = blockIdx.x * 32 + threadIdx.x;
    unsigned p = packed[i];
    __half2 s = __half2half2(scale[i / 8]);
    const __half2 bias = __float2half2_rn(1032.f);
    for (int k = 0; k < 4; k++, p >>= 4) {
        unsigned h;
        asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(h) : "r"(p), "r"(0x000f000f), "r"(0x64006400));  // (p & mask) | exponent
        w[i * 4 + k] = __hmul2(__hsub2(*reinterpret_cast<__half2*>(&h), bias), s);  // bug: w[i * 5 + k] = __hmul2(__hsub2(*reinterpret_cast<__half2*>(&h), bias), s); // found: out-of-bounds
    }
}
