#pragma once
#include <vector>
namespace lib {
template <int N> struct Tile { float v[N]; __device__ float sum() const { float s = 0; for (int i = 0; i < N; i++) s += v[i]; return s; } };
template <int N> __global__ void sum(const Tile<N>* t, float* out) { out[threadIdx.x] = t[threadIdx.x].sum(); }
inline std::vector<float> run(int n) { std::vector<float> r(n); sum<4><<<1, n>>>(nullptr, r.data()); return r; }
}
