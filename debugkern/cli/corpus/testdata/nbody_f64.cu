// Gravity between bodies in double precision, the others' positions in tiles of shared memory.
// tilescope: --grid 2 --block 32 --arg body=randn:f64[50,4] --arg force=unwritten:f64[50,3] --arg n=50
// tolerance: 1e-12
struct __align__(16) Body {
    double x, y, z, mass;
};

extern "C" __global__ void nbody_f64(const Body* body, double* force, int n) {
    __shared__ Body tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    Body me = i < n ? body[i] : Body{0, 0, 0, 0};
    double fx = 0, fy = 0, fz = 0;
    for (int j0 = 0; j0 < n; j0 += 32) {
        if (j0 + threadIdx.x < n) tile[threadIdx.x] = body[j0 + threadIdx.x];
        __syncwarp();
        for (int j = 0; j < min(32, n - j0); j++) {
            double dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;  // found: race
            double r2 = dx * dx + dy * dy + dz * dz + 1e-3, r = rsqrt(r2), f = tile[j].mass * r * r * r;
            fx += f * dx, fy += f * dy, fz += f * dz;
        }
        __syncwarp();  // bug:
    }
    if (i < n) force[3 * i] = fx, force[3 * i + 1] = fy, force[3 * i + 2] = fz;
}
