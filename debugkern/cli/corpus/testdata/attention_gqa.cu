// Causal attention with grouped query heads: six query heads share two heads of K and V; a warp for a query, bf16 in and out.
// tilescope: --grid 4,6 --block 32,5 --arg Q=randn:bf16[20,6,32] --arg K=randn:bf16[20,2,32] --arg V=randn:bf16[20,2,32]
// tilescope: --arg O=unwritten:bf16[20,6,32] --arg S=20 --arg heads=6 --arg kv_heads=2
// tolerance: 6e-3
#include <cuda_bf16.h>

extern "C" __global__ void attention_gqa(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, int S, int heads, int kv_heads) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y, head = blockIdx.y;
    if (row >= S) return;
    int kv = head / (heads / kv_heads);  // bug: int kv = head / kv_heads;
    float q = __bfloat162float(Q[(row * heads + head) * 32 + lane]) * 0.17677669f;
    float m = -INFINITY, l = 0.f, u = 0.f;
    for (int key = 0; key <= row; key++) {
        float s = q * __bfloat162float(K[(key * kv_heads + kv) * 32 + lane]);  // found: out-of-bounds
        for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
        float top = fmaxf(m, s), alpha = __expf(m - top), p = __expf(s - top);
        l = l * alpha + p;
        u = u * alpha + p * __bfloat162float(V[(key * kv_heads + kv) * 32 + lane]);
        m = top;
    }
    O[(row * heads + head) * 32 + lane] = __float2bfloat16(u / l);
}
