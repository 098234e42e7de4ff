// tilescope.cuh: probes for fused attention kernels.
//
// A probe copies what a stage left behind into a slot of the capture buffer; an injection copies a tile of the inject
// buffer into the kernel. Where a slot lies is computed from block, kv tile and the control block alone (nothing is
// allocated on the device), so the host knows every address before the launch.
//
//   TS_PARAM                                         last in the kernel's parameter list, with no comma before it
//   TS_TILE(stage, kv_tile, ptr, rows, cols, ld)     the block copies a row-major matrix
//   TS_TILE_AT(stage, kv_tile, rows, cols, address)  the same of a tile that lies otherwise: address(row, col) points at a cell
//   TS_VEC(stage, kv_tile, ptr, n)                   the block copies a vector: n rows of one column
//   TS_FRAG(stage, kv_tile, frag)                    every thread copies its elements frag.x[…]: thread after thread
//   TS_OWN(stage, kv_tile, row, col, value)          one thread copies one cell that it computed itself
//   TS_INJECT_TILE, TS_INJECT_VEC, TS_INJECT_FRAG    the same arguments, the other way; a barrier of the kernel's must follow
//   TS_INJECT_OWN(stage, kv_tile, row, col, x)       the other way for one thread's cell: x becomes what is injected there
//
// Without TS_PROBES all of them vanish: signature and PTX are exactly those of a kernel that never heard of probes.
//
// TS_TILE, TS_TILE_AT, TS_VEC and their injections must be reached by all threads of the block. They have no barrier of their own,
// because one would hide the very race that is looked for: a probe stands after the next barrier that is there anyway.
// A probe outside the captured blocks, kv tiles or stages, or whose shape is not the slot's, stores nothing.
#pragma once

#if defined(TS_PROBES) && TS_PROBES

// Stage ids, in the order of computation.
enum ts_stage_id { TS_Q, TS_K, TS_V, TS_S, TS_M, TS_L, TS_P, TS_U, TS_O };

// Where the slots of one stage lie: slot i is stride bytes from the i-th multiple of stride past offset.
struct ts_stage {
    unsigned long long offset;  // of the first slot in its buffer
    unsigned int stride;        // bytes of a slot, header included
    unsigned int tiles;         // slots a block
    unsigned int tile_lo;       // the kv tile of slot 0
    unsigned int rows_cols;     // rows << 16 | cols
    unsigned int elem;          // bytes of an element
    unsigned int flags;         // bit 0: present; bit 1: one slot a block, whatever the kv tile
};

// The control block, which the host writes before a launch (probes/layout.go is its other half).
struct ts_control {
    unsigned int magic;
    unsigned int reserved;
    unsigned long long capture;        // device address of the capture buffer
    unsigned long long capture_bytes;
    unsigned long long inject;         // device address of the inject buffer
    unsigned int lo[3], n[3];          // captured blocks: [lo, lo + n) in x, y, z
    unsigned int tile_lo, tile_n;      // captured kv tiles
    ts_stage stage[16];                // capture slots by stage id
    ts_stage inject_stage[16];         // inject slots by stage id, over the whole grid
};

// A slot opens with this; the tile follows, dense and row-major.
struct alignas(16) ts_slot {
    unsigned int magic, stage, kv_tile, rows_cols;
};

