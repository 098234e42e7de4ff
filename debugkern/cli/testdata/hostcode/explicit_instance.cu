// Explicit instantiations of a kernel and of its launcher.
// tilescope: --entry axpy --grid 1 --block 64 --arg a=2 --arg x=randn:f64[64] --arg y=ones:f64[64] --arg n=64
#include <complex>
#include <cstdio>
template <typename T> __global__ void axpy(T a, const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
template <typename T> void axpy_launch(T a, const T *x, T *y, int n) { axpy<T><<<1, 64>>>(a, x, y, n); }
template void axpy_launch<double>(double, const double *, double *, int);
template __global__ void axpy<double>(double, const double *, double *, int);
std::complex<double> unused_host(std::complex<double> z) { return z * z; }
