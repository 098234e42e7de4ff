// Rows of a table by index, with a position added; an index of -1 is padding.
// tilescope: --grid 9 --block 32 --arg table=randn:f16[30,48] --arg index=randint(-1,2):i64[9] --arg position=randn:f16[9,48] --arg out=unwritten:f16[9,48]
// tilescope: --arg dim=48
#include <cuda_fp16.h>

extern "C" __global__ void embedding_gather(const half* table, const long long* index, const half* position, half* out, int dim) {
    long long row = index[blockIdx.x];
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        half v = row >= 0 ? table[row * dim + d] : __float2half(0.f);  // bug: half v = table[row * dim + d]; // found: out-of-bounds
        out[blockIdx.x * dim + d] = __hadd(v, position[blockIdx.x * dim + d]);
    }
}
