// Fourier transform of 64 complex numbers in shared memory, radix 2, bit-reversed input.
// tilescope: --grid 3 --block 32 --arg data=randn:f32[3,64,2]
// tolerance: 1e-5
extern "C" __global__ void fft_shared(float2* data) {
    __shared__ float2 s[64];
    int t = threadIdx.x;
    float2* own = data + blockIdx.x * 64;
    for (int i = t; i < 64; i += 32) s[__brev(i) >> 26] = own[i];
    for (int half = 1; half < 64; half *= 2) {
        __syncthreads();  // bug: if (half > 1) __syncthreads();
        int k = t & (half - 1), a = 2 * t - k, b = a + half;
        float sine, cosine;
        sincospif(-(float)k / half, &sine, &cosine);
        float2 u = s[a], v = s[b];  // found: race
        float2 w = make_float2(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
        s[a] = make_float2(u.x + w.x, u.y + w.y);
        s[b] = make_float2(u.x - w.x, u.y - w.y);
    }
    __syncthreads();
    for (int i = t; i < 64; i += 32) own[i] = s[i];
}
