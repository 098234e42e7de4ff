// hopper.cuh: instructions of sm_90a that CUDA C++ has no functions for: mbarriers, tensor copies (TMA), and matrix products of
// a warpgroup (wgmma), with the layout of their operands in shared memory. PTX ISA 8.0, sections 9.7.12 to 9.7.14.
#pragma once

#include <cuda_fp16.h>

// What cuTensorMapEncodeTiled makes. A kernel has its address only: the contents are the hardware's own.
struct __align__(64) TensorMap {
    unsigned char opaque[128];
};

namespace {

constexpr int WARPGROUP = 128;  // threads that execute one wgmma

__device__ __forceinline__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// mbarriers: a phase is over when all arrivals and all bytes that it expects have come.

__device__ __forceinline__ void mbarrier_init(unsigned long long* bar, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals) : "memory");
}

// Makes initialised mbarriers visible to asynchronous copies.
__device__ __forceinline__ void mbarrier_fence_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(unsigned long long* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

// Arrives, and has the phase expect bytes that copies bring.
__device__ __forceinline__ void mbarrier_expect(unsigned long long* bar, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}

// Waits until the phase of this parity is over: 0 for the first, then 1, 0, 1, ...
__device__ __forceinline__ void mbarrier_wait(unsigned long long* bar, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
        "@!over bra AGAIN;\n"
        "}" ::"r"(shared_address(bar)), "r"(parity) : "memory");
}

// Copies a box of a tensor of three dimensions to shared memory; its bytes, those outside the tensor too, complete on bar.
__device__ __forceinline__ void tensor_load(void* to, const TensorMap* map, unsigned long long* bar, int c0, int c1, int c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
        ::"r"(shared_address(to)), "l"(map), "r"(shared_address(bar)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

// Registers of a warp that has less, or more, to do than the launch gives every warp.
template <int REGISTERS> __device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS> __device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Named barriers, for threads of several warpgroups.
__device__ __forceinline__ void barrier_wait(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// A tile of halves in shared memory, as tensor copies put it there and wgmma reads it. Its columns are cut into panels of SPAN
// bytes, one behind the other, each of all ROWS. SPAN is the swizzle: within each 8 rows of a panel, the 16-byte chunks of row r
// are exchanged by r's lowest bits, so that eight rows of one column lie in different banks. 16 bytes: no swizzle.
template <int ROWS, int COLS, int SPAN>
struct Tile {
    static constexpr int BYTES = ROWS * COLS * 2;
    static constexpr int PANEL_COLS = SPAN / 2;
    static constexpr int PANELS = COLS / PANEL_COLS;
    static constexpr int PANEL_BYTES = ROWS * SPAN;

    __align__(1024) unsigned char bytes[BYTES];

    __device__ __forceinline__ unsigned char* panel(int i) { return bytes + i * PANEL_BYTES; }

    // Where element (row, col) is.
    __device__ __forceinline__ const half* at(int row, int col) const {
        unsigned offset = col / PANEL_COLS * PANEL_BYTES + row * SPAN + col % PANEL_COLS * 2;
        offset ^= (offset >> 7 & (SPAN / 16 - 1)) << 4;
        return reinterpret_cast<const half*>(bytes + offset);
    }

    // Descriptor of 64 rows from row on and 16 columns from col on, which are k: an operand that is K-major.
    __device__ __forceinline__ unsigned long long rows_by_k(int row, int col) const {
        const unsigned start = shared_address(bytes) + col / PANEL_COLS * PANEL_BYTES + row * SPAN + col % PANEL_COLS * 2;
        return descriptor(start, PANEL_BYTES, 8 * SPAN);
    }

    // Descriptor of 16 rows from row on, which are k, and all columns: an operand that is MN-major.
    __device__ __forceinline__ unsigned long long k_by_cols(int row) const {
        const unsigned start = shared_address(bytes) + row * SPAN;
        return SPAN == 16 ? descriptor(start, 8 * SPAN, PANEL_BYTES) : descriptor(start, PANEL_BYTES, 8 * SPAN);
    }

private:
    // Matrix descriptor: start, leading and stride byte offset in units of 16 bytes, and the swizzle.
    static __device__ __forceinline__ unsigned long long descriptor(unsigned start, unsigned leading, unsigned stride) {
        constexpr unsigned long long swizzle = SPAN == 128 ? 1 : SPAN == 64 ? 2 : SPAN == 32 ? 3 : 0;
        return (start & 0x3ffff) >> 4 | static_cast<unsigned long long>(leading >> 4) << 16 |
               static_cast<unsigned long long>(stride >> 4) << 32 | swizzle << 62;
    }
};

// wgmma: d (+)= A·B for 64 rows, 64 columns and 16 of k. Thread t of the warpgroup has, of d, rows 16·(t / 32) + t % 32 / 4 and 8
// further, and of each 8 columns 2·(t % 4) and the next: element e is of row half e / 2 % 2, column 8·(e / 4) + 2·(t % 4) + e % 2.

#define WGMMA_D                                                                                                               \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                                 \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define WGMMA_D8(d, i)                                                                                                        \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_D32(d) WGMMA_D8(d, 0), WGMMA_D8(d, 8), WGMMA_D8(d, 16), WGMMA_D8(d, 24)
#define WGMMA_A4(a, i) "+r"(a[i][0]), "+r"(a[i][1]), "+r"(a[i][2]), "+r"(a[i][3])

// Fence and wait name the registers: the compiler must not move what writes them behind the fence, or what reads them before the
// end of the wait.
__device__ __forceinline__ void wgmma_fence(float (&d)[32]) {
    asm volatile("wgmma.fence.sync.aligned;" : WGMMA_D32(d)::"memory");
}
__device__ __forceinline__ void wgmma_fence(float (&d)[32], unsigned (&a)[4][4]) {
    asm volatile("wgmma.fence.sync.aligned;" : WGMMA_D32(d), WGMMA_A4(a, 0), WGMMA_A4(a, 1), WGMMA_A4(a, 2), WGMMA_A4(a, 3)
                 ::"memory");
}
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wgmma_wait(float (&d)[32]) {
    asm volatile("wgmma.wait_group.sync.aligned %32;" : WGMMA_D32(d) : "n"(PENDING) : "memory");
}

// A and B from shared memory, both K-major. Where add is 0, d is replaced.
__device__ __forceinline__ void wgmma_shared(float (&d)[32], unsigned long long a, unsigned long long b, int add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_D ", %32, %33, p, 1, 1, 0, 0;\n"
        "}" : WGMMA_D32(d) : "l"(a), "l"(b), "r"(add));
}

// A from registers, B from shared memory, MN-major; added to d. Of A the thread has d's rows, and of k columns as of d.
__device__ __forceinline__ void wgmma_registers(float (&d)[32], const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " WGMMA_D ", {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
        : WGMMA_D32(d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

}  // namespace
