// C++ of all kinds beside one kernel: attributes, variadic templates, try blocks, macros that open namespaces.
// tilescope: --entry k --grid 1 --block 32 --arg x=randn:f32[32] --arg y=zeros:f32[32] --arg n=32
#pragma once
#include <cstdio>
#include <iostream>
#include <map>
#include <string>
#ifdef __CUDACC__
#define CUDA_CALLABLE __host__ __device__
#else
#define CUDA_CALLABLE
#endif
#define KERNEL extern "C" __global__ void
#define LAUNCH_CHECK(call)                         \
  do {                                             \
    call;                                          \
    if (cudaGetLastError() != cudaSuccess) {       \
      std::cerr << "bad { \n";                     \
    }                                              \
  } while (0)
#define NS_BEGIN namespace impl {
#define NS_END }
NS_BEGIN
enum class Op : int { kAdd, kMul };
template <typename T, typename... Rest> struct First { using type = T; };
template <typename... Ts> __device__ float addAll(Ts... v) { return (0.f + ... + float(v)); }
struct [[nodiscard]] Vec {
  float x = 0, y = 0;
  CUDA_CALLABLE Vec() = default;
  CUDA_CALLABLE explicit Vec(float v) : x{v}, y(v) {}
  template <typename U> CUDA_CALLABLE Vec operator+(const U& o) const { Vec r; r.x = x + o.x; r.y = y + o.y; return r; }
  std::string str() const { return "(" + std::to_string(x) + ")"; }
  static void print(const Vec& v);
  static __device__ float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y; }
  union { int tag; float raw; };
  friend bool operator<(const Vec& a, const Vec& b) { return a.x < b.x; }
  operator std::string() const { return str(); }
  ~Vec() { }
};
void Vec::print(const Vec& v) { std::cout << v.str(); }
std::map<std::string, Vec> registry = {{"a", Vec(1)}, {"b", Vec(2)}};
NS_END
using impl::Vec;
typedef float (*unary_t)(float);
__device__ float half_(float v) { return v / 2; }
__device__ unary_t table[] = {half_};
__device__ __constant__ const int kTable[2][2] = {{1, 2}, {3, 4}};
template <impl::Op OP> __device__ __forceinline__ float apply(float a, float b) {
  if constexpr (OP == impl::Op::kAdd) { return a + b; } else { return a * b; }
}
template <typename T> __global__ void unused_template(T* p);
template <> __global__ void unused_template<int>(int* p) { *p = 1; }
KERNEL k(const float* x, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) {
    Vec v(x[i]);
    Vec w = v + Vec(1.f);
    y[i] = apply<impl::Op::kAdd>(Vec::dot(v, w), impl::addAll(1, 2.f)) + kTable[1][0] + half_(2.f);
  }
}
struct Config { int a; const char* name; } static const configs[] = {{1, "a"}, {2, "b"}};
constexpr unsigned long long operator""_KB(unsigned long long v) { return v * 1024; }
static inline __host__ float hostOnly(float v) { return v; }
auto lambda = [](int v) -> int { return v + 1; };
int (*fp)(int) = nullptr;
[[maybe_unused]] static void go(int n) try {
  LAUNCH_CHECK((k<<<1, 32>>>(nullptr, nullptr, n)));
} catch (const std::exception& e) { std::cerr << e.what(); }
extern template class std::vector<int>;
template <class F> void parallel(int n, F f) { for (int i = 0; i < n; i++) f(i); }
int main() try { go(3); parallel(3, [=](int i) { printf("%d %s\n", i, R"(})"); }); return 0; } catch (...) { return 1; }
asm(".section note");
