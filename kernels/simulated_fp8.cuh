// simulated_fp8.cuh: bytes to halves, a chunk of a tile's row at a time.
//
// A byte u stands for (u - 128) / 127 · 448 · scale. It is decoded as (u - zero) · k with k = 448/127 · scale: two float roundings,
// then one to half. The table of all 256 values holds the same bits.
#pragma once

#include <cuda_fp16.h>

constexpr int CHUNK = 16;  // bytes that a thread loads, copies and decodes at a time
constexpr float DECODE = 448.0f / 127.0f;

// One byte's value: (u - zero) · k, k = 448/127 · scale.
__device__ __forceinline__ unsigned decode(unsigned byte, float zero, float k) {
    return __half_as_ushort(__float2half_rn(__fmul_rn(__fsub_rn(static_cast<float>(byte), zero), k)));
}

__device__ __forceinline__ unsigned decode_pair(unsigned word, int byte, float zero, float k) {
    return decode(word >> 8 * byte & 0xffu, zero, k) | decode(word >> 8 * (byte + 1) & 0xffu, zero, k) << 16;
}

__device__ __forceinline__ unsigned look_up_pair(unsigned word, int byte, const half* table) {
    return __half_as_ushort(table[word >> 8 * byte & 0xffu]) |
           static_cast<unsigned>(__half_as_ushort(table[word >> 8 * (byte + 1) & 0xffu])) << 16;
}

// Sixteen halves, as two vectors: what a thread stores of a tile's row. Exchanged on odd rows of a swizzled tile.
struct Halves16 {
    uint4 half8[2];
};

__device__ __forceinline__ void store_chunk(half* row, int col, const Halves16& v, bool exchange) {
    uint4* out = reinterpret_cast<uint4*>(row + col);
    out[exchange ? 1 : 0] = v.half8[0];
    out[exchange ? 0 : 1] = v.half8[1];
}

// 16 bytes to 16 halves: (u - zero) · k, k = 448/127 · scale.
__device__ __forceinline__ Halves16 decode_chunk(uint4 bytes, float zero, float k) {
    return {{make_uint4(decode_pair(bytes.x, 0, zero, k), decode_pair(bytes.x, 2, zero, k), decode_pair(bytes.y, 0, zero, k),
                        decode_pair(bytes.y, 2, zero, k)),
             make_uint4(decode_pair(bytes.z, 0, zero, k), decode_pair(bytes.z, 2, zero, k), decode_pair(bytes.w, 0, zero, k),
                        decode_pair(bytes.w, 2, zero, k))}};
}

// The same out of a table of all 256 values.
__device__ __forceinline__ Halves16 look_up_chunk(uint4 bytes, const half* table) {
    return {{make_uint4(look_up_pair(bytes.x, 0, table), look_up_pair(bytes.x, 2, table), look_up_pair(bytes.y, 0, table),
                        look_up_pair(bytes.y, 2, table)),
             make_uint4(look_up_pair(bytes.z, 0, table), look_up_pair(bytes.z, 2, table), look_up_pair(bytes.w, 0, table),
                        look_up_pair(bytes.w, 2, table))}};
}

__device__ __forceinline__ uint4 load_chunk(const unsigned char* src) { return *reinterpret_cast<const uint4*>(src); }
