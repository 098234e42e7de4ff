package scaffold

import (
	"fmt"
	"strings"
	"testing"

	"tilescope/debugkern/hostcode"
	"tilescope/debugkern/ptx"
)

// read is what a text shows, as a source without headers.
func read(text string) Source { return SourceOf(hostcode.Read("k.cu", []byte(text))) }

// TestDeclaredShared: an array is what the source declares where that comes to the bytes of the PTX; extents
// are the manifest's constants where it lists them with that value, else numbers.
func TestDeclaredShared(t *testing.T) {
	const kernel = "__global__ void k(float* x) {"
	for _, c := range []struct {
		name, source string
		bytes        int
		want         string // "": not declared
	}{
		{"two sides", kernel + "__shared__ __align__(32) half s[BM][LD];}", 4608, "f16[BM LD] [32 72]"},
		{"several", kernel + "__shared__ float m[BM], s [ 32 ] ;}", 128, "f32[32] [32]"},
		{"alignas", kernel + "__shared__ alignas(16) unsigned char s[BM][64]; // __shared__ int s[512];\n}",
			2048, "u8[BM 64] [32 64]"},
		{"an expression", kernel + "__shared__ half s[BM + 1][64];}", 4224, "f16[33 64] [33 64]"},
		{"a constant of the file", "constexpr int W = 2 * 8;\n" + kernel + "__shared__ half s[W];}", 32,
			"f16[16] [16]"},
		{"a macro", "#define W 16\n" + kernel + "__shared__ half s[W];}", 32, "f16[16] [16]"},
		{"a constant of the kernel", kernel + "const int w = BM / 4; __shared__ half s[w];}", 16,
			"f16[8] [8]"},
		{"another value than the manifest's", "constexpr int BM = 16;\n" + kernel + "__shared__ half s[BM];}",
			32, "f16[16] [16]"},
		{
			"arguments of the template",
			"template <typename T, int N> __global__ void k(T* x) {__shared__ T s[N];}", 32, "",
		},
		{"a constant of a type", "template <int B> struct Tile { static constexpr int kLd = B + 8; };\n" + kernel +
			"using T = Tile<16>; __shared__ half s[2][T::kLd];}", 96, "f16[2 24] [2 24]"},
		{"an unknown constant", kernel + "__shared__ half s[WIDE];}", 64, ""},
		{"other bytes", kernel + "__shared__ half s[16];}", 64, ""},
		{"more than any array has", kernel + "__shared__ half s[1 << 40][1 << 40];}", 64, ""},
		{"an unknown type", kernel + "__shared__ tile_t s[4];}", 64, ""},
		{"a scalar", kernel + "__shared__ int s;}", 4, "i32[] []"},
		{"dynamic", kernel + "extern __shared__ float s[];}", 64, "f32[16] [16]"},
		{"dynamic rows", kernel + "extern __shared__ float s[][BM];}", 1024, "f32[8 BM] [8 32]"},
		{"dynamic, no whole rows", kernel + "extern __shared__ float s[][BM];}", 1000, ""},
		{
			"one of two comes to the bytes",
			"__device__ void a() { __shared__ half s[4]; } __device__ void b() { __shared__ half s[8]; }", 16,
			"f16[8] [8]",
		},
		{
			"two come to the bytes",
			"__device__ void a() { __shared__ half s[8]; } __device__ void b() { __shared__ float s[4]; }",
			16, "",
		},
	} {
		v := read(c.source).view(&ptx.Func{Name: "k", Demangled: "k"})
		v.listed = map[string]int64{"BM": 32, "LD": 72}
		got := ""
		if a := v.sharedArray("s", c.bytes); a != nil {
			got = fmt.Sprintf("%s%v %v", a.dtype, a.sides, a.dims)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	v := read("template <typename T, int N> __global__ void k(T* x) {__shared__ T s[N][2];}").view(
		&ptx.Func{Name: "_Z1kIfLi4EEvPT_", Demangled: "k"})
	if a := v.sharedArray("s", 32); a == nil || a.dtype.String() != "f32" ||
		strings.Join(a.sides, " ") != "4 2" {
		t.Errorf("an instance of a template: %+v", a)
	}
}

// TestSourceOfHeaders: constants and arrays of the user's headers are the source's too.
func TestSourceOfHeaders(t *testing.T) {
	s := SourceOf(
		hostcode.Read("k.cu",
			[]byte("#include \"tiles.h\"\n__global__ void k() { __shared__ half s[W]; load(); }")),
		hostcode.Read(
			"lib/tiles.h",
			[]byte(
				"#pragma once\nconstexpr int W = 16;\ninline __device__ void load() { __shared__ float t[W]; }",
			),
		),
	)
	v := s.view(&ptx.Func{Name: "k", Demangled: "k"})
	if a, b := v.sharedArray("s", 32), v.sharedArray("t", 64); a == nil || b == nil || b.dims[0] != 16 {
		t.Errorf("%+v, %+v", a, b)
	}
	if len(s.Constants) != 1 || s.place(s.Constants[0]) != "tiles.h:2" {
		t.Errorf("%+v", s.Constants)
	}
}
