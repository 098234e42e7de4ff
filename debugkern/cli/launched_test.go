package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLaunchedAsMain: grid, attributes, extents and contents of a launch are those of main, in the command
// that check proposes and in the manifest that init writes, and what the kernel needs of them is executed.
func TestLaunchedAsMain(t *testing.T) {
	for name, c := range map[string]struct {
		source  string
		options []string // of both commands
		asMain  string   // of the proposal: what it has as main makes it
		finds   string   // of the proposed command
		init    []string // the manifest has
	}{
		"cooperative": {
			source: `#include <cooperative_groups.h>
__global__ void k(float *x, int n) {
    x[blockIdx.x] = n;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0) x[gridDim.x] = x[n - 1];
}
int main() {
    int n = 3;
    float *x;
    cudaMalloc(&x, 4 * sizeof(float));
    void *args[] = {&x, &n};
    cudaLaunchCooperativeKernel((void *)k, dim3(n), dim3(1), args, 0, 0);
}
`,
			asMain: "--grid 3 --block 1 --arg 'x=unwritten:f32[4]' --arg n=3 --cooperative", finds: ": clean",
			init: []string{"grid: [n, 1, 1]", "cooperative: true"},
		},
		"a cluster": {
			source: `__global__ void k(unsigned *x) {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(rank));
    x[blockIdx.x] = rank;
}
int main() {
    unsigned *x;
    cudaMalloc(&x, 4 * sizeof(unsigned));
    cudaLaunchConfig_t config = {0};
    config.gridDim = dim3(4);
    config.blockDim = dim3(1);
    cudaLaunchAttribute list[1];
    list[0].id = cudaLaunchAttributeClusterDimension;
    list[0].val.clusterDim.x = 2;
    list[0].val.clusterDim.y = list[0].val.clusterDim.z = 1;
    config.attrs = list;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, k, x);
}
`,
			options: []string{"--arch", "sm_90"},
			asMain:  "--grid 4 --block 1 --cluster 2 --arg 'x=unwritten:u32[4]'", finds: ": clean",
			init: []string{"grid: [4, 1, 1]", "cluster: [2, 1, 1]"},
		},
		"a grid that a function returns": {
			source: `__global__ void k(float *y, int n) {
    int i = blockIdx.y * 32 + threadIdx.x;
    if (i < n) y[blockIdx.x * n + i] = i;
}
static dim3 blocks(int rows, int n) { return dim3(rows, (n + 31) / 32); }
int main() {
    int rows = 4, n = 80;
    float *y;
    cudaMalloc(&y, rows * n * sizeof(float));
    k<<<blocks(rows, n), 32>>>(y, n);
}
`,
			asMain: "--grid 4,3 --block 32", finds: ": clean", init: []string{"grid: [4, 3, 1]"},
		},
		"one of two instances": {
			source: `enum class Op { Sum, Scale };
template <Op OP, typename T> __global__ void k(T *x, float f) {
    x[threadIdx.x] = OP == Op::Scale ? T(f) : T(1);
}
template <Op OP> void apply(unsigned char *x, float f) { k<OP, unsigned char><<<1, 32>>>(x, f); }
int main() {
    unsigned char *x;
    cudaMalloc(&x, 32);
    if (getenv("SUM")) apply<Op::Sum>(x, 0.f);
    apply<Op::Scale>(x, 2.5f);
}
`,
			asMain: "--entry 'k<Op::Scale,unsigned char>' --grid 1 --block 32", finds: ": clean",
		},
		"memory that nothing was written to": {
			source: `__global__ void k(const float *x, float *sum) { atomicAdd(sum, x[threadIdx.x]); }
int main() {
    float *x, *sum;
    cudaMalloc(&x, 32 * sizeof(float));
    cudaMalloc(&sum, sizeof(float));
    k<<<1, 32>>>(x, sum);
}
`,
			asMain: "'sum=unwritten:f32[1]'", finds: "uninitialised (error): sum[0] is read before it is written",
			init: []string{`name: sum, type: "f32*", dims: [1], role: inout, fill: "unwritten"`},
		},
		"operands of wmma": {
			source: `#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
__global__ void k(const half *A, const half *B, float *C, int M, int N, int K, float scale) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.f);
    for (int k = 0; k < K; k += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);
        wmma::mma_sync(acc, a, b, acc);
    }
    for (int i = 0; i < acc.num_elements; i++) acc.x[i] *= scale;
    wmma::store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, acc, N, wmma::mem_row_major);
}
void launch(const half *a, const half *b, float *c, int m, int n, int depth) {
    dim3 grid(n / 16, m / 16);
    k<<<grid, 32>>>(a, b, c, m, n, depth, 0.25f);
}
int main() {
    const int M = 48, N = 32, K = 80;
    half *a, *b;
    float *c;
    cudaMalloc(&a, M * K * sizeof(half));
    cudaMalloc(&b, K * N * sizeof(half));
    cudaMalloc(&c, M * N * sizeof(float));
    launch(a, b, c, M, N, K);
}
`,
			asMain: "--grid 2,3 --block 32", finds: ": clean",
			init: []string{
				`name: A, type: "f16*", dims: [M, K], role: input`,
				`name: B, type: "f16*", dims: [K, N], role: input`,
				"validation: {M: 48, N: 32, K: 80}",
			},
		},
		"a product that is scaled": {
			source: `__global__ void k(const float *A, const float *B, float *C, int M, int N, int K, float alpha) {
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 8 + threadIdx.x;
    float acc = 0;
    for (int i = 0; i < K; i++) acc += row < M && col < N ? A[row * K + i] * B[i * N + col] : 0;
    if (row < M && col < N) C[row * N + col] = alpha * acc;
}
int main() {
    const int M = 20, N = 12, K = 9;
    float *a, *b, *c;
    cudaMalloc(&a, M * K * sizeof(float));
    cudaMalloc(&b, K * N * sizeof(float));
    cudaMalloc(&c, M * N * sizeof(float));
    k<<<dim3((N + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(a, b, c, M, N, K, 0.5f);
}
`,
			asMain: "--grid 2,3 --block 8,8", finds: ": clean", init: []string{`map: "x * 0.5", x: {matmul:`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeKernel(t, "k.cu", []byte(c.source))
			t.Chdir(filepath.Dir(file))
			text, errText, code := call(t, append([]string{"check", "k.cu"}, c.options...)...)
			skipWithoutNVRTC(t, code, errText)
			if !strings.Contains(errText, "makes it") || !strings.Contains(errText, c.asMain) {
				t.Fatalf("exit %d: %s%s", code, text, errText)
			}
			words, entry := errText[strings.LastIndex(errText, "--grid"):], []string(nil)
			if _, after, ok := strings.Cut(errText, "--entry '"); ok {
				name, _, _ := strings.Cut(after, "'")
				entry = []string{"--entry", name}
			}
			args := append(entry, strings.Fields(strings.ReplaceAll(words, "'", ""))...)
			text, errText, code = call(t, append(append([]string{"check", "k.cu"}, c.options...), args...)...)
			if !strings.Contains(text, c.finds) {
				t.Errorf("%q: exit %d: %s%s", args, code, text, errText)
			}
			if entry != nil {
				c.options = append(c.options, entry...)
			}
			if text, errText, code = call(t, append([]string{"init", "k.cu"}, c.options...)...); code != 0 {
				t.Fatalf("exit %d: %s%s", code, text, errText)
			}
			manifest, err := os.ReadFile("k.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.init {
				if !strings.Contains(string(manifest), want) {
					t.Errorf("no %q in\n%s", want, manifest)
				}
			}
			if entry != nil {
				return
			}
			if text, errText, code = call(t, append([]string{"run", "k.yaml"}, c.options...)...); code > 1 {
				t.Errorf("exit %d: %s%s", code, text, errText)
			}
		})
	}
}

// TestNotCooperative: the trap of a grid's barrier in a launch that is not cooperative names the option.
func TestNotCooperative(t *testing.T) {
	file := writeKernel(t, "k.cu", []byte(`#include <cooperative_groups.h>
__global__ void k(float *x) {
    x[blockIdx.x] = 1;
    cooperative_groups::this_grid().sync();
}
`))
	text, errText, code := call(t, "check", file, "--grid", "2", "--block", "32", "--arg", "x=zeros:f32[2]")
	skipWithoutNVRTC(t, code, errText)
	if code != 1 || !strings.Contains(text, "the launch is not cooperative: --cooperative") {
		t.Errorf("exit %d: %s%s", code, text, errText)
	}
}
