// A struct by value with pointers in it, as CuTe's tensors are passed.
struct View {
    float* data;
    const int* index;  // null: every element
    int n;
};

extern "C" __global__ void scale(View v, const float* w, float* same) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= v.n) return;
    int j = v.index ? v.index[i] : i;
    v.data[j] *= w[0];
    if (same != nullptr && i == 0) same[0] += 1.0f;
}
