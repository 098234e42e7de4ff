import os, torch
from torch.utils.cpp_extension import load_inline

cuda = r"""
#include <torch/extension.h>
__global__ void scale_rows(const float *x, const float *w, float *out, int n, float eps) {
    __shared__ float part[128];
    const float *row = x + (size_t)blockIdx.x * n;
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i] * row[i];
    part[threadIdx.x] = sum;
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        __syncthreads();
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    }
    __syncthreads();
    float r = rsqrtf(part[0] / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[(size_t)blockIdx.x * n + i] = row[i] * r * w[i];
}
torch::Tensor rms(torch::Tensor x, torch::Tensor w) {
    auto out = torch::empty_like(x);
    scale_rows<<<x.size(0), 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), out.data_ptr<float>(), x.size(1), 1e-5f);
    return out;
}
"""
m = load_inline("rms_ext", "torch::Tensor rms(torch::Tensor x, torch::Tensor w);", cuda, functions=["rms"])
torch.manual_seed(0)
x, w = torch.randn(16, 300, device="cuda"), torch.randn(300, device="cuda")
y = m.rms(x, w)
print("ext", (y - x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-5) * w).abs().max().item())
