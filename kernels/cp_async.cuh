// cp_async.cuh: copies from global to shared memory that go on while the thread computes (PTX ISA, "cp.async").
#pragma once

// Starts the copy of 16 bytes into this thread's current group. Where they are not valid, zeros are written and the source is not
// touched.
__device__ __forceinline__ void copy_chunk_async(unsigned char* dst, const unsigned char* src, bool valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(dst))),
                 "l"(__cvta_generic_to_global(src)), "r"(valid ? 16 : 0)
                 : "memory");
}

__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most Pending of this thread's groups are still under way.
template <int Pending>
__device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
