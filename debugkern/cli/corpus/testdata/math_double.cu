// Functions of the mathematics library in double precision, one row of results for each.
// tilescope: --grid 1 --block 32 --arg x=rand:f64[32] --arg y=unwritten:f64[14,32]
// tolerance: 1e-15
extern "C" __global__ void math_double(const double* x, double* y) {
    int t = threadIdx.x;
    double v = x[t] + 0.5;
    double r[14] = {exp(v), log(v), log1p(v), sin(10 * v), cos(1e6 * v), tan(v), pow(v, 2.5), atan2(v, -2.0), hypot(v, 3.0), erf(v), cbrt(v), tanh(v), rsqrt(v), asin(v / 2)};
    for (int i = 0; i < 14; i++) y[i * 32 + t] = r[i];  // bug: for (int i = 0; i <= 14; i++) y[i * 32 + t] = r[i % 14]; // found: out-of-bounds
}
