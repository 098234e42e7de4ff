// Integers of 128 bits: products of a residue number, carries by the compiler and by hand, and bytes four at a time.
// tilescope: --grid 1 --block 32 --arg a=randint(1,9223372036854775806):i64[32] --arg b=randint(1,9223372036854775806):i64[32]
// tilescope: --arg y=unwritten:u64[4,32] --arg m=1000000007
extern "C" __global__ void integer_wide(const unsigned long long* a, const unsigned long long* b, unsigned long long* y, unsigned long long m) {
    int t = threadIdx.x;
    unsigned __int128 p = (unsigned __int128)a[t] * b[t] + m;
    unsigned lo = (unsigned)a[t], hi;
    asm("add.cc.u32 %0, %0, %2;\n\taddc.u32 %1, %3, 5;" : "+r"(lo), "=r"(hi) : "r"((unsigned)b[t]), "r"((unsigned)(a[t] >> 32)));
    y[t] = (unsigned long long)(p >> 64);
    y[32 + t] = (unsigned long long)(p % m);
    y[64 + t] = (unsigned long long)hi << 32 | lo;
    y[96 + t] = __vsadu4((unsigned)a[t], (unsigned)b[t]);  // bug: y[128 + t] = __vsadu4((unsigned)a[t], (unsigned)b[t]); // found: out-of-bounds
}
