// Dropout with Philox 4x32-10: four numbers a thread from a counter and a key, and the mask packed into bytes.
// tilescope: --grid 2 --block 64 --arg x=randn:f32[500] --arg y=unwritten:f32[500] --arg mask=unwritten:u8[125] --arg n=500 --arg seed=1234 --arg p=0.25
// tolerance: 1e-6
__device__ uint4 philox(uint4 c, uint2 k) {
#pragma unroll 1
    for (int round = 0; round < 10; round++) {
        unsigned hi0 = __umulhi(0xD2511F53u, c.x), lo0 = 0xD2511F53u * c.x, hi1 = __umulhi(0xCD9E8D57u, c.z), lo1 = 0xCD9E8D57u * c.z;
        c = make_uint4(hi1 ^ c.y ^ k.x, lo1, hi0 ^ c.w ^ k.y, lo0);
        k.x += 0x9E3779B9u, k.y += 0xBB67AE85u;
    }
    return c;
}

extern "C" __global__ void dropout_philox(const float4* x, float4* y, unsigned char* mask, int n, unsigned long long seed, float p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;  // bug: if (i > n / 4) return;
    uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
    unsigned limit = (unsigned)(p * 4294967296.f);
    float scale = 1.f / (1.f - p);
    float4 v = x[i];  // found: out-of-bounds
    bool k0 = r.x >= limit, k1 = r.y >= limit, k2 = r.z >= limit, k3 = r.w >= limit;
    y[i] = make_float4(k0 ? v.x * scale : 0.f, k1 ? v.y * scale : 0.f, k2 ? v.z * scale : 0.f, k3 ? v.w * scale : 0.f);
    mask[i] = k0 | k1 << 1 | k2 << 2 | k3 << 3;
}
