package hostcode

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources are those that debugkern/cli compiles.
const sources = "../cli/testdata/hostcode"

// toolkit finds what an NVRTC has at hand.
func toolkit(name string, _ bool) Origin {
	if slices.Contains([]string{
		"cuda_runtime.h", "cuda_runtime_api.h", "cuda.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h",
		"cooperative_groups.h",
		"cstdint", "cmath",
	}, name) {
		return Toolkit
	}
	return Missing
}

func extract(t *testing.T, text string, options Options) (*Result, string) {
	t.Helper()
	u := Read("a.cu", []byte(text))
	options.Find = toolkit
	r := Extract(options, u)
	out, ok := r.Texts["a.cu"]
	if !ok {
		return r, text
	}
	return r, string(out)
}

// TestParts: what stays of one declaration in a source whose kernel names K, and what does not. "-" marks
// what has to be gone.
func TestParts(t *testing.T) {
	const kernel = "\n__global__ void kern(float* x) { x[0] = K; }\n"
	const host = "void h() {}"
	for _, c := range []struct{ name, text, want string }{
		{"main", "int main(int argc, char** argv) { return K; }", ""},
		{"launcher", "void f() { kern<<<1, K>>>(0); }", ""},
		{"declared host function", "int K(int);", ""},
		{"device function", "__device__ int K = 1;", "__device__ int K = 1;"},
		{"constexpr variable", "constexpr int K = 1;", "constexpr int K = 1;"},
		{"const variable", "const int K = 1, L = 2;", "const int K = 1, L = 2;"},
		{"host variable", "int K = 1;", ""},
		{"extern host variable", "extern int K;", ""},
		{"enumerator", "enum { A, K };", "enum { A, K };"},
		{"unnamed type", "struct Unused { std::vector<int> v; };", ""},
		{"named type", "struct K { int v; };", "struct K { int v; };"},
		{"its host member", "struct K { int v; int get() const { return v; } };", "struct K { int v;  };"},
		{"its constructor", "struct K { int v; K(int a) : v{a} {} };", "struct K { int v;  };"},
		{"its defaulted constructor", "struct K { int v; K() = default; };",
			"struct K { int v; K() = default; };"},
		{"its device member", "struct K { __device__ int f() const { return 1; } };",
			"struct K { __device__ int f() const { return 1; } };"},
		{"its constexpr member", "struct K { constexpr int f() const { return 1; } };",
			"struct K { __host__ __device__ constexpr int f() const { return 1; } };"},
		{"function returning a struct", "struct K g(int a) { return {}; }", ""},
		{"constexpr function", "template <class T> constexpr T K(T a) { return a; }",
			"template <class T> __host__ __device__ constexpr T K(T a) { return a; }"},
		{"macro", "#define K 3", "#define K 3"},
		{"what a macro names", "const int L = 3;\n#define K L", "const int L = 3;\n#define K L"},
		{"annotation by a macro", "#define DEV __device__ inline\nDEV int K() { return 1; }",
			"#define DEV __device__ inline\nDEV int K() { return 1; }"},
		{"alias", "using K = float;", "using K = float;"},
		{"typedef", "typedef struct { int a; } K, *PK;", "typedef struct { int a; } K, *PK;"},
		{"pointer to function", "typedef int (*K)(int);", "typedef int (*K)(int);"},
		{"using of std", "using std::K;", "using std::K;"},
		{"unneeded using", "using std::vector;", ""},
		{"unknown namespace", "using namespace torch;", ""},
		{"known namespace", "using namespace std;", "using namespace std;"},
		{"host operator", "std::ostream& operator<<(std::ostream& o, int K) { return o; }", ""},
		{"device operator", "__device__ int operator==(float2 a, float2 b) { return 0; }",
			"__device__ int operator==(float2 a, float2 b) { return 0; }"},
		{"comment", "// int main() {\n/* kern<<<1, 1>>>() */", "// int main() {\n/* kern<<<1, 1>>>() */"},
		{"raw string", "static const char* s = R\"x(}\" __global__ {)x\";", ""},
		{"character", "void f() { char c = '{'; char d = '\\''; }", ""},
		{"extern C", "extern \"C\" {\nvoid f() {}\n}", "extern \"C\" {\n\n}"},
		{"namespace", "namespace a { namespace { void f() {} } }", "namespace a { namespace {  } }"},
		{"pragma in host code", "void f() {\n#pragma omp parallel\n}", "\n\n"},
		{"condition in host code", "void f() {\n#ifdef A\n g();\n#endif\n}", "\n#ifdef A\n\n#endif\n"},
		{"two heads", "#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n}",
			"#ifdef A\n\n#else\n\n#endif\n"},
		{"if 0", "#if 0\nit's }\n#endif\nvoid f() {}", "#if 0\nit's }\n#endif\n"},
		{"host include", "#include <vector>", "#include <shim>"},
		{"toolkit include", "#include <cuda_fp16.h>", "#include <cuda_fp16.h>"},
		{"host include of the toolkit", "#include <cuda.h>", "#include <shim>"},
		{"binding", "PYBIND11_MODULE(NAME, m) { m.def(\"f\", &f); }", ""},
		{"macro call without a semicolon", "REGISTER(kern)\n__device__ int K;", "\n__device__ int K;"},
		{"static_assert on what stays", "constexpr int K = 1;\nstatic_assert(K == 1, \"\");",
			"constexpr int K = 1;\nstatic_assert(K == 1, \"\");"},
		{
			"static_assert on the host's", "struct Options {};\nstatic_assert(sizeof(Options) == 1, \"\");",
			"\n",
		},
		{"static_assert on what is not seen", "static_assert(ON_THE_COMMAND_LINE, \"\");",
			"static_assert(ON_THE_COMMAND_LINE, \"\");"},
		{"template of the host's", "template <int N> struct H { std::array<int, (N > 1)> a; };", ""},
		{"explicit instantiation of the host's", "template void f<1>(int);", ""},
		{"trailing return", "auto f(int a) -> decltype(a) { return a; }", ""},
		{"array of lambdas", "auto f = [](int a) { return a; };", ""},
		{"brace initialiser", "std::vector<int> v{1, 2};", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := extract(t, c.text+kernel+host, Options{Shim: "shim"})
			got = strings.TrimRight(got, " ")
			var lines []string
			for _, l := range strings.Split(strings.TrimSuffix(got, kernel), "\n") {
				lines = append(lines, strings.Join(strings.Fields(l), " "))
			}
			var want []string
			for _, l := range strings.Split(c.want, "\n") {
				want = append(want, strings.Join(strings.Fields(l), " "))
			}
			if strings.Join(lines, "\n") != strings.Join(want, "\n") || !strings.HasSuffix(got, kernel) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestHost: what counts as code for the host.
func TestHost(t *testing.T) {
	for source, want := range map[string]bool{
		"__global__ void k(float* x) { x[0] = 1; }":                                  false,
		"// k<<<1, 1>>>()\n/* int main() */ __global__ void k() {}":                  false,
		"__device__ const char* s = \"int main() <<<\"; __device__ void k();":        false,
		"__global__ void k() {}\nint main() { k<<<1, 1>>>(); }":                      true,
		"__global__ void k() {}\nvoid go() { k<<<1, 1>>>(); }":                       true,
		"#include <torch/extension.h>\n__global__ void k() {}":                       true,
		"#include <cuda_fp16.h>\n__global__ void k(int domain (int)) {}":             false,
		"float* p; void f() { cudaMalloc(&p, 4); }":                                  true,
		"constexpr int f() { return 1; }\n__global__ void k(int* x) { x[0] = f(); }": false,
		"struct Unused { int a; };\n__global__ void k() {}":                          false,
		"#include <deep/unknown.h>\n__global__ void k() {}":                          false,
		"#include <unistd.h>\n__global__ void k() {}":                                true,
	} {
		r, _ := extract(t, source, Options{})
		if r.Host != want || !want && len(r.Blanked) > 0 {
			t.Errorf("%q: %v, want %v (%v)", source, r.Host, want, r.Blanked)
		}
	}
}

// TestSources: no source of the compiled ones keeps a launch, a main or an include that is not available, and
// none gains or loses a line.
func TestSources(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sources, "*.cu"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d sources: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		u := Read(file, text)
		r := Extract(Options{Find: toolkit, Shim: "shim", Instances: Instances(u)}, u)
		out := r.Texts[file]
		if bytes.Count(out, []byte("\n")) != bytes.Count(text, []byte("\n")) {
			t.Errorf("%s: another number of lines", file)
		}
		code := Read(file, out)
		for _, d := range code.decls {
			for i := d.from; i < d.to; i++ {
				if w := code.str(code.code[i]); w == "<<<" || w == "main" || w == "cout" {
					t.Errorf("%s:%d: %s is left", file, code.line(code.code[i].start), w)
				}
			}
		}
		if len(Kernels(u)) == 0 && !strings.Contains(file, "macro_kernels") &&
			!strings.Contains(file, "in_header") {
			t.Errorf("%s: no kernel is seen", file)
		}
	}
}

func TestLaunches(t *testing.T) {
	u := Read("a.cu", []byte(`
template <int BM, typename T = float, bool C = false>
__global__ void __launch_bounds__(BM * 2, 2) k(const T *__restrict__ x, T y[4], unsigned long long n, T (*f)(int));
template <int BM> void launch(float *x, int n) {
	const int threads = BM * 2, other = 3;
	dim3 grid((n + BM - 1) / BM, other), block(threads);
	size_t smem = BM * sizeof(float);
	k<BM><<<grid, block, smem, stream>>>(x, x, n >> 3, nullptr);
}
int main() { launch<64>(0, 1); launch<1 << 5>(0, 1); a::b::k<8, half, (2 > 1)><<<dim3(1, 2), 32>>>(); }
`))
	list := Launches(u)
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	l := list[0]
	if l.Kernel != "k" || strings.Join(l.Config, "|") != "grid|block|smem|stream" ||
		strings.Join(l.Args, "|") != "x|x|n >> 3|nullptr" || l.Line != 8 || l.Inside != "launch" {
		t.Errorf("%+v", l)
	}
	for name, want := range map[string]string{
		"grid": "dim3((n + BM - 1) / BM, other)", "block": "dim3(threads)", "threads": "BM * 2", "other": "3",
		"smem": "BM * sizeof(float)",
	} {
		if l.Locals[name] != want {
			t.Errorf("%s is %q, want %q", name, l.Locals[name], want)
		}
	}
	if m := list[1]; m.Kernel != "a::b::k" || strings.Join(m.Template, "|") != "8|half|(2 > 1)" ||
		strings.Join(m.Config, "|") != "dim3(1, 2)|32" {
		t.Errorf("%+v", m)
	}
	ks := Kernels(u)
	if len(ks) != 1 || ks[0].Defined || strings.Join(ks[0].Bounds, "|") != "BM * 2|2" ||
		ks[0].Example() != "k<64,float,false>" || len(ks[0].Parameters) != 4 {
		t.Fatalf("%+v", ks)
	}
	for i, want := range []Parameter{
		{"const T *__restrict__", "x", ""}, {"T", "y", ""}, {"unsigned long long", "n", ""},
	} {
		if ks[0].Parameters[i] != want {
			t.Errorf("%+v, want %+v", ks[0].Parameters[i], want)
		}
	}
	var names []string
	for _, i := range Instances(u) {
		names = append(names, i.Name)
	}
	if got := strings.Join(names, " "); got != "k<64,float,false> k<1 << 5,float,false> k<8,half,(2 > 1)>" {
		t.Errorf("instances %s", got)
	}
}

func TestInstantiate(t *testing.T) {
	got := string(Instantiate([]byte("a\nb"), []Instance{{Name: "k<1>"}, {Name: "n::k<2>", Space: "m::n::"}}))
	if got != "a\nb\nstatic_assert(&k<1> != nullptr, \"\");\nnamespace m { namespace n { static_assert(&n::k<2> != nullptr, \"\"); } }\n" {
		t.Errorf("%q", got)
	}
	if Lines([]byte("a\nb")) != 2 || Lines([]byte("a\nb\n")) != 2 || Lines(nil) != 0 {
		t.Error("lines")
	}
}

// FuzzExtract: whatever the bytes, nothing panics, every byte belongs to one token, and no
// line comes or goes.
func FuzzExtract(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(sources, "*.cu"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte(
		"template <template<<<>>>#if\n#else\nnamespace{{{struct operator R\"(\"x'\\\n#define\n#include \\\n<a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		u := Read("a.cu", text)
		end := 0
		for _, tok := range u.tokens {
			if tok.start != end || tok.end <= tok.start {
				t.Fatalf("token %v after %d", tok, end)
			}
			end = tok.end
		}
		if end != len(text) {
			t.Fatalf("%d of %d bytes are tokens", end, len(text))
		}
		Launches(u)
		r := Extract(Options{Find: toolkit, Shim: "shim", Instances: Instances(u)}, u)
		if out, ok := r.Texts["a.cu"]; ok &&
			bytes.Count(out, []byte("\n")) != bytes.Count(text, []byte("\n")) {
			t.Fatalf("%d lines became %d:\n%s", bytes.Count(text, []byte("\n")),
				bytes.Count(out, []byte("\n")), out)
		}
		for _, k := range Kernels(u) {
			k.Example()
			k.Wanted()
		}
	})
}

// TestNamed: the instance of a kernel template that a file names itself, with arguments that mean the same
// anywhere.
func TestNamed(t *testing.T) {
	u := Read("k.cu", []byte("namespace n { template <bool S, int V, typename T> __global__ void k(T *x) {} }\n"+
		"template <int V> void other() { run(n::k<true, V, float>); }\n"+
		"bool less(int k, int v) { return k < v; }\n"+
		"void host(bool s) { auto f = s ? n::k<true, 4, half> : n::k<false, 4, half>; }\n"+
		"template <int N> __global__ void alone(int *x) {}\nstruct P { int n; }; enum E { A }; union U { int i; };"))
	ks := Kernels(u)
	if got := ks[0].Named(u); got != "n::k<true,4,half>" {
		t.Errorf("%q", got)
	}
	if got := ks[1].Named(u); got != "" {
		t.Errorf("alone: %q", got)
	}
	if got := strings.Join(Structs(u), " "); got != "P U" {
		t.Errorf("structs %q", got)
	}
}

// TestAliases: types under other names, of typedef and of using; no pointers, templates or functions.
func TestAliases(t *testing.T) {
	u := Read("a.cu", []byte("typedef __nv_bfloat16 bf16;\nusing real = float;\n"+
		"typedef unsigned int word;\n"+
		"typedef float* list;\nusing namespace std;\nusing V = std::vector<int>;\ntypedef struct S { int a; } S;\n"+
		"#ifdef D\ntypedef double real2;\n#else\ntypedef float real2;\n#endif\nstruct Q { using W = float; };\n"))
	got := Aliases(u)
	if len(got) != 3 || got["bf16"] != "__nv_bfloat16" || got["real"] != "float" ||
		got["word"] != "unsigned int" {
		t.Errorf("%q", got)
	}
}
