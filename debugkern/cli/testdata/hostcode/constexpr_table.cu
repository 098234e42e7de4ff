// Tables and functions that are constexpr, used in sizes and in values.
// tilescope: --grid 2 --block 64 --arg x=randn:f32[128] --arg y=zeros:f32[128]
#include <array>
#include <algorithm>
#include <cstddef>

constexpr int ceilDiv(int a, int b) { return (a + b - 1) / b; }
constexpr int kThreads = 64;
constexpr int kWarps = ceilDiv(kThreads, 32);
constexpr float kTaps[3] = {0.25f, 0.5f, 0.25f};
__constant__ float taps[3] = {kTaps[0], kTaps[1], kTaps[2]};
static_assert(kWarps == 2, "two warps");
const std::size_t kHalo = 1;
std::array<float, 3> hostTaps() { return {kTaps[0], kTaps[1], kTaps[2]}; }

__global__ void smooth(const float *x, float *y) {
    __shared__ float s[kThreads + 2 * kHalo];
    int t = threadIdx.x, i = blockIdx.x * kThreads + t;
    s[t + kHalo] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0.f;
    if (t == kThreads - 1) s[kThreads + 1] = i + 1 < 2 * kThreads ? x[i + 1] : 0.f;
    __syncthreads();
    y[i] = taps[0] * s[t] + taps[1] * s[t + 1] + taps[2] * s[t + 2];
}

int main() { smooth<<<2, kThreads>>>(nullptr, nullptr); return (int)std::max(hostTaps()[0], 1.f); }
