// Seven-point stencil on a grid of three dimensions: a plane in shared memory with its rim, the column along z in registers.
// tilescope: --grid 2,2 --block 8,8 --arg in=randn:f32[6,14,13] --arg out=zeros:f32[6,14,13] --arg nx=13 --arg ny=14 --arg nz=6
// tolerance: 1e-6
extern "C" __global__ void stencil_7point(const float* in, float* out, int nx, int ny, int nz) {
    __shared__ float plane[10][10];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    bool in_grid = x < nx && y < ny;
    auto at = [&](int z, int yy, int xx) { return in[(z * ny + yy) * nx + xx]; };  // found: out-of-bounds
    float below = 0.f, here = in_grid ? at(0, y, x) : 0.f, above = in_grid ? at(1, y, x) : 0.f;
    for (int z = 1; z < nz - 1; z++) {
        below = here, here = above;
        above = in_grid ? at(z + 1, y, x) : 0.f;  // bug: above = in_grid ? at(z + 2, y, x) : 0.f;
        plane[ty][tx] = here;
        if (in_grid) {
            if (tx == 1 && x > 0) plane[ty][0] = at(z, y, x - 1);
            if (tx == 8 && x + 1 < nx) plane[ty][9] = at(z, y, x + 1);
            if (ty == 1 && y > 0) plane[0][tx] = at(z, y - 1, x);
            if (ty == 8 && y + 1 < ny) plane[9][tx] = at(z, y + 1, x);
        }
        __syncthreads();
        if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1)
            out[(z * ny + y) * nx + x] = below + above + plane[ty - 1][tx] + plane[ty + 1][tx] + plane[ty][tx - 1] + plane[ty][tx + 1] - 6.f * here;
        __syncthreads();
    }
}
