// Convolution of an image with a 5 x 5 filter in constant memory; the tile in shared memory has a rim of two.
// tilescope: --grid 2,2 --block 16,16 --arg image=rand:f32[20,27] --arg out=unwritten:f32[20,27] --arg h=20 --arg w=27
// tolerance: 1e-5
__constant__ float filter[5][5] = {{1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};

extern "C" __global__ void conv_2d(const float* image, float* out, int h, int w) {
    __shared__ float tile[20][20];
    int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 16 - 2;
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 400; i += 256) {  // bug: for (int i = threadIdx.y * 16 + threadIdx.x; i < 380; i += 256) {
        int y = y0 + i / 20, x = x0 + i % 20;
        tile[i / 20][i % 20] = y >= 0 && y < h && x >= 0 && x < w ? image[y * w + x] : 0.f;
    }
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0.f;
#pragma unroll
    for (int j = 0; j < 5; j++)
#pragma unroll
        for (int i = 0; i < 5; i++) sum += filter[j][i] * tile[threadIdx.y + j][threadIdx.x + i];  // found: uninitialised
    out[y * w + x] = sum / 256.f;
}
