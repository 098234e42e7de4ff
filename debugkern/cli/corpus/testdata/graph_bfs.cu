// Breadth-first search by levels in one block, with a queue in dynamic shared memory.
// tilescope: --grid 1 --block 64 --shared 1032 --arg next=randint(0,99):i32[100,3] --arg level=zeros:i32[100] --arg nodes=100
extern "C" __global__ void graph_bfs(const int* next, int* level, int nodes) {
    extern __shared__ int shared[];
    int *count = shared, *queue = shared + 2;
    int t = threadIdx.x;
    for (int i = t; i < nodes; i += 64) level[i] = i == 0 ? 0 : -1;
    if (t == 0) count[0] = 1, count[1] = 0, queue[0] = 0;
    __syncthreads();
    for (int d = 0;; d++) {
        int n = count[d & 1];
        if (n == 0) break;
        for (int i = t; i < 3 * n; i += 64) {
            int to = next[queue[(d & 1) * 128 + i / 3] * 3 + i % 3];
            if (atomicCAS(&level[to], -1, d + 1) == -1) queue[(~d & 1) * 128 + atomicAdd(&count[~d & 1], 1)] = to;
        }
        __syncthreads();
        if (t == 0) count[d & 1] = 0;  // found: race
        __syncthreads();  // bug: if (n < 20) __syncthreads();
    }
}
