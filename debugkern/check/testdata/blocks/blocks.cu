// Blocks that wait for blocks: the shapes that production kernels have, each with a twin in which one thing is wrong.
// Launch: 32 or 64 threads a block, any number of blocks; no shared memory but what a kernel declares; nothing is probed.
// Compiled by NVRTC 12.0 with --gpu-architecture=compute_80 -lineinfo into blocks.ptx, which the tests execute.
// Where a twin is wrong on purpose its name says so: _no_fence, _cta.

__device__ __forceinline__ void publish(unsigned* flag, unsigned v, bool fence) {
    if (fence) __threadfence();
    *(volatile unsigned*)flag = v;
}

__device__ __forceinline__ void await(unsigned* flag, unsigned v, bool fence) {
    while (*(volatile unsigned*)flag < v) {
    }
    if (fence) __threadfence();
}

__device__ __forceinline__ void release_gpu(unsigned* flag, unsigned v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
}

__device__ __forceinline__ void release_cta(unsigned* flag, unsigned v) {
    asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(flag), "r"(v) : "memory");
}

__device__ __forceinline__ unsigned acquire_gpu(unsigned* flag) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
    return v;
}

// Every block writes its part, meets the others, and adds up all parts.
template <bool Fence>
__device__ __forceinline__ void grid_sync_body(int* out, int* part, unsigned* state) {
    part[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        if (Fence) __threadfence();
        atomicAdd(state, 1);
        while (*(volatile unsigned*)state < gridDim.x) {
        }
        if (Fence) __threadfence();
    }
    __syncthreads();
    int sum = 0;
    for (int b = 0; b < gridDim.x; b++) sum += part[b * blockDim.x + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void grid_sync(int* out, int* part, unsigned* state) { grid_sync_body<true>(out, part, state); }
extern "C" __global__ void grid_sync_no_fence(int* out, int* part, unsigned* state) { grid_sync_body<false>(out, part, state); }

// Two blocks share an output tile: the even one owns it and adds what the next block, which is launched later, left for it.
template <bool Gpu>
__device__ __forceinline__ void stream_k_body(int* out, int* part, unsigned* state) {
    unsigned tile = blockIdx.x / 2, at = tile * blockDim.x + threadIdx.x;
    int mine = 10 * blockIdx.x + threadIdx.x;
    if (blockIdx.x & 1) {
        part[at] = mine;
        __syncthreads();
        if (threadIdx.x == 0) {
            if (Gpu) release_gpu(&state[tile], 1);
            else release_cta(&state[tile], 1);
        }
        return;
    }
    if (threadIdx.x == 0)
        while (acquire_gpu(&state[tile]) == 0) {
        }
    __syncthreads();
    out[at] = mine + part[at];
}

extern "C" __global__ void stream_k(int* out, int* part, unsigned* state) { stream_k_body<true>(out, part, state); }
extern "C" __global__ void stream_k_cta(int* out, int* part, unsigned* state) { stream_k_body<false>(out, part, state); }

// The blocks add to one tile in turn, in the order of their index.
template <bool Fence>
__device__ __forceinline__ void split_k_body(int* out, int* part, unsigned* state) {
    if (threadIdx.x == 0) await(state, blockIdx.x, Fence);
    __syncthreads();
    out[threadIdx.x] = (blockIdx.x ? out[threadIdx.x] : 0) * 2 + 1;
    __syncthreads();
    if (threadIdx.x == 0) publish(state, blockIdx.x + 1, Fence);
}

extern "C" __global__ void split_k(int* out, int* part, unsigned* state) { split_k_body<true>(out, part, state); }
extern "C" __global__ void split_k_no_fence(int* out, int* part, unsigned* state) { split_k_body<false>(out, part, state); }

// An inclusive scan in one pass: work is drawn from a counter, and a block looks back at the blocks before it, adding up
// aggregates (1) until it finds an inclusive prefix (2). part[2i] is an aggregate, part[2i + 1] a prefix.
template <bool Fence>
__device__ __forceinline__ void look_back_body(int* out, int* part, unsigned* state) {
    if (threadIdx.x != 0) return;
    unsigned me = atomicAdd(state, 1);
    unsigned* flag = state + 1;
    int mine = me + 1, before = 0;
    part[2 * me] = mine;
    publish(&flag[me], 1, Fence);
    for (unsigned i = me; i > 0;) {
        unsigned f;
        while ((f = *(volatile unsigned*)&flag[i - 1]) == 0) {
        }
        if (Fence) __threadfence();
        before += part[2 * (i - 1) + (f == 2)];
        i = f == 2 ? 0 : i - 1;
    }
    part[2 * me + 1] = before + mine;
    publish(&flag[me], 2, Fence);
    out[me] = before + mine;
}

extern "C" __global__ void look_back(int* out, int* part, unsigned* state) { look_back_body<true>(out, part, state); }
extern "C" __global__ void look_back_no_fence(int* out, int* part, unsigned* state) { look_back_body<false>(out, part, state); }

// A critical section behind a ticket lock.
template <bool Fence>
__device__ __forceinline__ void ticket_lock_body(int* out, int* part, unsigned* state) {
    if (threadIdx.x != 0) return;
    unsigned ticket = atomicAdd(&state[0], 1);
    while (*(volatile unsigned*)&state[1] != ticket) {
    }
    if (Fence) __threadfence();
    out[0] = out[0] + 1;
    publish(&state[1], ticket + 1, Fence);
}

extern "C" __global__ void ticket_lock(int* out, int* part, unsigned* state) { ticket_lock_body<true>(out, part, state); }
extern "C" __global__ void ticket_lock_no_fence(int* out, int* part, unsigned* state) { ticket_lock_body<false>(out, part, state); }

// A spin lock that is tried with an exchange and a growing delay: nothing that the loop holds ever comes again.
extern "C" __global__ void spin_lock(int* out, int* part, unsigned* state) {
    if (threadIdx.x != 0) return;
    unsigned tries = 0;
    while (atomicExch(&state[0], 1) != 0) tries++;
    __threadfence();
    out[0] = out[0] + 1;
    __threadfence();
    atomicExch(&state[0], 0);
    part[blockIdx.x] = tries > 0;
}

// Each block waits for the one whose number is one less: numbers drawn from a counter, or block indices counted from the end.
template <bool Ticket>
__device__ __forceinline__ void chain_body(int* out, int* part, unsigned* state) {
    if (threadIdx.x != 0) return;
    unsigned me = Ticket ? atomicAdd(state, 1) : gridDim.x - 1 - blockIdx.x;
    int before = 0;
    if (me > 0) {
        await(&state[me], 1, true);
        before = part[me - 1];
    }
    part[me] = before + 1;
    out[me] = before + 1;
    publish(&state[me + 1], 1, true);
}

extern "C" __global__ void chain(int* out, int* part, unsigned* state) { chain_body<true>(out, part, state); }
extern "C" __global__ void chain_by_index(int* out, int* part, unsigned* state) { chain_body<false>(out, part, state); }

// Blocks write and read the same cells, and what they do next depends on what they find.
extern "C" __global__ void racing(int* out, int* part, unsigned* state) {
    int v = out[threadIdx.x];
    for (int i = 0; i < 6; i++) {
        v = v * 5 + blockIdx.x + 1;
        if (v & 4) part[(v & 31) * 32 + threadIdx.x] = v;
        else v += part[(v >> 3 & 31) * 32 + threadIdx.x];
        out[threadIdx.x] = v;
    }
}

// Every block writes cells of its own, in lines that it shares with its neighbours.
extern "C" __global__ void neighbours(int* out, int* part, unsigned* state) {
    if (threadIdx.x < 3) out[3 * blockIdx.x + threadIdx.x] = blockIdx.x;
    ((unsigned char*)part)[blockIdx.x * blockDim.x + threadIdx.x] = 7;
}

// A plain load in the loop: only written so in PTX by hand, or by a compiler that may not move it.
extern "C" __global__ void plain_wait(int* out, int* part, unsigned* state) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == gridDim.x - 1) {
        part[0] = 1;
        return;
    }
    unsigned v;
    do asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(part) : "memory");
    while (v == 0);
    out[blockIdx.x] = 1;
}
