#pragma once
// What nvcc has read before a source begins, through its cuda_runtime.h, as far as there are stand-ins for it: a source that
// nvcc takes should not need an include more here. Not <stdint.h>: nvcc does not bring uint32_t either, and sources written
// for NVRTC define such types themselves.
#include <assert.h>
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <cstring>

// NVRTC declares these and does not define them; nvcc has them in a header of its own.
#if __CUDA_ARCH__ >= 610
#define TS_DOT(NAME, OP, T, A, B, S)                                                                                  \
    __device__ __forceinline__ T NAME(A a, B b, T c) {                                                                \
        T d;                                                                                                          \
        asm(OP "." S "." S " %0, %1, %2, %3;" : "=r"(d) : "r"(*(const int*)&a), "r"(*(const int*)&b), "r"(c));        \
        return d;                                                                                                     \
    }
#define TS_DOTS(NAME, OP, SA, UA)                                                                                     \
    TS_DOT(NAME, OP, int, int, int, "s32")                                                                            \
    TS_DOT(NAME, OP, unsigned, unsigned, unsigned, "u32")                                                             \
    TS_DOT(NAME, OP, int, SA, char4, "s32")                                                                           \
    TS_DOT(NAME, OP, unsigned, UA, uchar4, "u32")
TS_DOTS(__dp4a, "dp4a", char4, uchar4)
TS_DOTS(__dp2a_lo, "dp2a.lo", short2, ushort2)
TS_DOTS(__dp2a_hi, "dp2a.hi", short2, ushort2)
#undef TS_DOTS
#undef TS_DOT
#endif
