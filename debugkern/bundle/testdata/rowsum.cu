// Sums of rows, scaled, with a bias: the kernel of rowsum.tsl. One block a row of 64 elements, 64 threads, 256 bytes of dynamic shared
// memory. The view is a struct with a pointer in it, and the bias lies in the same memory as the rows.
struct View {
    const float* data;
    int rows, stride;
};

extern __shared__ float part[];

extern "C" __global__ void rowsum(View x, const float* bias, float* out, float scale) {
    int t = threadIdx.x, row = blockIdx.x;
    part[t] = row < x.rows ? x.data[row * x.stride + t] : 0.0f;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[row] = part[0] * scale + bias[row];
}
