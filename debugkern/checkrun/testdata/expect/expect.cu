// Kernels whose outputs are stated by check --expect, each with faults: FAULT chooses one, 0 is right.
// The line at which a fault must be found ends with "found:" and its number.

#ifndef FAULT
#define FAULT 0
#endif

// tree: out[b] is the sum of 256 numbers, a tree in shared memory. 4 blocks of 256.
extern "C" __global__ void tree(const float* x, float* out, int n) {
    __shared__ float part[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
#if FAULT == 1  // the bound is one short
    part[t] = i < n && t < 255 ? x[i] : 0.0f;  // found: 1
#elif FAULT == 2  // one element twice
    part[t] = x[i];
    if (t == 7) part[t] += x[i - 2];  // found: 2
#else
    part[t] = i < n ? x[i] : 0.0f;
#endif
    for (int step = FAULT == 3 ? 64 : 128; step > 0; step >>= 1) {  // 3: half the threads are lost
        __syncthreads();
        if (t < step) part[t] += part[t + step];  // found: 3
    }
    if (t == 0 && (FAULT != 4 || blockIdx.x != 2)) out[blockIdx.x] = part[0];  // 4: one is not written
}

// rows: out[r] is the sum of row r of 8 × 64, a warp for a row. 2 blocks of 128.
__device__ float across(float v) {
    for (int d = FAULT == 1 ? 8 : 16; d > 0; d >>= 1)  // 1: half the lanes are lost
        v += __shfl_xor_sync(~0u, v, d);               // found: 1
    return v;
}

extern "C" __global__ void rows(const float* x, float* out, int cols) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
#if FAULT == 2  // the wrong stride
    const float* p = x + row * (cols - 1);
#elif FAULT == 3  // the neighbour's row
    const float* p = x + (row + 1) % 8 * cols;
#else
    const float* p = x + row * cols;
#endif
    float sum = 0;
    for (int c = lane; c < cols - (FAULT == 4) * 32 + (FAULT == 5 && row < 7); c += 32)  // 4, 5: short, long
        sum += p[c];                                                                     // found: 2 3 4 5
    sum = across(sum);
    if (lane == 0) out[row] = sum;
}

// quads: out[i] is the sum of 8 numbers, read four at a time. 2 blocks of 32.
extern "C" __global__ void quads(const float4* x, float* out) {
    const int i = blockIdx.x * 32 + threadIdx.x;
    const float4 a = x[2 * i], b = x[2 * i + 1];
    out[i] = a.x + a.y + a.z + a.w + b.x + (FAULT == 1 ? b.x : b.y) + b.z + b.w;  // found: 1
}

// turn: out[c][r] is in[r][c] of 64 × 64, by tiles of 32 × 32 in shared memory. 2 × 2 blocks of 32 × 8.
extern "C" __global__ void turn(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    const int x = blockIdx.x * 32, y = blockIdx.y * 32, t = threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8)
        tile[r][t] = in[(y + r + (FAULT == 2)) % 64 * n + x + t];  // found: 2
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8)
        out[(x + r) * n + y + t] = FAULT == 1 ? tile[r][t] : tile[t][r];  // found: 1
}

// product: C = A B of 32 × 48 and 48 × 32 by tiles of 16 × 16. 2 × 2 blocks of 16 × 16.
extern "C" __global__ void product(const float* A, const float* B, float* C, int n, int k) {
    __shared__ float a[16][17], b[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0;
    for (int at = 0; at < k - (FAULT == 1) * 16; at += 16) {  // 1: the last tile is left out
        a[ty][tx] = A[row * k + at + tx];                     // found: 1
        b[ty][tx] = B[(at + ty) * n + col];
        __syncthreads();
        for (int i = FAULT == 3; i < 16; i++)                      // 3: the first of each tile is left out
            sum += a[ty][i] * (FAULT == 2 ? b[tx][i] : b[i][tx]);  // found: 2 3
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// total: sum[0] grows by all of x, an atomic for each warp. 4 blocks of 64.
extern "C" __global__ void total(const float* x, float* sum, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0 && (FAULT != 1 || blockIdx.x != 2)) atomicAdd(sum, v);  // 1: one is left out
    if (FAULT == 2 && i == 0) atomicAdd(sum, x[3]);                               // found: 2
}
