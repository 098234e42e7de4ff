// Transpose of 16-bit elements by tiles of 32 x 32; columns are exchanged by the row's number instead of padding.
// tilescope: --grid 2,2 --block 256 --arg in=randint(0,60000):u16[64,64] --arg out=unwritten:u16[64,64] --arg n=64
extern "C" __global__ void transpose_swizzle(const unsigned short* __restrict__ in, unsigned short* __restrict__ out, int n) {
    __shared__ unsigned short tile[32 * 32];
    int lane = threadIdx.x % 32;
    for (int r = threadIdx.x / 32; r < 32; r += 8)
        tile[r * 32 + (lane ^ r)] = in[(blockIdx.y * 32 + r) * n + blockIdx.x * 32 + lane];
    __syncthreads();  // bug: __syncwarp();
    for (int r = threadIdx.x / 32; r < 32; r += 8)
        out[(blockIdx.x * 32 + r) * n + blockIdx.y * 32 + lane] = tile[lane * 32 + (r ^ lane)];  // found: race
}
