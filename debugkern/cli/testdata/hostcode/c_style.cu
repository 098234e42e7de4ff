// A program in the manner of C.
// tilescope: --entry add --grid 1 --block 32 --arg x=randn:f32[32]
#include <cuda_runtime.h>
#include <time.h>
#include <math.h>
#define N (1 << 5)
typedef struct foo { int a, b; } foo_t;
struct timespec t0;
float h_x[N];
float *d_x = NULL;
const char *names[] = {"a", "b"};
void usage(const char *argv0) __attribute__((noreturn));
void usage(const char *argv0) { exit(1); }
__global__ void
add(float *x)
{
  const int i = threadIdx.x;
  if (i >= N) return;
  x[i] += (float)M_PI;
}
static double elapsed(void)
{
  struct timespec t1; clock_gettime(CLOCK_MONOTONIC, &t1);
  return (t1.tv_sec - t0.tv_sec) + 1e-9 * (t1.tv_nsec - t0.tv_nsec);
}
int
main(void)
{
  cudaMalloc((void**)&d_x, sizeof(h_x));
  add<<<1, N>>>(d_x);
  cudaFree(d_x);
}
