// tilescope: --grid 1 --block 32 --arg 0=zeros:f32[32]
// expect-error: bad_accessor.cu:4: <torch/extension.h> of PyTorch is not available: take it out of the kernel, or compile with nvcc
// expect-error: bad_accessor.cu:5
#include <torch/extension.h>
__global__ void add(at::cuda::detail::TensorInfo<float, int> x) { x.data[threadIdx.x] += 1; }
void go(torch::Tensor x) { add<<<1, 32>>>(at::cuda::detail::getTensorInfo<float, int>(x)); }
