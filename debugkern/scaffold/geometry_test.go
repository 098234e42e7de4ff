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
			"--grid 6,4 --block 16,16 --arg A=randn:f32[64,128] --arg B=randn:f32[128,96] " +
				"--arg C=zeros:f32[64,96] --arg M=64 --arg N=96 --arg K=128",
		},
		{
			"a transpose, a thread for each element", "constexpr int TILE = 32;\n" +
				"__global__ void tr(const float *in, float *out, int rows, int cols) {\n" +
				"  __shared__ float t[TILE][TILE + 1];\n" +
				"  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n" +
				"  if (x < cols && y < rows) t[threadIdx.y][threadIdx.x] = in[y * cols + x];\n" +
				"  __syncthreads();\n  x = blockIdx.y * TILE + threadIdx.x;\n  y = blockIdx.x * TILE + threadIdx.y;\n" +
				"  if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];\n}",
			"--grid 3,2 --block 32,32 --arg in=randn:f32[64,96] --arg out=zeros:f32[96,64] --arg rows=64 --arg cols=96",
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
			"--grid 3 --block 192 --arg x=zeros:f32[576] --arg n=576",
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
			"--grid 8,12,32 --block 8,8,4 --arg in=randn:f32[128,96,64] --arg out=zeros:f32[128,96,64] " +
				"--arg nx=64 --arg ny=96 --arg nz=128",
		},
		{
			"a row for each warp", "__global__ void k(const float *x, float *y, int rows, int cols) {\n" +
				"  int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;\n  if (row >= rows) return;\n" +
				"  for (int i = lane; i < cols; i += 32) y[row * cols + i] = x[row * cols + i];\n}",
			"--grid 16 --block 32,4 --arg x=randn:f32[64,96] --arg y=zeros:f32[64,96] --arg rows=64 --arg cols=96",
		},
		{
			"a loop over elements", "constexpr int N = 64;\n__global__ void k(float *x, int n) {\n" +
				"  for (int i = threadIdx.x; i < n; i += N) x[blockIdx.x * n + i] = 0;\n}",
			"--grid 3 --block 64 --arg x=zeros:f32[192,192] --arg n=192",
		},
		{
			"four rows a block", "__global__ void k(const float *x, float *y, int n) {\n" +
				"  int row = blockIdx.x * 4;\n  for (int r = 0; r < 4; r++)\n" +
				"    for (int i = threadIdx.x; i < n; i += blockDim.x) y[(row + r) * n + i] = x[(row + r) * n + i];\n}",
			"--grid 3 --block 128 --arg x=randn:f32[384,384] --arg y=zeros:f32[384,384] --arg n=384",
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
			"--grid 12,24 --block 8,4 --arg A=randn:f32[96,96] --arg B=zeros:f32[96,96] --arg n=96",
		},
		{
			"an enumerator, and the default of a template", "enum { TS = 8 };\ntemplate <int T = TS>\n" +
				"__global__ void k(const float *A, float *B, int n) {\n" +
				"  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n" +
				"  if (row < n && col < n) B[row * n + col] = A[row * n + col];\n}",
			"--grid 12,12 --block 8,8 --arg A=randn:f32[96,96] --arg B=zeros:f32[96,96] --arg n=96",
		},
		{
			"a tile of which nothing gives the size", "template <int T>\n" +
				"__global__ void k(const float *A, float *B, int n) {\n" +
				"  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;\n" +
				"  if (row < n && col < n) B[row * n + col] = A[row * n + col];\n}",
			"--grid 6,6 --block 16,16 --arg A=randn:f32[96,96] --arg B=zeros:f32[96,96] --arg n=96",
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
