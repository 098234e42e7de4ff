// Kernels in namespaces, nested and unnamed; the host's part uses them all.
// tilescope: --entry scale --grid 1 --block 64 --arg x=iota:f32[64] --arg factor=2
#include <string>
#include <map>

namespace lab {
namespace detail {
constexpr float kBias = 0.5f;
struct Registry { std::map<std::string, int> names; void add(const std::string &s) { names[s]++; } };
__device__ inline float bias(float v) { return v + kBias; }
}  // namespace detail

namespace {
__global__ void scale(float *x, float factor) {
    x[threadIdx.x] = detail::bias(x[threadIdx.x]) * factor;
}
}  // namespace

__global__ void negate(float *x) { x[threadIdx.x] = -x[threadIdx.x]; }

void run(float *x, detail::Registry &r) {
    r.add("scale");
    scale<<<1, 64>>>(x, 2.f);
    negate<<<1, 64>>>(x);
}
}  // namespace lab

int main() { lab::detail::Registry r; float *x = nullptr; lab::run(x, r); }
