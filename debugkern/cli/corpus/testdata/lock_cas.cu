// A lock taken by compare and swap around a list of results, and an atomic maximum of doubles by compare and swap.
// tilescope: --grid 5 --block 32 --arg x=randn:f64[160] --arg lock=zeros:u32[1] --arg slots=unwritten:f64[5] --arg used=zeros:i32[1] --arg top=zeros:f64[1]
__device__ void atomic_max(double* p, double v) {
    unsigned long long *bits = (unsigned long long*)p, old = *(volatile unsigned long long*)bits;
    while (v > __longlong_as_double(old)) {
        unsigned long long seen = atomicCAS(bits, old, __double_as_longlong(v));
        if (seen == old) break;
        old = seen;
    }
}

extern "C" __global__ void lock_cas(const double* x, unsigned* lock, double* slots, int* used, double* top) {
    double v = x[blockIdx.x * 32 + threadIdx.x];
    atomic_max(top, v);
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(32);  // bug:
        __threadfence();
        int n = *used;  // found: race
        slots[n] = v;
        *used = n + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
