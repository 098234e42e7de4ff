// Blocks as a pipeline: each waits for a flag of the one before it, adds its part and passes the vector on; the last leaves the result.
// tilescope: --grid 6 --block 32 --cooperative --arg x=randn:f32[6,32] --arg stage=zeros:f32[7,32] --arg flags=zeros:u32[7]
// tolerance: 1e-6
extern "C" __global__ void flags_pipeline(const float* x, float* stage, volatile unsigned* flags) {
    int b = blockIdx.x, t = threadIdx.x;
    if (b > 0) {
        while (flags[b] == 0) {}
        __threadfence();  // bug:
    }
    float v = stage[b * 32 + t] + x[b * 32 + t];  // found: race
    stage[(b + 1) * 32 + t] = v;
    __threadfence();
    __syncthreads();
    if (t == 0) flags[b + 1] = 1;
}
