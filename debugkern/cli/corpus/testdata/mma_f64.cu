// Gram matrix of double precision by mma.sync m8n8k4: G = A transpose(A).
// tilescope: --grid 1 --block 32 --arg A=randn:f64[8,20] --arg G=unwritten:f64[8,8] --arg n=20
// tolerance: 1e-14
extern "C" __global__ void mma_f64(const double* A, double* G, int n) {
    int g = threadIdx.x >> 2, q = threadIdx.x & 3;
    double c0 = 0, c1 = 0;
    for (int k = 0; k < n; k += 4) {
        double a = A[g * n + k + q];  // bug: double a = A[g * n + k + q + 1]; // found: out-of-bounds
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};" : "+d"(c0), "+d"(c1) : "d"(a));
    }
    G[g * 8 + q * 2] = c0;
    G[g * 8 + q * 2 + 1] = c1;
}
