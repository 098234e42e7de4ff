// 8-bit floats, vector types, alignment, a union, and a host class template with inheritance.
// tilescope: --grid 1 --block 32 --arg x=randn:f32[128] --arg y=zeros:u32[32]
#include <cuda_fp8.h>
#include <memory>
#include <vector>
struct __align__(16) Quad { float v[4]; };
union Packed { __nv_fp8_storage_t b[4]; unsigned int word; };
class Base { public: virtual ~Base() = default; virtual void run() = 0; };
template <class T> class Job : public Base { std::vector<T> data; public: void run() override; };

__global__ void pack(const Quad *x, unsigned int *y) {
    Quad q = x[threadIdx.x];
    Packed p;
    for (int i = 0; i < 4; i++) p.b[i] = __nv_cvt_float_to_fp8(q.v[i], __NV_SATFINITE, __NV_E4M3);
    y[threadIdx.x] = p.word;
}

template <class T> void Job<T>::run() { pack<<<1, 32>>>(nullptr, nullptr); }
template class Job<float>;
int main() { std::unique_ptr<Base> j = std::make_unique<Job<float>>(); j->run(); }
