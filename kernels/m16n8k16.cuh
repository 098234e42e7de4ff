// m16n8k16.cuh: the tensor core by ldmatrix and mma.sync, for operands that no single leading dimension describes.
//
// wmma::load_matrix_sync takes one pointer and one leading dimension. With the columns of odd rows exchanged (below) there is
// no such pair; ldmatrix takes an address a lane instead. The arithmetic is that of wmma 16x16x16: two m16n8k16 side by side.
#pragma once

#include <cuda_fp16.h>

// Shared column of element d in row n: blocks of eight halves are exchanged in pairs on odd rows, so that the eight rows that
// one phase of ldmatrix reads lie in twice as many banks. Its own inverse.
__device__ __forceinline__ int swizzled(int n, int d) { return d ^ (n & 1) * 8; }

// A 16x16 operand in the registers of a warp: 8x8 blocks, two halves a lane of each.
struct Operand16 {
    unsigned block[4];
};

// A 16x16 accumulator: the left 16x8 tile in x[0…3], the right one in x[4…7].
template <typename T>
struct alignas(16) Accumulator16 {
    enum { num_elements = 8 };
    T x[8];
};

// Row and column of a lane's accumulator element e (PTX ISA, "Matrix fragments for mma.m16n8k16").
__device__ __forceinline__ int accumulator_row(int lane, int e) { return lane / 4 + e / 2 % 2 * 8; }
__device__ __forceinline__ int accumulator_col(int lane, int e) { return lane % 4 * 2 + e % 2 + e / 4 * 8; }

// Row of an 8x8 block that this lane points at, with the column where that row starts.
struct BlockRow {
    int row, col;
};

// Blocks in the order top left, bottom left, top right, bottom right: an A operand, or a B operand from its transpose.
__device__ __forceinline__ BlockRow rows_first(int lane) { return {lane % 16, lane / 16 * 8}; }

// Blocks in the order top left, top right, bottom left, bottom right: a B operand stored as [n][k].
__device__ __forceinline__ BlockRow columns_first(int lane) { return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8}; }

// Loads four 8x8 blocks; lanes 8i … 8i+7 point at the rows of block i, 16 bytes each.
__device__ __forceinline__ Operand16 load_blocks(const half* row) {
    Operand16 m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.block[0]), "=r"(m.block[1]), "=r"(m.block[2]), "=r"(m.block[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
    return m;
}

// The same, each block transposed: a B operand stored as [k][n].
__device__ __forceinline__ Operand16 load_blocks_transposed(const half* row) {
    Operand16 m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.block[0]), "=r"(m.block[1]), "=r"(m.block[2]), "=r"(m.block[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
    return m;
}

// acc += a · b, the two column tiles of b one after the other.
__device__ __forceinline__ void multiply_add(Accumulator16<float>& acc, const Operand16& a, const Operand16& b) {
#pragma unroll
    for (int n = 0; n < 2; n++) {
        float* c = acc.x + 4 * n;
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a.block[0]), "r"(a.block[1]), "r"(a.block[2]), "r"(a.block[3]), "r"(b.block[2 * n]), "r"(b.block[2 * n + 1]));
    }
}

__device__ __forceinline__ void multiply_add(Accumulator16<half>& acc, const Operand16& a, const Operand16& b) {
#pragma unroll
    for (int n = 0; n < 2; n++) {
        unsigned* c = reinterpret_cast<unsigned*>(acc.x + 4 * n);
        asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
            : "+r"(c[0]), "+r"(c[1])
            : "r"(a.block[0]), "r"(a.block[1]), "r"(a.block[2]), "r"(a.block[3]), "r"(b.block[2 * n]), "r"(b.block[2 * n + 1]));
    }
}

// Writes the tile to memory, row-major.
__device__ __forceinline__ void store_tile(half* dst, const Accumulator16<half>& acc, int ld, int lane) {
#pragma unroll
    for (int e = 0; e < 8; e += 2) {
        half* p = dst + accumulator_row(lane, e) * ld + accumulator_col(lane, e);
        *reinterpret_cast<half2*>(p) = __halves2half2(acc.x[e], acc.x[e + 1]);
    }
}

__device__ __forceinline__ void store_tile(float* dst, const Accumulator16<float>& acc, int ld, int lane) {
#pragma unroll
    for (int e = 0; e < 8; e += 2) {
        float* p = dst + accumulator_row(lane, e) * ld + accumulator_col(lane, e);
        *reinterpret_cast<float2*>(p) = make_float2(acc.x[e], acc.x[e + 1]);
    }
}
