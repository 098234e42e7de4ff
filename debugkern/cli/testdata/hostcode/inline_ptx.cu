// Inline PTX, with macros around it.
// tilescope: --grid 1 --block 32 --arg x=randint(0,100):u32[32] --arg y=zeros:u32[32]
#include <cstdint>
#include <fstream>
#define LANE(r) asm volatile("mov.u32 %0, %%laneid;" : "=r"(r))

__device__ __forceinline__ uint32_t bfe(uint32_t v, uint32_t at, uint32_t n) {
    uint32_t r;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(v), "r"(at), "r"(n));
    return r;
}

__global__ void fields(const uint32_t *x, uint32_t *y) {
    uint32_t lane;
    LANE(lane);
    y[lane] = bfe(x[lane], 2, 4);
}

void dump(const char *path, const uint32_t *y) {
    std::ofstream f(path, std::ios::binary);
    f.write(reinterpret_cast<const char *>(y), 128);
    fields<<<1, 32>>>(nullptr, nullptr);
}