#ifdef __CUDACC_RTC__
#define TS_OFFSET(type, field) __INTADDR__(&static_cast<type*>(nullptr)->field)
#else
#define TS_OFFSET(type, field) __builtin_offsetof(type, field)
#endif
#define TS_AT(type, field, offset) \
    static_assert(TS_OFFSET(type, field) == offset, #type "." #field " is not where the host puts it")
#define TS_SIZE(type, size) static_assert(sizeof(type) == size, #type " has not the size that the host assumes")

TS_AT(ts_stage, offset, 0);
TS_AT(ts_stage, stride, 8);
TS_AT(ts_stage, tiles, 12);
TS_AT(ts_stage, tile_lo, 16);
TS_AT(ts_stage, rows_cols, 20);
TS_AT(ts_stage, elem, 24);
TS_AT(ts_stage, flags, 28);
TS_SIZE(ts_stage, 32);
TS_AT(ts_control, magic, 0);
TS_AT(ts_control, capture, 8);
TS_AT(ts_control, capture_bytes, 16);
TS_AT(ts_control, inject, 24);
TS_AT(ts_control, lo, 32);
TS_AT(ts_control, n, 44);
TS_AT(ts_control, tile_lo, 56);
TS_AT(ts_control, tile_n, 60);
TS_AT(ts_control, stage, 64);
TS_AT(ts_control, inject_stage, 576);
TS_SIZE(ts_control, 1088);
TS_AT(ts_slot, magic, 0);
TS_AT(ts_slot, stage, 4);
TS_AT(ts_slot, kv_tile, 8);
TS_AT(ts_slot, rows_cols, 12);
TS_SIZE(ts_slot, 16);

#define TS_CONTROL_MAGIC 0x31435354u
#define TS_SLOT_MAGIC 0x314c5354u

__device__ __forceinline__ unsigned int ts_thread() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ __forceinline__ unsigned int ts_threads() { return blockDim.x * blockDim.y * blockDim.z; }

// Address of the slot among those of its stage; null where the stage or the kv tile has none.
__device__ __forceinline__ char* ts_address(const ts_stage& st, unsigned long long buffer, unsigned int block, int kv_tile) {
    if ((st.flags & 1u) == 0) return nullptr;
    unsigned int tile = (st.flags & 2u) ? 0u : static_cast<unsigned int>(kv_tile) - st.tile_lo;
    if (tile >= st.tiles) return nullptr;
    return static_cast<char*>(__cvta_global_to_generic(
        buffer + st.offset + (static_cast<unsigned long long>(block) * st.tiles + tile) * st.stride));
}

// Slot that this block fills for the stage and kv tile, or null where it is not captured.
__device__ __forceinline__ char* ts_capture_slot(const ts_control* __restrict__ ctl, int stage, int kv_tile) {
    if (ctl->magic != TS_CONTROL_MAGIC) return nullptr;
    unsigned int x = blockIdx.x - ctl->lo[0], y = blockIdx.y - ctl->lo[1], z = blockIdx.z - ctl->lo[2];
    if (x >= ctl->n[0] || y >= ctl->n[1] || z >= ctl->n[2]) return nullptr;
    return ts_address(ctl->stage[stage], ctl->capture, (z * ctl->n[1] + y) * ctl->n[0] + x, kv_tile);
}

// Slot that feeds this block, or null where nothing is injected.
__device__ __forceinline__ char* ts_inject_slot(const ts_control* __restrict__ ctl, int stage, int kv_tile) {
    if (ctl->magic != TS_CONTROL_MAGIC) return nullptr;
    unsigned int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    return ts_address(ctl->inject_stage[stage], ctl->inject, block, kv_tile);
}

__device__ __forceinline__ void ts_head(char* slot, int stage, int kv_tile, unsigned int rows_cols) {
    *reinterpret_cast<uint4*>(slot) = make_uint4(TS_SLOT_MAGIC, stage, kv_tile, rows_cols);
}

// What a pointer points at, without const.
template <typename T> struct ts_pointee;
template <typename T> struct ts_pointee<T*> { using type = T; };
template <typename T> struct ts_pointee<const T*> { using type = T; };
template <typename T> using ts_cell = typename ts_pointee<T>::type;

// Each cell is loaded and stored by the same thread, one element at a time, the load directly before its store: a machine
// that watches every access can then tell, for each captured cell, which address of the kernel's it was copied from. Hence
// no vector accesses and no unrolling.
template <typename Address>
__device__ __forceinline__ void ts_tile_at(const ts_control* __restrict__ ctl, int stage, int kv_tile, int rows, int cols,
                                           Address address) {
    using T = ts_cell<decltype(address(0, 0))>;
    char* slot = ts_capture_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->stage[stage];
    unsigned int shape = static_cast<unsigned int>(rows) << 16 | cols;
    if (slot == nullptr || st.rows_cols != shape || st.elem != sizeof(T)) return;
    T* dst = reinterpret_cast<T*>(slot + sizeof(ts_slot));
#pragma unroll 1
    for (unsigned int i = ts_thread(); i < rows * cols; i += ts_threads()) {
        dst[i] = *address(i / cols, i % cols);
    }
    if (ts_thread() == 0) ts_head(slot, stage, kv_tile, shape);
}

template <typename T>
__device__ __forceinline__ void ts_tile(const ts_control* __restrict__ ctl, int stage, int kv_tile, const T* src, int rows,
                                        int cols, int ld) {
    ts_tile_at(ctl, stage, kv_tile, rows, cols, [=](int row, int col) { return src + row * ld + col; });
}

template <typename T>
__device__ __forceinline__ void ts_inject_tile(const ts_control* __restrict__ ctl, int stage, int kv_tile, T* dst, int rows,
                                               int cols, int ld) {
    const char* slot = ts_inject_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->inject_stage[stage];
    unsigned int shape = static_cast<unsigned int>(rows) << 16 | cols;
    if (slot == nullptr || st.rows_cols != shape || st.elem != sizeof(T)) return;
    const T* src = reinterpret_cast<const T*>(slot + sizeof(ts_slot));
#pragma unroll 1
    for (unsigned int i = ts_thread(); i < rows * cols; i += ts_threads()) {
        dst[i / cols * ld + i % cols] = src[i];
    }
}

// The cell (0, 0) is somebody's: its owner writes the slot's header.
template <typename T>
__device__ __forceinline__ void ts_own(const ts_control* __restrict__ ctl, int stage, int kv_tile, int row, int col,
                                       T value) {
    char* slot = ts_capture_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->stage[stage];
    unsigned int cols = st.rows_cols & 0xffffu;
    if (slot == nullptr || row >= st.rows_cols >> 16 || col >= cols || st.elem != sizeof(T)) return;
    reinterpret_cast<T*>(slot + sizeof(ts_slot))[row * cols + col] = value;
    if (row == 0 && col == 0) ts_head(slot, stage, kv_tile, st.rows_cols);
}

template <typename T>
__device__ __forceinline__ void ts_inject_own(const ts_control* __restrict__ ctl, int stage, int kv_tile, int row, int col,
                                              T& x) {
    const char* slot = ts_inject_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->inject_stage[stage];
    unsigned int cols = st.rows_cols & 0xffffu;
    if (slot == nullptr || row >= st.rows_cols >> 16 || col >= cols || st.elem != sizeof(T)) return;
    x = reinterpret_cast<const T*>(slot + sizeof(ts_slot))[row * cols + col];
}

// True where the slot has room for exactly the elements that the threads of the block hold together.
__device__ __forceinline__ bool ts_holds(const ts_stage& st, unsigned int elements, unsigned int size) {
    return (st.rows_cols >> 16) * (st.rows_cols & 0xffffu) == ts_threads() * elements && st.elem == size;
}

template <typename T, int N>
__device__ __forceinline__ void ts_frag(const ts_control* __restrict__ ctl, int stage, int kv_tile, const T (&x)[N]) {
    char* slot = ts_capture_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->stage[stage];
    if (slot == nullptr || !ts_holds(st, N, sizeof(T))) return;
    T* dst = reinterpret_cast<T*>(slot + sizeof(ts_slot)) + ts_thread() * N;
#pragma unroll
    for (int e = 0; e < N; e++) dst[e] = x[e];
    if (ts_thread() == 0) ts_head(slot, stage, kv_tile, st.rows_cols);
}

template <typename T, int N>
__device__ __forceinline__ void ts_inject_frag(const ts_control* __restrict__ ctl, int stage, int kv_tile, T (&x)[N]) {
    const char* slot = ts_inject_slot(ctl, stage, kv_tile);
    const ts_stage& st = ctl->inject_stage[stage];
    if (slot == nullptr || !ts_holds(st, N, sizeof(T))) return;
    const T* src = reinterpret_cast<const T*>(slot + sizeof(ts_slot)) + ts_thread() * N;
#pragma unroll
    for (int e = 0; e < N; e++) x[e] = src[e];
}

#define TS_PARAM , const ts_control* __restrict__ ts_ctl
#define TS_TILE(stage, kv_tile, ptr, rows, cols, ld) ts_tile(ts_ctl, stage, kv_tile, ptr, rows, cols, ld)
#define TS_TILE_AT(stage, kv_tile, rows, cols, ...) ts_tile_at(ts_ctl, stage, kv_tile, rows, cols, __VA_ARGS__)
#define TS_VEC(stage, kv_tile, ptr, n) ts_tile(ts_ctl, stage, kv_tile, ptr, n, 1, 1)
#define TS_FRAG(stage, kv_tile, frag) ts_frag(ts_ctl, stage, kv_tile, (frag).x)
#define TS_OWN(stage, kv_tile, row, col, value) ts_own(ts_ctl, stage, kv_tile, row, col, value)
#define TS_INJECT_TILE(stage, kv_tile, ptr, rows, cols, ld) ts_inject_tile(ts_ctl, stage, kv_tile, ptr, rows, cols, ld)
#define TS_INJECT_VEC(stage, kv_tile, ptr, n) ts_inject_tile(ts_ctl, stage, kv_tile, ptr, n, 1, 1)
#define TS_INJECT_FRAG(stage, kv_tile, frag) ts_inject_frag(ts_ctl, stage, kv_tile, (frag).x)
#define TS_INJECT_OWN(stage, kv_tile, row, col, x) ts_inject_own(ts_ctl, stage, kv_tile, row, col, x)

#else

#define TS_PARAM
#define TS_TILE(stage, kv_tile, ptr, rows, cols, ld) ((void)0)
#define TS_TILE_AT(stage, kv_tile, rows, cols, ...) ((void)0)
#define TS_VEC(stage, kv_tile, ptr, n) ((void)0)
#define TS_FRAG(stage, kv_tile, frag) ((void)0)
#define TS_OWN(stage, kv_tile, row, col, value) ((void)0)
#define TS_INJECT_TILE(stage, kv_tile, ptr, rows, cols, ld) ((void)0)
#define TS_INJECT_VEC(stage, kv_tile, ptr, n) ((void)0)
#define TS_INJECT_FRAG(stage, kv_tile, frag) ((void)0)
#define TS_INJECT_OWN(stage, kv_tile, row, col, x) ((void)0)

#endif
