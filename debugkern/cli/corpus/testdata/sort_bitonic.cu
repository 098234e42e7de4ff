// Bitonic sort of a block's keys in shared memory.
// tilescope: --grid 2 --block 128 --arg keys=randn:f32[512]
extern "C" __global__ void sort_bitonic(float* keys) {
    __shared__ float s[256];
    int t = threadIdx.x;
    float* own = keys + blockIdx.x * 256;
    s[t] = own[t];
    s[t + 128] = own[t + 128];
    for (int size = 2; size <= 256; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            __syncthreads();  // bug: if (d > 16) __syncthreads();
            int a = 2 * t - (t & (d - 1)), b = a + d;
            float x = s[a], y = s[b];  // found: race
            bool up = (a & size) == 0;
            if ((x > y) == up) {
                s[a] = y;
                s[b] = x;
            }
        }
    __syncthreads();
    own[t] = s[t];
    own[t + 128] = s[t + 128];
}
