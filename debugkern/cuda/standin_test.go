package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMove: NVRTC's own std::move is the only one, with the header that declares it and with CUDA's
// halves, which use it.
func TestMove(t *testing.T) {
	tc := toolchain(t)
	for _, header := range []string{"utility", HostShim, "tilescope_torch.h"} {
		source := "#include <" + header +
			">\n#include <cuda_fp16.h>\n__global__ void k(__half2* x, int* y) { x[0] = x[1]; int a = y[0], b = std::move(a); std::swap(a, b); y[1] = a + std::forward<int>(b); }\n"
		if _, err := tc.Compile(t.Context(), Build{Name: "k.cu", Source: source, Arch: "sm_80"}); err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestTorchTypes: kernels of PyTorch's extensions compile: its halves, the types sums are made in,
// tensors as parameters.
func TestTorchTypes(t *testing.T) {
	tc := toolchain(t)
	p, err := tc.Compile(t.Context(), Build{Name: "k.cu", Arch: "sm_80", Source: `#include <tilescope_torch.h>
template <typename scalar_t> __global__ void k(const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> a,
                                               at::PackedTensorAccessor64<scalar_t, 1> b) {
    static_assert(sizeof(a) == 32 && sizeof(b) == 24, "as PyTorch has them");
    at::acc_type<scalar_t, true> sum = 0;
    at::opmath_type<scalar_t> last = 0;
    for (int i = 0; i < a.size(2); i++) sum += last = static_cast<float>(a[blockIdx.x][threadIdx.x][i]);
    b[blockIdx.x * b.stride(0)] = static_cast<scalar_t>(sum + last);
}
template __global__ void k<at::Half>(const at::PackedTensorAccessor32<at::Half, 3, at::RestrictPtrTraits>, at::PackedTensorAccessor64<at::Half, 1>);
template __global__ void k<c10::BFloat16>(const at::PackedTensorAccessor32<c10::BFloat16, 3, at::RestrictPtrTraits>, at::PackedTensorAccessor64<c10::BFloat16, 1>);
template __global__ void k<double>(const at::PackedTensorAccessor32<double, 3, at::RestrictPtrTraits>, at::PackedTensorAccessor64<double, 1>);
`})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(p.Text, ".entry"); n != 3 {
		t.Errorf("%d kernels", n)
	}
}

// Every stand-in compiles alone and together with all others, and gives what its name promises.
func TestStandins(t *testing.T) {
	tc := toolchain(t)
	var all strings.Builder
	for _, name := range sortedKeys(standins()) {
		fmt.Fprintf(&all, "#include <%s>\n", name)
	}
	source := all.String() + all.String() + `
static_assert(sizeof(int8_t) == 1 && sizeof(uint16_t) == 2 && sizeof(std::int32_t) == 4 && sizeof(std::uint64_t) == 8 && sizeof(uintptr_t) == sizeof(void*));
static_assert(INT32_MIN == -2147483648ll && UINT64_MAX == ~0ull && INT64_MIN < 0 && UINT32_MAX > 0);
static_assert(std::numeric_limits<int>::max() == INT_MAX && std::numeric_limits<unsigned char>::max() == 255 && std::numeric_limits<long long>::min() == LLONG_MIN);
static_assert(std::numeric_limits<float>::max() == FLT_MAX && std::numeric_limits<double>::lowest() == -DBL_MAX);
static_assert(std::numeric_limits<float>::epsilon() == FLT_EPSILON && std::numeric_limits<double>::has_infinity);
static_assert(std::is_same<std::remove_cv_t<const volatile int>, int>::value && !std::is_same_v<int, unsigned>);
static_assert(std::is_signed_v<short> && std::is_unsigned_v<unsigned long> && std::is_integral_v<const bool> && !std::is_integral_v<float> && !std::is_signed<int2>::value);
static_assert(std::is_same_v<std::conditional_t<(sizeof(int) > 2), float, int>, float> && std::is_pointer_v<int*> && std::is_trivially_copyable<int4>::value);
static_assert(offsetof(int4, z) == 8 && CHAR_BIT == 8 && sizeof(std::size_t) == 8);
template <class T, class = std::enable_if_t<std::is_floating_point_v<T>>> __device__ T halved(T x) { return x / 2; }
extern "C" __global__ void k(float* x, const uint8_t* bytes, int n) {
    assert(n > 0);
    if (n > 3) printf("n = %d\n", n);
    x[0] = std::sqrt(x[1]) + std::fmax(x[2], -INFINITY) + halved(x[3]) * float(M_PI) + std::exp2(x[4]) + bytes[0];
    x[1] = isnan(NAN) ? HUGE_VALF : std::numeric_limits<float>::infinity();
    x[2] = std::numeric_limits<float>::quiet_NaN();
    static_assert(sizeof(std::sqrt(x[1])) == 4, "the float overload");
    std::memcpy(&x[5], &x[6], sizeof(float));
}
`
	p, err := tc.Compile(t.Context(), Build{Name: "k.cu", Source: source, Arch: "sm_80"})
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*CompileError).Log)
	}
	for _, want := range []string{"vprintf", "__assertfail", "sqrt.rn.f32"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("PTX lacks %s", want)
		}
	}
	for name := range standins() {
		if _, err := tc.Compile(t.Context(), Build{
			Name: "k.cu", Source: "#include <" + name + ">\n__global__ void k() {}\n", Arch: "sm_80",
		}); err != nil {
			t.Errorf("%s alone: %v", name, err)
		}
	}
	// a header of the build's own wins
	b := Build{
		Name: "k.cu", Source: "#include <cstdint>\n__global__ void k(mine x) {}\n",
		Headers: map[string]string{"cstdint": "typedef int mine;\n"}, Arch: "sm_80",
	}
	if _, err := tc.Compile(t.Context(), b); err != nil {
		t.Errorf("a header of the build's own: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cstdint"), []byte("typedef int mine;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Headers, b.Include = nil, []string{dir}
	if _, err := tc.Compile(t.Context(), b); err != nil {
		t.Errorf("a header in the build's own directory: %v", err)
	}
}

// What nvcc knows in a source without a single include is known here too, and a source that brings its
// own is not disturbed.
func TestNothingIncluded(t *testing.T) {
	tc := toolchain(t)
	compile := func(name, source string) string {
		t.Helper()
		p, err := tc.Compile(t.Context(), Build{Name: name, Source: source, Arch: "sm_80"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return p.Text
	}
	text := compile("nothing.cu", `extern "C" __global__ void k(float* x, int n) {
    assert(n < INT_MAX);
    x[0] = fmaxf(-INFINITY, x[1]);
    x[1] = NAN;
    x[2] = std::sqrt(x[3]) + HUGE_VALF + float(M_PI);
    std::memcpy(&x[4], &x[5], sizeof(float));
    x[6] = __dp4a(n, n, n) + __dp2a_hi(make_ushort2(n, n), make_uchar4(n, n, n, n), 1u);
}
`)
	for _, want := range []string{"dp4a.s32.s32", "dp2a.hi.u32.u32"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	text = compile("nothing.cu", `extern "C" __global__ void k(float* x, int n) {
    assert(n < INT_MAX);
    x[0] = fmaxf(-INFINITY, x[1]);
    x[1] = NAN;
    x[2] = std::sqrt(x[3]) + HUGE_VALF + float(M_PI);
    std::memcpy(&x[4], &x[5], sizeof(float));
}
`)
	if !strings.Contains(text, "0fFF800000") || !strings.Contains(text, "nothing.cu") ||
		strings.Contains(text, preInclude) {
		t.Errorf("no -inf in the PTX, or another file than the source's own:\n%s", text)
	}
	text = compile("own.cu", `#ifndef INFINITY
#define INFINITY never
#endif
#define NAN __int_as_float(0x7fc00000)
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
extern "C" __global__ void k(float* x, uint32_t n) { x[n] = NAN; }
`)
	if !strings.Contains(text, "2143289344") {
		t.Errorf("the source's own NAN does not win:\n%s", text)
	}
}

// The same source compiled again and again gives the same PTX, whether headers are
// precompiled by then or not.
func TestCompileAgain(t *testing.T) {
	tc := toolchain(t)
	b := Build{
		Name:   "k.cu",
		Source: "#include <cuda_fp16.h>\n#include <mma.h>\nextern \"C\" __global__ void k(half* x) { x[0] = __hadd(x[1], x[2]); }\n",
		Arch:   "sm_80",
	}
	var first string
	for i := range 4 {
		p, err := tc.Compile(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = p.Text
		} else if p.Text != first || strings.Contains(p.Log, "pch") {
			t.Errorf("compilation %d differs; log %q", i, p.Log)
		}
	}
	used := tc.precompiled.dir != ""
	if used != tc.lib.hasPCH() {
		t.Errorf("NVRTC %s: precompiled headers %v", tc.NVRTCVersion, used)
	}
	if err := tc.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := tc.Compile(t.Context(), b); err != nil {
		t.Errorf("after Close: %v", err)
	}
}

func BenchmarkCompile(b *testing.B) {
	tc, err := FindToolchain(b.Context(), Config{Root: "../.."})
	if err != nil {
		b.Skip(err)
	}
	defer tc.Close()
	src := "#include <cuda_fp16.h>\n#include <mma.h>\nextern \"C\" __global__ void k(half* x) { x[0] = __hadd(x[1], x[2]); }\n"
	b.Run("flags-changed", func(b *testing.B) {
		for i := range b.N {
			if _, err := tc.Compile(b.Context(), Build{
				Name: "k.cu", Source: src, Arch: "sm_80", Defines: []string{fmt.Sprintf("X=%d", i)},
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("source-changed", func(b *testing.B) {
		for i := range b.N {
			if _, err := tc.Compile(b.Context(), Build{
				Name: "k.cu", Source: fmt.Sprintf("%s// %d\n", src, i), Arch: "sm_80",
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
