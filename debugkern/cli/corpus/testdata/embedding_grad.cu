// Gradient of an embedding: rows of the gradient are added to the rows that they came from, two halves at a time.
// tilescope: --grid 6 --block 16 --arg grad=randint(-4,4):i8[6,32] --arg index=randint(0,2):i32[6] --arg table=zeros:f16[3,32]
#include <cuda_fp16.h>

extern "C" __global__ void embedding_grad(const signed char* grad, const int* index, __half2* table) {
    int t = threadIdx.x, b = blockIdx.x;
    char2 g = reinterpret_cast<const char2*>(grad)[b * 16 + t];
    __half2 v = __floats2half2_rn(g.x, g.y);
    atomicAdd(&table[index[b] * 16 + t], v);  // bug: table[index[b] * 16 + t] = __hadd2(table[index[b] * 16 + t], v); // found: race
}
