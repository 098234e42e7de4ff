// 8-bit matrix times vector by dp4a, a warp for a row, 16 bytes a load.
// tilescope: --grid 5 --block 32 --arg A=randint(-128,127):i8[5,1024] --arg x=randint(-128,127):i8[1024] --arg y=unwritten:i32[5] --arg cols=1024
extern "C" __global__ void gemv_dp4a(const int4* A, const int4* x, int* y, int cols) {
    int sum = 0;
    for (int c = threadIdx.x; c < cols / 16; c += 32) {
        int4 a = A[blockIdx.x * cols / 16 + c], b = x[c];  // bug: int4 a = A[blockIdx.x * cols / 16 + c], b = x[c + 1]; // found: out-of-bounds
        sum = __dp4a(a.x, b.x, sum);
        sum = __dp4a(a.y, b.y, sum);
        sum = __dp4a(a.z, b.z, sum);
        sum = __dp4a(a.w, b.w, sum);
    }
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
