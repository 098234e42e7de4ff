// Transpose by tiles of 32 x 32 with a padded column, for a matrix whose sides are no multiples of 32.
// tilescope: --grid 3,2 --block 32,8 --arg in=randn:f32[50,70] --arg out=unwritten:f32[70,50] --arg rows=50 --arg cols=70
#define TILE 32

extern "C" __global__ void transpose_padded(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 8)
        if (x < rows && y + j < cols)  // bug: if (x <= rows && y + j < cols)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];  // found: uninitialised
}
