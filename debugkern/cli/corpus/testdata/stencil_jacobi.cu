// Ten Jacobi steps of the heat equation in one cooperative launch, two buffers in global memory.
// tilescope: --grid 3,2 --block 8,8 --cooperative --arg u=randn:f32[16,24] --arg v=zeros:f32[16,24] --arg ny=16 --arg nx=24 --arg steps=10
// tolerance: 1e-5
#include <cooperative_groups.h>

extern "C" __global__ void stencil_jacobi(float* u, float* v, int ny, int nx, int steps) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, i = y * nx + x;
    bool rim = x == 0 || y == 0 || x == nx - 1 || y == ny - 1;
    for (int s = 0; s < steps; s++) {
        v[i] = rim ? u[i] : 0.25f * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx]);  // found: race
        grid.sync();  // bug: __syncthreads();
        float* other = u;
        u = v, v = other;
    }
}
