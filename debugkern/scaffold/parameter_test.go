package scaffold

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/ptx"
	"tilescope/probes"
)

func TestDeclaredParameters(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"plain", `extern "C" __global__ void k(const half* Q, float scale) {}`, "Q:f16* scale:f32"},
		{
			"qualified",
			"__global__ void __launch_bounds__(128)\nk(const unsigned char* __restrict__ Q, /* rows, */ unsigned int n, // last\n long long m) {}",
			"Q:u8* n:u32 m:i64",
		},
		{"macro at the end", "__global__ void k(float* O, int S, float softmax_scale TS_PARAM) {",
			"O:f32* S:i32 softmax_scale:f32"},
		{
			"types of several words",
			"__global__ void k(unsigned long long seed, unsigned short s, long n, unsigned u MACRO) {}",
			"seed:u64 s:u16 n:i64 u:u32",
		},
		{"unknown type", "__global__ void k(params_t p, bf16_t *x) {}", "p: x:*"},
		{"vectors", "__global__ void k(const __nv_bfloat162 *x, longlong2 *y, float1 *z, half5 *w, int4 n) {}",
			"x:bf16* y:i64* z:f32* w:* n:"},
		{"another kernel", "__global__ void other(int a) {}", ""},
		{"only declared elsewhere", "void k(int a);", ""},
	} {
		var got []string
		for _, p := range declaredParameters(read(c.source).view(&ptx.Func{Name: "k", Demangled: "k"})) {
			star := ""
			if p.Pointer {
				star = "*"
			}
			dtype := ""
			if p.DType != 0 {
				dtype = p.DType.String()
			}
			got = append(got, fmt.Sprintf("%s:%s%s", p.Name, dtype, star))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// useOfMemory reads two inputs, one through a copy to shared memory and one by halves, adds to a
// third, and stores floats.
const useOfMemory = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .f32 p4)
{
	.reg .b64 %rd<12>;
	.reg .b32 %r<4>;
	.reg .b16 %h<2>;
	.reg .f32 %f<3>;
	.shared .align 16 .b8 s[64];
	ld.param.u64 %rd0, [p0];
	ld.param.u64 %rd1, [p1];
	ld.param.u64 %rd2, [p2];
	ld.param.u64 %rd3, [p3];
	ld.param.f32 %f0, [p4];
	mov.u32 %r0, s;
	cp.async.cg.shared.global [%r0], [%rd0], 16;
	cvta.to.global.u64 %rd4, %rd1;
	add.s64 %rd5, %rd4, 2;
	ld.global.u16 %h0, [%rd5];
	cvta.to.global.u64 %rd6, %rd2;
	red.global.add.f32 [%rd6], %f0;
	cvta.to.global.u64 %rd7, %rd3;
	st.global.f32 [%rd7+4], %f0;
	ret;
}
`

func TestParametersByUse(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(useOfMemory))
	if err != nil {
		t.Fatal(err)
	}
	got := Parameters(m.Func("k"), Source{})
	want := []Parameter{
		{Pointer: true, Guessed: true, Read: true, Loaded: true},
		{DType: probes.F16, Pointer: true, Guessed: true, Read: true, Loaded: true},
		{DType: probes.F32, Pointer: true, Read: true, Written: true},
		{DType: probes.F32, Pointer: true, Written: true}, {DType: probes.F32},
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("parameter %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	meant := meanings(got)
	if meant[3].tensor != "O" || meant[2].tensor != "" || meant[0].tensor != "" || !meant[4].scale ||
		meant[0].Name != "param_0" {
		t.Errorf("meanings %+v", meant)
	}
}

// TestMeaningsByOrder: without names, pointers are taken by order and use, and integers as the
// last of B, H, S, D.
func TestMeaningsByOrder(t *testing.T) {
	in, out := Parameter{Pointer: true, Read: true}, Parameter{Pointer: true, Written: true}
	scale, n := Parameter{DType: probes.F32, Pointer: true, Read: true}, Parameter{DType: probes.I32}
	for _, c := range []struct {
		list []Parameter
		want string
	}{
		{[]Parameter{in, in, in, scale, scale, scale, out, n, n, n, n},
			"Q:u8 K:u8 V:u8 Qs:f32 Ks:f32 Vs:f32 O:f16 B H S D"},
		{[]Parameter{in, in, in, out, n}, "Q:f16 K:f16 V:f16 O:f16 D"},
		{[]Parameter{out, in, in}, "O:f16 param_1:f32 param_2:f32"},
		{[]Parameter{n, n, n, n, n}, "param_0 param_1 param_2 param_3 param_4"},
	} {
		var got []string
		for _, a := range meanings(c.list) {
			s := a.Name
			if a.Pointer {
				s += ":" + a.DType.String()
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q, want %q", s, c.want)
		}
	}
}

// TestASmallStructIsNoPointer: a struct of 8 bytes is an array of bytes to PTX, and a pointer only where
// memory is reached through it.
func TestASmallStructIsNoPointer(t *testing.T) {
	m, err := ptx.Parse("k.ptx", []byte(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 4 .b8 k_0[8], .param .u64 k_1) { ret; }
`))
	if err != nil {
		t.Fatal(err)
	}
	got := Parameters(m.Func("k"), Source{})
	if got[0].Pointer || got[0].Example(1024, 32) != "32" || !got[1].Pointer {
		t.Errorf("parameters %+v", got)
	}
}
