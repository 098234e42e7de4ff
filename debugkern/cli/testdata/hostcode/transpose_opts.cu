// Options parsed by getopt, a switch over launches, goto: host code of all kinds.
// tilescope: --grid 2,3 --block 32,8 --arg in=randn:f32[96,64] --arg out=zeros:f32[64,96] --arg w=64 --arg h=96
#include <getopt.h>
#include <unistd.h>
#include <sys/time.h>
#include <cstdio>
#include <cerrno>
#define TILE 32
#define ROWS 8
typedef struct { int w, h, verbose; char *name; } options_t;
static struct timeval start;
options_t defaults = {64, 96, 0, NULL};
enum { NAIVE = 0, TILED = 1 };

__global__ void transpose(float *out, const float *in, int w, int h) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main(int argc, char *const argv[]) {
    options_t o = defaults;
    int c;
    while ((c = getopt(argc, argv, "vk:")) != -1) {
        switch (c) {
        case 'v': o.verbose = 1; break;
        case '?': goto bad;
        default: break;
        }
    }
    gettimeofday(&start, NULL);
    { dim3 g(o.w / TILE, o.h / TILE), b(TILE, ROWS); transpose<<<g, b>>>(NULL, NULL, o.w, o.h); }
    return 0;
bad:
    fprintf(stderr, "bad %d\n", errno);
    return 1;
}
