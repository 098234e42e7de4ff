package scaffold

import (
	"strings"
	"testing"
)

// TestGeometry: block and grid as a person reads them from a kernel's text: the axes that it uses,
// constants in its indices, steps of its loops, shared arrays, launch bounds, and which parameter an index
// stays below.
func TestGeometry(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{
			"tiles of a product", "#define T 16\n" +
				"__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {\n" +
				"  __shared__ float a[T][T], b[T][T];\n" +
				"  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n" +
				"  for (int k = 0; k < K; k += T) {\n" +
				"    a[threadIdx.y][threadIdx.x] = A[row * K + k + threadIdx.x];\n" +
				"    b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * N + col];\n  }\n" +
				"  if (row < M && col < N) C[row * N + col] = a[0][0];\n}",
			"--grid 6,4 --block 16,16 --arg A=randn:f32[61,128] --arg B=randn:f32[128,93] " +
				"--arg C=zeros:f32[61,93] --arg M=61 --arg N=93 --arg K=128",
		},
		{
			"a transpose, a thread for each element", "constexpr int TILE = 32;\n" +
				"__global__ void tr(const float *in, float *out, int rows, int cols) {\n" +
				"  __shared__ float t[TILE][TILE + 1];\n" +
				"  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n" +
				"  if (x < cols && y < rows) t[threadIdx.y][threadIdx.x] = in[y * cols + x];\n" +
				"  __syncthreads();\n  x = blockIdx.y * TILE + threadIdx.x;\n  y = blockIdx.x * TILE + threadIdx.y;\n" +
				"  if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];\n}",
			"--grid 3,2 --block 32,32 --arg in=randn:f32[61,93] --arg out=zeros:f32[93,61] --arg rows=61 --arg cols=93",
		},
		{
			"a transpose in steps of rows", "#define TILE 32\n#define ROWS 8\n" +
				"__global__ void tr(float *out, const float *in, int n) {\n  __shared__ float t[TILE][TILE + 1];\n" +
				"  int x = blockIdx.x * TILE + threadIdx.x;\n  int y = blockIdx.y * TILE + threadIdx.y;\n" +
				"  for (int j = 0; j < TILE; j += ROWS) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];\n" +
				"  __syncthreads();\n" +
				"  for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = t[threadIdx.x][threadIdx.y + j];\n}",
			"--grid 3,3 --block 32,8 --arg out=zeros:f32[96,96] --arg in=randn:f32[96,96] --arg n=96",
		},
		{
			"launch bounds", "__global__ void __launch_bounds__(192) k(float *x, int n) {\n" +
				"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] += 1.f;\n}",
			"--grid 3 --block 192 --arg x=randn:f32[573] --arg n=573",
		},
		{
			"launch bounds of two axes", "__global__ void __launch_bounds__(256) k(float *x, int n) {\n" +
				"  x[threadIdx.y * n + threadIdx.x] = 1.f;\n}",
			"--grid 3 --block 32,8 --arg x=zeros:f32[96,96] --arg n=96",
		},
		{
			"three axes", "__global__ void k(const float *in, float *out, int nx, int ny, int nz) {\n" +
				"  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n" +
				"  int z = blockIdx.z * blockDim.z + threadIdx.z;\n" +
				"  if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = in[(z * ny + y) * nx + x];\n}",
			"--grid 8,12,32 --block 8,8,4 --arg in=randn:f32[125,93,61] --arg out=zeros:f32[125,93,61] " +
				"--arg nx=61 --arg ny=93 --arg nz=125",
		},
		{
			"a row for each warp", "__global__ void k(const float *x, float *y, int rows, int cols) {\n" +
				"  int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;\n  if (row >= rows) return;\n" +
				"  for (int i = lane; i < cols; i += 32) y[row * cols + i] = x[row * cols + i];\n}",
			"--grid 16 --block 32,4 --arg x=randn:f32[61,93] --arg y=zeros:f32[61,93] --arg rows=61 --arg cols=93",
		},
		{
			"a loop over elements", "constexpr int N = 64;\n__global__ void k(float *x, int n) {\n" +
				"  for (int i = threadIdx.x; i < n; i += N) x[blockIdx.x * n + i] = 0;\n}",
			"--grid 7 --block 64 --arg x=zeros:f32[7,189] --arg n=189",
		},
		{
			"four rows a block", "__global__ void k(const float *x, float *y, int n) {\n" +
				"  int row = blockIdx.x * 4;\n  for (int r = 0; r < 4; r++)\n" +
				"    for (int i = threadIdx.x; i < n; i += blockDim.x) y[(row + r) * n + i] = x[(row + r) * n + i];\n}",
			"--grid 3 --block 128 --arg x=randn:f32[381,381] --arg y=zeros:f32[381,381] --arg n=381",
		},
		{
			"threads above a number do nothing: whole warps", "constexpr int ROWS = 10;\n" +
				"__global__ void k(const float *x, float *y, int n) {\n  __shared__ float s[ROWS];\n" +
				"  if (threadIdx.x < ROWS) s[threadIdx.x] = x[blockIdx.x * ROWS + threadIdx.x];\n" +
				"  __syncthreads();\n  y[blockIdx.x] = s[0];\n}",
			"--grid 3 --block 32 --arg x=randn:f32[96] --arg y=zeros:f32[96] --arg n=96",
		},
		{
			"an element for each of 100 threads", "constexpr int W = 100;\n__global__ void k(const float *x, float *y) {\n" +
				"  __shared__ float s[W];\n  s[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n" +
				"  y[blockIdx.x * W + threadIdx.x] = s[W - 1 - threadIdx.x];\n}",
			"--grid 24 --block 100 --arg x=randn:f32[2400] --arg y=zeros:f32[2400]",
		},
		{
			"a tile that a constant names, with offsets of blocks", "constexpr int T = 16;\n" +
				"__global__ void k(const float *A, float *B, int n) {\n  __shared__ float s[T][T];\n" +
				"  int ty = threadIdx.y, tx = threadIdx.x;\n" +
				"  s[ty][tx] = A[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];\n  __syncthreads();\n" +
				"  B[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx] = s[tx][ty];\n}",
			"--grid 6,6 --block 16,16 --arg A=randn:f32[96,96] --arg B=zeros:f32[96,96] --arg n=96",
		},
		{
			"a tile in one row, 8 threads by 4", "constexpr int T = 8;\n" +
				"__global__ void k(const float *A, float *B, int n) {\n" +
				"  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;\n" +
				"  __shared__ float tile[T * 4];\n  tile[threadIdx.y * T + threadIdx.x] = A[j * n + i];\n" +
				"  __syncthreads();\n  if (i < n && j < n) B[j * n + i] = tile[threadIdx.y * T + threadIdx.x];\n}",
			"--grid 12,24 --block 8,4 --arg A=randn:f32[93,93] --arg B=zeros:f32[93,93] --arg n=93",
		},
		{
			"an enumerator, and the default of a template", "enum { TS = 8 };\ntemplate <int T = TS>\n" +
				"__global__ void k(const float *A, float *B, int n) {\n" +
				"  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n" +
				"  if (row < n && col < n) B[row * n + col] = A[row * n + col];\n}",
			"--grid 12,12 --block 8,8 --arg A=randn:f32[93,93] --arg B=zeros:f32[93,93] --arg n=93",
		},
		{
			"a tile of which nothing gives the size", "template <int T>\n" +
				"__global__ void k(const float *A, float *B, int n) {\n" +
				"  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n" +
				"  if (row < n && col < n) B[row * n + col] = A[row * n + col];\n}",
			"--grid 6,6 --block 16,16 --arg A=randn:f32[93,93] --arg B=zeros:f32[93,93] --arg n=93",
		},
		{
			"a group for each warp", "constexpr int GROUP = 64;\n" +
				"__global__ void k(const half *x, int8_t *q, float *scales, int cols) {\n" +
				"  const int row = blockIdx.y, g = blockIdx.x, lane = threadIdx.x;\n" +
				"  const half *src = x + row * cols + g * GROUP;\n  int8_t *dst = q + row * cols + g * GROUP;\n" +
				"  dst[lane] = src[lane]; dst[lane + 32] = src[lane + 32];\n" +
				"  if (lane == 0) scales[row * (cols / GROUP) + g] = 1;\n}",
			"--grid 3,7 --block 32 --arg x=randn:f16[7,192] --arg q=zeros:i8[7,192] --arg scales=zeros:f32[192] " +
				"--arg cols=192",
		},
		{
			"eight rows a block, a warp for each", "__global__ void k(const float *x, float *y, int rows, int k) {\n" +
				"  int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;\n" +
				"  if (row >= rows) return;\n  float s = 0;\n" +
				"  for (int i = lane; i < k; i += 32) s += x[row * k + i];\n  if (lane == 0) y[row] = s;\n}",
			"--grid 7 --block 256 --arg x=randn:f32[56,96] --arg y=zeros:f32[56] --arg rows=56 --arg k=96",
		},
		{
			"a block for each row of each head", "__global__ void k(float *x, int S, int H, int D) {\n" +
				"  int s = blockIdx.x, h = blockIdx.y;\n  float *row = x + ((size_t)s * H + h) * D;\n" +
				"  for (int i = threadIdx.x; i < D; i += blockDim.x) row[i] *= 2;\n}",
			"--grid 6,5 --block 128 --arg x=zeros:f32[6,5,125] --arg S=6 --arg H=5 --arg D=125",
		},
		{
			"an element type under another name", "typedef __nv_bfloat16 bf16;\n" +
				"__global__ void k(const bf16 *x, int n) { bf16 v = x[blockIdx.x * 64 + threadIdx.x]; }",
			"--grid 3 --block 64 --arg x=randn:bf16[192] --arg n=192",
		},
		{
			"equal sides that main passes", "__global__ void k(float *x, int rows, int cols) {\n" +
				"  x[blockIdx.x * cols + threadIdx.x] = rows;\n}\n" +
				"int main() { int n = 40; float *x; cudaMalloc(&x, n * n * 4); k<<<n, 40>>>(x, n, n); }",
			"--grid 40 --block 40 --arg x=unwritten:f32[40,40] --arg rows=40 --arg cols=40",
		},
		{
			"rows that only main counts", "__global__ void softmax(const float *x, float *y, int cols) {\n" +
				"  for (int c = threadIdx.x; c < cols; c += blockDim.x)\n" +
				"    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c];\n}\n" +
				"int main() { float *x, *y; softmax<<<7, 128>>>(x, y, 190); }",
			"--grid 7 --block 128 --arg x=randn:f32[7,190] --arg y=zeros:f32[7,190] --arg cols=190",
		},
		{
			"rows that the host counts by a parameter of its own",
			"__global__ void softmax(const float *x, float *y, int cols) {\n" +
				"  for (int c = threadIdx.x; c < cols; c += blockDim.x)\n" +
				"    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c];\n}\n" +
				"void run(float *x, float *y, int N) { softmax<<<N, 128>>>(x, y, 190); }",
			"--grid 6 --block 128 --arg x=randn:f32[6,93] --arg y=zeros:f32[6,93] --arg cols=93",
		},
		{
			"more rows than are executed", "__global__ void softmax(const float *x, float *y, int cols) {\n" +
				"  for (int c = threadIdx.x; c < cols; c += blockDim.x)\n" +
				"    y[blockIdx.x * cols + c] = x[blockIdx.x * cols + c];\n}\n" +
				"int main() { float *x, *y; softmax<<<65536, 128>>>(x, y, 190); }",
			"--grid 6 --block 128 --arg x=randn:f32[6,93] --arg y=zeros:f32[6,93] --arg cols=93",
		},
		{
			"a loaded flag, a divided side", "__global__ void k(int *flag, half *gamma, int n) {\n" +
				"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
				"  if (i < n/4 && flag[i]) gamma[i] = 0;\n  if (i < n) flag[i] = 2;\n}",
			"--grid 3 --block 128 --arg flag=randint(0,8):i32[376] --arg gamma=zeros:f16[376] --arg n=376",
		},
		{
			"counters and a sum in place", "__global__ void k(const int *key, int *count, float *x, int n) {\n" +
				"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n" +
				"  atomicAdd(&count[key[i]], 1);\n  x[i] = x[i] * 2;\n}",
			"--grid 3 --block 128 --arg key=randint(0,8):i32[381] --arg count=zeros:i32[381] --arg x=randn:f32[381] " +
				"--arg n=381",
		},
		{
			"threads under a name of one's own", "constexpr int kThreadsPerBlock = 192, TILE = 64;\n" +
				"__global__ void k(float *x) {\n" +
				"  for (int i = threadIdx.x; i < TILE; i += blockDim.x) x[blockIdx.x * TILE + i] = 0;\n}",
			"--grid 3 --block 192 --arg x=zeros:f32[576]",
		},
	} {
		e := SourceExample(read(c.source), "")
		if e == nil {
			t.Errorf("%s: no example", c.name)
			continue
		}
		if got := strings.Join(e.Options, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}
