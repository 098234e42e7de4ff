// y = a x + b y on a view of a matrix that is passed by value: extents, strides and factors.
// tilescope: --grid 2 --block 8,4 --arg x=randn:f32[6,20] --arg y=randn:f32[6,20] --arg view={0:6:i32,4:9:i32,8:20:i64,16:2:i64,24:3.0:f32,28:-1.0:f32}
// tolerance: 1e-6
struct View {
    int rows, cols;
    long long row_stride, col_stride;
    float a, b;
};

extern "C" __global__ void struct_by_value(const float* x, float* y, View view) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = threadIdx.y; r < view.rows; r += blockDim.y) {
        if (c >= view.cols) continue;  // bug: if (c > view.cols + 1) continue;
        long long at = r * view.row_stride + c * view.col_stride;
        y[at] = view.a * x[at] + view.b * y[at];  // found: out-of-bounds
    }
}
