// Functions called through a table of pointers, and shapes by virtual functions: lanes of a warp call different ones.
// tilescope: --grid 1 --block 64 --arg x=randint(0,9):i32[64] --arg y=unwritten:i32[64] --arg areas=zeros:i32[2]
typedef int (*Function)(int);
__device__ __noinline__ int twice(int n) { return 2 * n; }
__device__ __noinline__ int square(int n) { return n * n; }
__device__ __noinline__ int negate(int n) { return -n; }
__device__ Function table[3] = {twice, square, negate};

struct Shape {
    __device__ virtual int area(int s) const = 0;
};
struct Square : Shape {
    __device__ int area(int s) const override { return s * s; }
};
struct Box : Shape {
    int h;
    __device__ Box(int h) : h(h) {}
    __device__ int area(int s) const override { return s * h; }
};

extern "C" __global__ void calls_indirect(const int* x, int* y, int* areas) {
    int t = threadIdx.x;
    y[t] = table[t % 3](x[t]);  // bug: y[t] = table[t % 5](x[t]); // found: out-of-bounds
    Square a;
    Box b(3);
    const Shape* s = t % 2 ? static_cast<const Shape*>(&a) : &b;
    atomicAdd(&areas[t % 2], s->area(x[t]));
}
