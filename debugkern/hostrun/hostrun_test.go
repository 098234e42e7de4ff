package hostrun

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/hostcode"
)

// describe writes launches as text, one line each.
func describe(list []Launch) string {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%d %s", l.Line, l.Kernel)
		for _, d := range []*[3]int64{l.Grid, l.Block} {
			if d == nil {
				b.WriteString(" ?")
			} else {
				fmt.Fprintf(&b, " %d,%d,%d", d[0], d[1], d[2])
			}
		}
		fmt.Fprintf(&b, " %d", l.Shared)
		if l.Cluster != nil {
			fmt.Fprintf(&b, " cluster %d,%d,%d", l.Cluster[0], l.Cluster[1], l.Cluster[2])
		}
		if l.Cooperative {
			b.WriteString(" cooperative")
		}
		if l.Assumed {
			b.WriteString(" assumed")
		}
		b.WriteString(":")
		for _, a := range l.Args {
			b.WriteString(" " + describeArgument(a))
		}
		for _, s := range l.Symbols {
			fmt.Fprintf(&b, " %s=%s", s.Name, s.Initial)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func describeArgument(a Argument) string {
	switch {
	case a.Int != nil:
		return fmt.Sprint(*a.Int)
	case a.Float != nil:
		return fmt.Sprint(*a.Float, "f")
	case a.Memory != nil:
		m := a.Memory
		s := fmt.Sprintf("%s*%d", m.Type, m.Bytes)
		if m.Offset > 0 {
			s += fmt.Sprintf("+%d", m.Offset)
		}
		switch {
		case m.Ints != nil:
			s += fmt.Sprint(m.Ints)
		case m.Floats != nil:
			s += fmt.Sprint(m.Floats)
		case m.Range:
			s += fmt.Sprintf("[%d..%d]", m.Lo, m.Hi)
		case m.Written:
			s += "[?]"
		}
		return s
	case a.Struct != nil:
		var list []string
		for _, f := range a.Struct.Fields {
			list = append(
				list,
				fmt.Sprintf("%s@%d %s %s", f.Name, f.At, f.Type, describeArgument(f.Argument)),
			)
		}
		return fmt.Sprintf("%s(%d){%s}", a.Struct.Name, a.Struct.Bytes, strings.Join(list, ", "))
	}
	return "?"
}

// sources are sources, with their launches as describe writes them.
var sources = map[string]struct{ source, want string }{
	"plain": {`
__global__ void k(const float *a, float *b, int n, float s);
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { printf("%s %s", #call, cudaGetErrorString(e)); exit(1); } } while (0)
#define TILE 16
int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 70;
	size_t bytes = n * sizeof(float);
	float *h = (float *)malloc(bytes), *a, *b;
	for (int i = 0; i < n; i++) h[i] = rand() / (float)RAND_MAX;
	CHECK(cudaMalloc(&a, bytes));
	CHECK(cudaMalloc((void **)&b, bytes * 2));
	CHECK(cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice));
	dim3 block(TILE, 2), grid((n + TILE - 1) / TILE);
	k<<<grid, block, TILE * sizeof(float)>>>(a, b, n, 1.0f / sqrtf((float)64));
	CHECK(cudaGetLastError());
	return 0;
}`, "14 k 5,1,1 16,2,1 64: float*280[?] float*560 70 0.125f\n"},
	"struct": {`
struct Shape { int rows, cols; };
struct P { float *x; Shape s; float eps; const int *len; };
__global__ void k(P p);
void run(int rows, int cols) {
	P p{};
	std::vector<int> len(rows);
	for (auto &l : len) l = cols - (&l - &l);
	cudaMalloc(&p.x, rows * cols * sizeof(float));
	int *d;
	cudaMalloc(&d, len.size() * sizeof(int));
	cudaMemcpy(d, len.data(), len.size() * 4, cudaMemcpyHostToDevice);
	p.len = d;
	p.s = {rows, cols};
	p.eps = 1e-5f;
	k<<<p.s.rows, 128>>>(p);
}
int main() { run(3, 200); }`, "16 k 3,1,1 128,1,1 0: P(32){x@0 float float*2400, s.rows@8 int 3, s.cols@12 int 200, " +
		"eps@16 float 9.999999747378752e-06f, len@24 int int*12[200 200 200]}\n"},
	"arrays": {`
__constant__ float filt[3];
__global__ void k(const int *off, const int *idx, int n);
int main() {
	const int bags = 4;
	int off[bags + 1] = {0, 2, 3, 7, 9}, *doff, *didx;
	std::vector<int> idx;
	for (int i = 0; i < off[bags]; i++) idx.push_back(rand() % 50 + 1);
	float f[] = {0.25f, 0.5f, 0.25f};
	cudaMalloc(&doff, sizeof off);
	cudaMalloc(&didx, idx.size() * sizeof(int));
	cudaMemcpy(doff, off, sizeof(off), cudaMemcpyHostToDevice);
	cudaMemcpy(didx, idx.data(), idx.size() * sizeof(int), cudaMemcpyHostToDevice);
	cudaMemcpyToSymbol(filt, f, sizeof f);
	for (int rep = 0; rep < 3; ++rep) k<<<bags, 32>>>(doff + 1, didx, off[bags] - 1);
}`, "15 k 4,1,1 32,1,1 0: int*16+4[2 3 7 9] int*36[1..50] 8 filt={float(0.25), float(0.5), float(0.25)}\n"},
	"templates": {`
template <typename T, int B> __global__ void k(T *x, size_t n);
template <typename T, int B> void go(size_t n) {
	T *x;
	cudaMalloc(&x, n * sizeof(T));
	auto cdiv = [](size_t a, size_t b) { return (a + b - 1) / b; };
	k<T, B><<<cdiv(n, B), B>>>(x, n);
	cudaFree(x);
}
int main() { go<half, 64>(100); go<double, 32>(5); }`, "7 k 2,1,1 64,1,1 0: half*200 100\n"},
	"unknown": {`
__global__ void k(float *x, int n, int m);
int main() {
	int n = 8, m = 4;
	if (getenv("N")) n = atoi(getenv("N"));
	configure(&m);
	float *x;
	cudaMalloc(&x, n * 4);
	k<<<n, 32>>>(x, n, m);
	k<<<1, 32>>>(x, 3, -1);
}`, "9 k ? 32,1,1 0: ? ? ?\n10 k 1,1,1 32,1,1 0: ? 3 -1\n"},
	"long loop": {`
__global__ void k(float *x, int n);
int main() {
	int n = 1 << 24, count = 0;
	std::vector<float> h(n);
	for (int i = 0; i < n; i++) { h[i] = sinf(i); count += 1; }
	float *x;
	cudaMalloc(&x, n * sizeof(float));
	cudaMemcpy(x, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	k<<<n / 256, 256>>>(x, count);
}`, "10 k 65536,1,1 256,1,1 0: float*67108864[?] ?\n"},
	"constant memory": {`
struct Tap { int at; float by; };
__constant__ float square[2][2];
__constant__ Tap taps[2];
__constant__ unsigned mask;
__device__ float noise[2];
__global__ void k();
int main() {
	float flat[4] = {1, 2, 3, 4}, noisy[2];
	Tap list[] = {{-1, 0.5f}, {1, 0.25f}};
	unsigned m = ~0u;
	for (float &v : noisy) v = rand() / float(RAND_MAX);
	cudaMemcpyToSymbol(square, flat, sizeof(square));
	cudaMemcpyToSymbol(taps, list, sizeof list);
	cudaMemcpyToSymbol(mask, &m, sizeof m);
	cudaMemcpyToSymbol(noise, noisy, sizeof noisy);
	k<<<1, 32>>>();
}`, "17 k 1,1,1 32,1,1 0: mask={4294967295ULL} noise={float(0.4109), float(0.7492)} " +
		"square={float(1), float(2), float(3), float(4)} taps={-1, float(0.5), 1, float(0.25)}\n"},
	"classes": {`
template <typename T> class Buffer {
	T *data_ = nullptr;
	size_t count_;
public:
	static constexpr int Align = 256;
	explicit Buffer(size_t count) : count_(count) { check(cudaMalloc(&data_, bytes())); }
	Buffer(const Buffer &) = delete;
	~Buffer() { cudaFree(data_); }
	size_t bytes() const { return count_ * sizeof(T); }
	T *get() { return this->data_; }
};
struct Problem {
	int rows = 3, cols{5};
	int size() const { return rows * cols; }
	dim3 grid() const { return dim3((cols + 3) / 4, rows); }
};
__global__ void k(float *x, short *y, Problem p, char *z);
int main() {
	Problem p;
	p.cols = 9;
	Buffer<float> x(p.size());
	Buffer<short> y{7};
	char *z; size_t pitch;
	cudaMallocPitch((void **)&z, &pitch, 600, 2);
	k<<<p.grid(), 64, pitch>>>(x.get(), y.get(), p, z);
}`, "26 k 3,3,1 64,1,1 1024: float*108 short*14 Problem(8){rows@0 int 3, cols@4 int 9} char*2048\n"},
	"constants of types": {`
template <int BM, int BK> struct Tile {
	static constexpr int kPad = 8, kThreads = BM * 2;
	static constexpr size_t kBytes = (BK + kPad) * sizeof(short);
	using Element = short;
};
using Cfg = Tile<64, 32>;
template <class C> __global__ void k(typename C::Element *x, int n);
int main() {
	using T = Tile<16, 8>;
	Cfg::Element *x;
	cudaMalloc(&x, 10 * sizeof(T::Element));
	k<Cfg><<<T::kPad, Cfg::kThreads, Tile<4, 4>::kBytes>>>(x, T::kThreads);
}`, "13 k 8,1,1 128,1,1 24: short*20 32\n"},
	"conditions": {`
#ifndef BLOCK
#define BLOCK 96
#endif
#ifdef DEBUG
const int rows = 1;
#else
const int rows = 6;
#endif
enum Kind { F16, F32 };
struct Base { int n; };
struct alignas(16) Derived : Base { float *p; };
union Bits { float f; unsigned u; };
__global__ void k(Derived d, int a, int b, int c, Bits e);
void go(Kind kind, int n) {
	int a = 0;
	switch (kind) {
	case F16: a += 1;
	case F32: a += 2; break;
	default: a = 9;
	}
	int m = 1;
#if CUDART_VERSION >= 12000
	m = 2;
#endif
	Derived d; d.n = n;
	cudaMalloc(&d.p, n * 4);
	Bits e;
#if defined(BLOCK) && BLOCK > 64 || 0
	k<<<rows, BLOCK>>>(d, a, m, n, e);
#else
	k<<<1, 1>>>(d, a, m, n, e);
#endif
}
int main() {
	std::vector<std::pair<int, Kind>> cases = {{5, F32}, {7, F16}};
	for (const auto &[n, kind] : cases) go(kind, n);
}`, "30 k 6,1,1 96,1,1 0: Derived(16){n@0 int 5, p@8 float float*20} 2 ? 5 ?\n"},
	"overloads": {`
__global__ void k(float *x, int *y, int n);
void fill(float *p, int n) { for (int i = 0; i < n; i++) p[i] = 1.0f; }
void fill(int *p, int n) { for (int i = 0; i < n; i++) p[i] = i * i; }
int side(int n) { return n; }
double side(double n) { return n / 2; }
int main() {
	try {
		std::vector<float> a(2);
		std::vector<int> b(3), c(4);
		fill(a.data(), 2);
		fill(b.data(), 3);
		std::mt19937 gen(1);
		std::uniform_int_distribution<int> pick(2, 5);
		for (auto &v : c) v = pick(gen);
		float *x; int *y;
		cudaMalloc(&x, a.size() * 4);
		cudaMalloc(&y, 16);
		cudaMemcpy(x, a.data(), 8, cudaMemcpyHostToDevice);
		cudaMemcpy(y, b.data(), 12, cudaMemcpyHostToDevice);
		k<<<side(3), 32>>>(x, y, c[0]);
		cudaMemcpy(y, c.data(), 16, cudaMemcpyHostToDevice);
		k<<<1, side(64.0)>>>(x, y, 0);
	} catch (const std::exception &e) { return 1; }
}`, "21 k 3,1,1 32,1,1 0: float*8[1 1] int*16[0..4] ?\n23 k 1,1,1 32,1,1 0: float*8[?] int*16[2..5] 0\n"},
	"jumps that may be": {`
__global__ void k(int a, int b, int c, int d, int e, int f, int g, int h);
int early() { if (getenv("X")) return 1; return 2; }
void set(int &to) { if (getenv("X")) return; to = 5; }
int found() { for (int i = 0; i < 3; i++) if (lookup(i)) return i; return 9; }
void bump(int &to) { to++; }
int main() {
	int a = 0, b = 1, d = 0, e = 7, g = 0;
	for (int i = 0; i < 4; i++) { if (getenv("X")) break; a++; }
	set(b);
	for (int i = 0; i < 4; i++) { for (int j = 0; j < 2; j++) { if (getenv("X")) continue; d++; } g++; }
	std::cin >> e;
	int f = 3;
	if (getenv("X")) bump(f);
	int h = early();
	k<<<1, 32>>>(a, b, found(), d, e, f, g, h);
}`, "16 k 1,1,1 32,1,1 0: ? ? ? ? ? ? 4 ?\n"},
	"evaluated once": {`
struct Buf { int n; Buf(int n) : n(n) {} };
int twice(int n) { return 2 * n; }
float twice(float n) { return 2 * n; }
__global__ void k(int a, int b, int c, int d);
int main() {
	int n = 1;
	int a = twice(n++);
	Buf b(n++);
	std::vector<int> v;
	v.resize(n++);
	k<<<1, 32>>>(a, b.n, v.size(), n);
}`, "12 k 1,1,1 32,1,1 0: 2 2 3 4\n"},
	"arrays by unique_ptr, constants": {`
__global__ void k(const int *x, int n, int m);
int main() {
	constexpr int n = 5;
	int m = 6;
	auto h = std::make_unique<int[]>(n);
	for (int i = 0; i < n; ++i) h[i] = 2 * i;
	int *x;
	cudaMalloc(&x, n * sizeof(int));
	cudaMemcpy(x, h.get(), n * sizeof(int), cudaMemcpyHostToDevice);
	plotted(h, @n, @m);
	k<<<1, 32>>>(x, n, m);
}`, "12 k 1,1,1 32,1,1 0: int*20[0 2 4 6 8] 5 ?\n"},
	"constructors by their arguments": {`
template <class T> struct Buf {
	T *p = nullptr;
	size_t n;
	explicit Buf(size_t n) : n(n) { cudaMalloc(&p, n * sizeof(T)); }
	Buf(const std::vector<T> &v) : Buf(v.size()) {
		cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
	}
};
__global__ void k(const int *x, float *y);
int main() {
	std::vector<int> h = {4, 5, 6};
	Buf<int> x(h);
	Buf<float> y(h.size());
	k<<<1, 32>>>(x.p, y.p);
}`, "15 k 1,1,1 32,1,1 0: int*12[4 5 6] float*12\n"},
	"a check that returns": {`
#define CHECK(e) do { cudaError_t err = (e); if (err != cudaSuccess) { printf("%d", err); return 1; } } while (false)
__global__ void k(float *x);
int main() {
	float *x;
	CHECK(cudaMalloc(&x, 40));
	k<<<1, 32>>>(x);
}`, "7 k 1,1,1 32,1,1 0: float*40\n"},
	"exchanged, and by what a call returns": {`
__global__ void k(const int *a, const int *b, int n);
int main() {
	std::vector<int> v = {0, 1, 2, 3}, w = {4, 5, 6};
	int n = 1, m = 2, *a, *b;
	std::swap(v[0], v[3]);
	swap(n, m);
	w.at(1) = 9;
	w.back() = 0;
	cudaMalloc(&a, 16);
	cudaMalloc(&b, 12);
	cudaMemcpy(a, v.data(), 16, cudaMemcpyHostToDevice);
	cudaMemcpy(b, w.data(), 12, cudaMemcpyHostToDevice);
	k<<<1, 32>>>(a, b, n);
}`, "14 k 1,1,1 32,1,1 0: int*16[3 1 2 0] int*12[?] 2\n"},
	"for a device": {`
__global__ void k(int n, int m);
int main() {
	int grid, block, most, sms, other;
	cudaDeviceProp prop;
	cudaGetDeviceProperties(&prop, 0);
	cudaOccupancyMaxPotentialBlockSize(&grid, &block, k, 0, 192);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&most, k, block, 0);
	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	cudaDeviceGetAttribute(&other, cudaDevAttrClockRate, 0);
	k<<<grid, block>>>(sms * most, prop.multiProcessorCount);
	k<<<prop.warpSize, 32>>>(other, 3);
}`, "11 k 8,1,1 192,1,1 0 assumed: 8 4\n12 k 32,1,1 32,1,1 0 assumed: ? 3\n"},
	"by a configuration": {`
__global__ void k(float *x, int n);
int main() {
	float *x;
	cudaMalloc(&x, 40);
	cudaLaunchConfig_t config = {0};
	config.gridDim = 3;
	config.blockDim = dim3(32, 2);
	config.dynamicSmemBytes = 64;
	cudaLaunchKernelEx(&config, k, x + 2, 8);
}`, "10 k 3,1,1 32,2,1 64: float*32+8 8\n"},
	"attributes": {`
__global__ void k(int n);
int main() {
	cudaLaunchConfig_t config = {};
	config.gridDim = 4;
	config.blockDim = 64;
	cudaLaunchAttribute list[2];
	list[0].id = cudaLaunchAttributeClusterDimension;
	list[0].val.clusterDim.x = 2;
	list[0].val.clusterDim.y = 1;
	list[0].val.clusterDim.z = 1;
	list[1].id = cudaLaunchAttributeCooperative;
	list[1].val.cooperative = 1;
	config.attrs = list;
	config.numAttrs = 1;
	cudaLaunchKernelEx(&config, k, 8);
	config.numAttrs = 2;
	cudaLaunchKernelEx(&config, k, 9);
	int n = 7;
	void *args[] = {&n};
	cudaLaunchCooperativeKernel((void *)k, 3, 32, args);
}`, "16 k 4,1,1 64,1,1 0 cluster 2,1,1: 8\n18 k 4,1,1 64,1,1 0 cluster 2,1,1 cooperative: 9\n" +
		"21 k 3,1,1 32,1,1 0 cooperative: 7\n"},
	"many long loops": {`
__global__ void k(const float *a, float *b, int n);
int main() {
	const int n = 1 << 22;
	std::vector<float> a(n), b(n), c(n), d(n), e(n), f(n);
	for (int i = 0; i < n; i++) a[i] = i;
	for (int i = 0; i < n; i++) b[i] = a[i] * 2;
	for (int i = 0; i < n; i++) c[i] = b[i] * 2;
	for (int i = 0; i < n; i++) d[i] = c[i] * 2;
	for (int i = 0; i < n; i++) e[i] = d[i] * 2;
	for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) f[i] += e[j];
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, f.data(), n * sizeof(float), cudaMemcpyHostToDevice);
	k<<<n / 256, 256>>>(x, y, n);
}`, "16 k 16384,1,1 256,1,1 0: float*16777216[?] float*16777216 4194304\n"},
	"by address": {`
__global__ void k(float *x, int n);
int main() {
	float *x; int n = 5;
	cudaMalloc((void **)&x, n * sizeof(float));
	cudaMemset(x, 0, n * sizeof(float));
	void *args[] = {&x, &n};
	cudaLaunchKernel((const void *)k, dim3(2), dim3(64), args, 128, 0);
}`, "8 k 2,1,1 64,1,1 128: float*20[0 0 0 0 0] 5\n"},
}

func TestRun(t *testing.T) {
	for name, c := range sources {
		if got := describe(Run(hostcode.Read("a.cu", []byte(c.source)))); got != c.want {
			t.Errorf("%s:\n%swant:\n%s", name, got, c.want)
		}
	}
}

// FuzzRun: no text makes an execution fail.
func FuzzRun(f *testing.F) {
	for _, c := range sources {
		f.Add(c.source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		Run(hostcode.Read("a.cu", []byte(source)))
	})
}

// TestCut: a text that ends anywhere, or that a line is missing from, is no failure either.
func TestCut(t *testing.T) {
	for name, c := range sources {
		if strings.Contains(name, "long loop") {
			continue
		}
		lines := strings.SplitAfter(c.source, "\n")
		for i := range lines {
			without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			Run(hostcode.Read("a.cu", []byte(without)))
		}
		if len(c.source) > 1000 {
			continue
		}
		for i := 0; i < len(c.source); i += 3 {
			Run(hostcode.Read("a.cu", []byte(c.source[:i]+c.source[i+1:])))
		}
	}
}
