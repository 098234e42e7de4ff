// Macros that make kernels.
// tilescope: --entry vec_mul --grid 1 --block 32 --arg 0=randn:f32[32] --arg 1=randn:f32[32] --arg 2=zeros:f32[32] --arg 3=32
#include <cstdlib>
#include <chrono>
#define DEFINE_VEC(name, op)                                                         \
    __global__ void vec_##name(const float *a, const float *b, float *c, int n) {   \
        int i = threadIdx.x; /* one block */                                         \
        if (i < n) c[i] = a[i] op b[i];                                              \
    }
DEFINE_VEC(add, +)
DEFINE_VEC(mul, *)

#define LAUNCH(name, ...) vec_##name<<<1, 32>>>(__VA_ARGS__)

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int main() {
    float *a = 0, *b = 0, *c = 0;
    double t = now();
    LAUNCH(add, a, b, c, 32);
    LAUNCH(mul, a, b, c, 32);
    return now() - t > 1;
}
