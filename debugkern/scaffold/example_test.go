package scaffold

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

// TestSourceExample: block and grid are the source's where it has numbers for them; memory that is only read
// is random.
func TestSourceExample(t *testing.T) {
	for _, c := range []struct{ name, source, entry, want string }{
		{
			"nothing but the kernel", "__global__ void sum(const float *x, float *out, int n) {}", "",
			"--grid 3 --block 128 --arg x=randn:f32[384] --arg out=zeros:f32[384] --arg n=384",
		},
		{
			"a constant for the block", "constexpr int THREADS = 256;\n" +
				"__global__ void scale(const half *__restrict__ x, const int *at, half *y, float by) {}", "",
			"--grid 3 --block 256 --arg x=randn:f16[768] --arg at=randint(0,8):i32[768] --arg y=zeros:f16[768] " +
				"--arg by=0.5",
		},
		{
			"blocks so far apart", "__global__ void sum(float *x) { int i = blockIdx.x*256 + threadIdx.x; x[i] = 0; }",
			"", "--grid 3 --block 256 --arg x=zeros:f32[768]",
		},
		{
			"a shared cell for each thread", "__global__ void sum(const float *x, float *out) {\n" +
				"__shared__ float s[256], w[8];\nint tid = threadIdx.x;\nw[tid / 32] = 0;\ns[tid] = x[tid]; }",
			"", "--grid 3 --block 256 --arg x=randn:f32[768] --arg out=zeros:f32[768]",
		},
		{
			"a shared cell that is only compared", "__global__ void sum(float *x) {\n" +
				"__shared__ float s[256];\nif (s[threadIdx.x] == 0) x[0] = 1; }",
			"", "--grid 3 --block 128 --arg x=zeros:f32[384]",
		},
		{
			"vectors", "__global__ void k(const half2 *x, const uchar4 *c, float4 *y, int n) {}", "",
			"--grid 3 --block 128 --arg x=randn:f16[384,2] --arg c=randint(0,255):u8[384,4] " +
				"--arg y=zeros:f32[384,4] --arg n=384",
		},
		{
			"vectors that are allocated", "__global__ void k(const int *x, double2 *y, int n) {}\n" +
				"void run(int n, int *x) { double2 *y; cudaMalloc(&y, n * sizeof(double2)); " +
				"k<<<n / 64, 64>>>(x, y, n); }", "",
			"--grid 3 --block 64 --arg x=randint(0,8):i32[192] --arg y=zeros:f64[192,2] --arg n=192",
		},
		{
			"a square of threads, and several numbers",
			"__global__ void mm(const float *a, float *c, int M, int N) { c[threadIdx.y] = a[threadIdx.x]; }", "",
			"--grid 6,4 --block 16,16 --arg a=randn:f32[64,96] --arg c=zeros:f32[64,96] --arg M=64 --arg N=96",
		},
		{
			"a launch", "__global__ void k(float *x) {}\n" +
				"int main() { float *p; dim3 grid(3, 2); k<<<grid, 64>>>(p); }", "",
			"--grid 3,2 --block 64 --arg x=zeros:f32[384]",
		},
		{
			"a launch with dynamic shared memory", "__global__ void k(float *x) { extern __shared__ float s[]; }\n" +
				"int main() { float *p; k<<<8, 128, 512>>>(p); }", "",
			"--grid 8 --block 128 --shared 512 --arg x=zeros:f32[1024]",
		},
		{
			"the arguments of the template that is launched",
			"template <typename T, int N> __global__ void k(const T *x, T *y) { y[0] = x[N]; }\n" +
				"template <int M> void other(float *p) { k<float, M><<<1, 32>>>(p, p); }\n" +
				"int main() { half *p; k<half, 2><<<3, 64>>>(p, p); }", "",
			"--entry k<half,2> --grid 3 --block 64 --arg x=randn:f16[192] --arg y=zeros:f16[192]",
		},
		{
			"a half template",
			"template <typename T> __global__ void k(const T *x, T *y) { y[0] = x[0]; }\n" +
				"int main() { half *p; k<half><<<3, 64>>>(p, p); }", "",
			"--grid 3 --block 64 --arg x=randn:f16[192] --arg y=zeros:f16[192]",
		},
		{
			"a struct, and a type that is none", "enum Mode { A, B };\nstruct Params { const float *x; int n; };\n" +
				"__global__ void k(const Params p, Mode mode, float *y) { y[0] = p.x[p.n]; }", "",
			"--grid 3 --block 128 --arg p={0: 0:u8} --arg mode=1 --arg y=zeros:f32[384]",
		},
		{
			"one of two", "__global__ void a(int *x) {}\n__global__ void b(int *x) {}", "b",
			"--grid 3 --block 128 --arg x=zeros:i32[384]",
		},
		{
			"the first of two", "__global__ void a(int *x) {}\n__global__ void b(int *x) {}", "",
			"--entry a --grid 3 --block 128 --arg x=zeros:i32[384]",
		},
		{
			"two of one name", "namespace a { __global__ void k(float *x) {} }\n" +
				"namespace b { __global__ void k(float *x, int n) {} }", "b::k",
			"--grid 3 --block 128 --arg x=zeros:f32[384] --arg n=384",
		},
	} {
		e := SourceExample(read(c.source), c.entry)
		if e == nil {
			t.Errorf("%s: no example", c.name)
			continue
		}
		if got := strings.Join(e.Options, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if e := SourceExample(read("void host() {}"), ""); e != nil {
		t.Errorf("without a kernel: %v", e)
	}
	got := SourceExample(read("__global__ void sum(const float *x, int n) {}"), "").Kernel
	if got != "sum(const float * x, int n)" {
		t.Errorf("declared as %q", got)
	}
}

// TestValuesForWhatIsGiven: values agree with what was given: a grid of blocks that take a row each has as
// many rows, and the extents of memory that was given are those of the other arguments too.
func TestValuesForWhatIsGiven(t *testing.T) {
	const softmax = `__global__ void row_softmax(const float* x, float* y, int rows, int cols) {
    __shared__ float part[128];
    const int t = threadIdx.x;
    const float* in = x + (long)blockIdx.x * cols;
    float m = -1e30f;
    for (int c = t; c < cols; c += 128) m = fmaxf(m, in[c]);
    part[t] = m;
    __syncthreads();
    float sum = 0.f;
    for (int c = t; c < cols; c += 128) sum += __expf(in[c] - part[0]);
    for (int c = t; c < cols; c += 128) y[(long)blockIdx.x * cols + c] = __expf(in[c] - part[0]) / sum;
}`
	rows := int64(12)
	for _, c := range []struct {
		name  string
		given Given
		want  string
	}{
		{"the launch", Given{Grid: probes.Dim3{6, 1, 1}}, "randn:f32[6,128] zeros:f32[6,128] 6 128"},
		{"another launch", Given{Grid: probes.Dim3{5, 1, 1}}, "randn:f32[5,128] zeros:f32[5,128] 5 128"},
		{"memory too", Given{Grid: probes.Dim3{6, 1, 1}, Extents: [][]int{{6, 200}, nil, nil, nil}},
			"randn:f32[6,200] zeros:f32[6,200] 6 200"},
		{"a number", Given{Grid: probes.Dim3{6, 1, 1}, Integers: []*int64{nil, nil, &rows, nil}},
			"randn:f32[12,128] zeros:f32[12,128] 12 128"},
	} {
		c.given.Block = probes.Dim3{128, 1, 1}
		f := parameters(t, ".u64", ".u64", ".u32", ".u32")
		if got := strings.Join(ValuesFor(f, read(softmax), c.given), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	f, grid := parameters(t, ".u64", ".u64", ".u32", ".u32"), probes.Dim3{6, 1, 1}
	got := strings.Join(ValuesFor(f, Source{}, Given{Grid: grid, Block: probes.Dim3{128, 1, 1}}), " ")
	if want := "randn:f32[768] zeros:f32[768] 27 27"; got != want {
		t.Errorf("PTX alone: got %s, want %s", got, want)
	}
}

// parameters is an entry row_softmax of parameters of these types; memory is read through the first and
// written through the second.
func parameters(t *testing.T, types ...string) *ptx.Func {
	t.Helper()
	var list []string
	for i, ty := range types {
		list = append(list, fmt.Sprintf(".param %s row_softmax_%d", ty, i))
	}
	m, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry row_softmax(`+strings.Join(list, ", ")+`) {
	.reg .b64 %rd<5>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd1, [row_softmax_0];
	ld.param.u64 %rd2, [row_softmax_1];
	ld.global.f32 %f1, [%rd1];
	st.global.f32 [%rd2], %f1;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	return m.Entries()[0]
}

// TestModuleExample: PTX has no names; what is stored through is no input.
func TestModuleExample(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1) .maxntid 64 {
	.reg .b64 %rd<2>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd1, [k_0];
	st.global.f32 [%rd1], 0f00000000;
	ret;
}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(ModuleExample(m.Entries()[0]).Options, " ")
	if want := "--grid 3 --block 64 --arg 0=zeros:f32[192] --arg 1=192"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
