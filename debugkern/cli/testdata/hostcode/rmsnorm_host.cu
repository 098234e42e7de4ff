// A norm whose row sum is read before every warp has written it.
// tilescope: --grid 2 --block 64 --arg x=randn:f32[2,64] --arg w=ones:f32[64] --arg y=zeros:f32[2,64] --arg n=64 --arg eps=0.00001
#include <limits>
#include <cstdint>
#include <unordered_map>
template <typename T> struct Vec4 { T x, y, z, w; };
enum class Mode : uint8_t { plain, fused };
inline const char *name(Mode m) { return m == Mode::plain ? "plain" : "fused"; }

__global__ void rmsnorm(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int n, float eps) {
    __shared__ float parts[2];
    const int t = threadIdx.x;
    float v = x[blockIdx.x * n + t], s = v * v;
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
    if (t % 32 == 0) parts[t / 32] = s;  // RACE
    s = parts[0] + parts[1];  // RACE
    y[blockIdx.x * n + t] = v * rsqrtf(s / n + eps) * w[t] + 0 * std::numeric_limits<float>::min();
}

std::unordered_map<int, Mode> modes;
void run(Mode m) { modes[0] = m; rmsnorm<<<2, 64>>>(nullptr, nullptr, nullptr, 64, 1e-5f); (void)name(m); }
