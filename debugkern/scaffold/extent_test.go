package scaffold

import (
	"strings"
	"testing"
)

// TestExtentsByIndex: the extents of a buffer are what its indices show: the step of a row is the last side,
// what the row stays below the first; bounds are in guards, in loops, and in what the blocks cover.
func TestExtentsByIndex(t *testing.T) {
	const tiles = "constexpr int BM = 32, BN = 32, BK = 16;\n" +
		"__global__ void k(const half *A, const half *B, const float *bias, half *C, int M, int N, int K) {\n" +
		"  __shared__ half s[BM][BK];\n  const int t = threadIdx.x;\n" +
		"  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;\n" +
		"  for (int k0 = 0; k0 < K; k0 += BK)\n    for (int i = t; i < BM * BK; i += 256) {\n" +
		"      int r = i / BK, c = i % BK;\n      s[r][c] = GUARD ? A[(m0 + r) * K + k0 + c] : half(0.f);\n" +
		"      s[r][c] = (k0 + r < K && n0 + c < N) ? B[(k0 + r) * N + n0 + c] : half(0.f);\n    }\n" +
		"  int r = m0 + t / 16, c = n0 + t % 16;\n" +
		"  if (r < M && c < N) C[r * N + c] = half(bias[c]);\n}\n" +
		"void go(half *a, half *b, float *x, half *c, int rows, int cols, int depth) {\n" +
		"  dim3 grid((cols + BN - 1) / BN, (rows + BM - 1) / BM);\n" +
		"  k<<<grid, 256>>>(a, b, x, c, rows, cols, depth);\n}"
	const product = "A=randn:f16[56,120] B=randn:f16[120,88] bias=randn:f32[88] C=zeros:f16[56,88]"
	for _, c := range []struct{ name, source, want string }{
		{"guards of sums", strings.Replace(tiles, "GUARD", "(m0 + r < M && k0 + c < K)", 1), product},
		{"rows that only the grid bounds", strings.Replace(tiles, "GUARD", "k0 + c < K", 1), product},
		{
			"a row's pointer, a loop over rows",
			"__global__ void k(const float *x, float *mean, int *at, int rows, int cols) {\n" +
				"  for (int r = blockIdx.x; r < rows; r += gridDim.x) {\n" +
				"    const float *p = x + (size_t)r * cols;\n    float s = 0;\n" +
				"    for (int c = threadIdx.x; c < cols; c += 96) s += p[c];\n" +
				"    if (threadIdx.x == 0) { mean[r] = s; at[r] = 0; }\n  }\n}",
			"x=randn:f32[6,93] mean=zeros:f32[6] at=zeros:i32[6]",
		},
		{
			"a guard that returns, turned round, and a step under a name",
			"__global__ void k(const float *x, float *y, float *z, int n, int h, int w) {\n" +
				"  int c = threadIdx.x + blockIdx.x * blockDim.x, r = blockIdx.y, b = blockIdx.z;\n" +
				"  const int plane = h * w;\n  if (w <= c || r >= h || b >= n) return;\n" +
				"  y[b * plane + r * w + c] = x[(b * h + r) * w + c];\n  z[b * plane] = 0;\n}",
			"x=randn:f32[253,381,512] y=zeros:f32[253,381,512] z=zeros:f32[253,381,512]",
		},
		{
			"a pointer that is moved to its row",
			"__global__ void k(const float *x, float *y, int m, int n) {\n" +
				"  if (blockIdx.x >= m) return;\n  x += blockIdx.x * n;\n  for (int c = threadIdx.x; c < n; c += 32) y[c] += x[c];\n}",
			"x=randn:f32[6,93] y=randn:f32[93]",
		},
	} {
		var got []string
		for _, o := range SourceExample(read(c.source), "").Options {
			if strings.Contains(o, "[") {
				got = append(got, o)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}
