package cuda

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tilescope/debugkern/target"
)

// toolchain finds the compilers at the repository root, or skips.
func toolchain(t *testing.T) *Toolchain {
	t.Helper()
	tc, err := FindToolchain(t.Context(), Config{Root: filepath.Join("..", "..")})
	if err != nil {
		t.Skipf("no toolchain on this machine: %v", err)
	}
	return tc
}

const addOne = `#include "one.h"
#include <cuda_fp16.h>
extern "C" __global__ void add(half* x) { x[threadIdx.x] = __hadd(x[threadIdx.x], __float2half(ONE)); }
`

func TestCompile(t *testing.T) {
	tc := toolchain(t)
	p, err := tc.Compile(t.Context(), Build{
		Name: "kernels/add.cu", Source: addOne, Headers: map[string]string{"one.h": "#define ONE VALUE\n"},
		Defines: []string{"VALUE=2.5f"},
		Arch:    "sm_80",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".target sm_80", ".visible .entry add(", "add.f16", ".loc", `"kernels/add.cu"`,
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("PTX lacks %s", want)
		}
	}
	// 13 leaves no trace of it
	if header := `"cuda_runtime/cuda_fp16.hpp"`; strings.HasPrefix(tc.NVRTCVersion, "12.") &&
		!strings.Contains(p.Text, header) {
		t.Errorf("PTX lacks %s", header)
	}
	for _, m := range fileDirective.FindAllStringSubmatch(p.Text, -1) {
		if filepath.IsAbs(m[2]) {
			t.Errorf("absolute path in .file: %s", m[2])
		}
	}
	if p.Compiler != "NVRTC "+tc.NVRTCVersion {
		t.Errorf("compiler %q", p.Compiler)
	}
}

func TestCompileErrorsAreLocated(t *testing.T) {
	tc := toolchain(t)
	_, err := tc.Compile(t.Context(), Build{
		Name:    "bad.cu",
		Source:  "#include \"h.h\"\n// nothing here\n__global__ void f() {\n  int i = nope;\n  return 1;\n}\n",
		Headers: map[string]string{"h.h": "\n#define A 1\n"}, Arch: "compute_80",
	})
	ce := (*CompileError)(nil)
	if !errors.As(err, &ce) {
		t.Fatalf("want a *CompileError, got %v", err)
	}
	if d := ce.Diagnostics[0]; d.File != "bad.cu" || d.Line != 4 || d.Col != 11 ||
		d.Text != "  int i = nope;" || d.Severity != "error" || !strings.Contains(d.Msg, "nope") {
		t.Errorf("first diagnostic: %+v", d)
	}
	if want := "bad.cu:4:11: "; !strings.HasPrefix(ce.Error(), want) ||
		!strings.Contains(ce.Error(), "1 more error") {
		t.Errorf("message %q", ce.Error())
	}
	_, err = tc.Compile(t.Context(), Build{
		Name: "x.cu", Source: "", Arch: "sm_80", Options: []string{"-no-such-option"},
	})
	if err == nil || errors.As(err, &ce) || !strings.Contains(err.Error(), "nvrtcCompileProgram") {
		t.Errorf("bad option: %v", err)
	}
}

func TestCompileCancelled(t *testing.T) {
	tc := toolchain(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tc.Compile(ctx, Build{
		Name: "x.cu", Source: addOne, Arch: "sm_80",
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAssemble(t *testing.T) {
	tc := toolchain(t)
	if tc.PTXAS == "" {
		t.Skip("no ptxas on this machine")
	}
	src := `extern "C" __global__ void f(float* x) { __shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[63 - threadIdx.x]; }`
	p, err := tc.Compile(t.Context(), Build{Name: "f.cu", Source: src, Arch: "sm_80"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tc.Assemble(t.Context(), []byte(p.Text), "f", "sm_90")
	if err != nil {
		t.Fatal(err)
	}
	if r.Registers == 0 || r.SharedBytes != 256 || r.SpillStoreBytes != 0 || r.Arch != "sm_90" {
		t.Errorf("%+v", r)
	}
	if _, err := tc.Assemble(t.Context(), []byte(".version 8.0\n.target sm_80\nnonsense"), "f",
		"sm_80"); err == nil || !strings.Contains(err.Error(), "kernel.ptx, line 3") {
		t.Errorf("malformed PTX: %v", err)
	}
}

func TestParseResources(t *testing.T) {
	out := `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_80'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'sdpa' for 'sm_80'
ptxas info    : Function properties for sdpa
    128 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 255 registers, 37120 bytes smem, 428 bytes cmem[0]
`
	r, err := parseResources([]byte(out), "sdpa", "sm_80")
	want := target.Resources{
		Registers: 255, SharedBytes: 37120, SpillStoreBytes: 12, SpillLoadBytes: 16, LocalBytes: 128,
		Arch: "sm_80",
	}
	if err != nil || !reflect.DeepEqual(*r, want) {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := parseResources([]byte(out), "absent", "sm_80"); err == nil {
		t.Error("an entry without a report must be an error")
	}
}

func TestDiagnostics(t *testing.T) {
	log := "a.cu(7): warning #177-D: variable \"x\" was declared but never referenced\n\n" +
		"include/b.h(3): error: expected a \";\"\n          detected during instantiation\n\n" +
		"a.cu(65): catastrophic error: #error directive: no\n\nnvrtc: error: something general\n"
	got := diagnostics(log, paths{}, func(string) []string { return nil })
	want := []Diagnostic{
		{"include/b.h", 3, 0, "error", `expected a ";"`, ""},
		{"a.cu", 65, 0, "catastrophic error", "#error directive: no", ""},
		{"", 0, 0, "error", "something general", ""},
		{"a.cu", 7, 0, "warning", `variable "x" was declared but never referenced`, ""},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

// A configured path that holds no library is not fatal while another place does; a machine with nothing
// says what it tried.
func TestSearchList(t *testing.T) {
	dir := t.TempDir()
	wheel := filepath.Join(dir, ".toolchain", "nvidia", "cuda_nvrtc", "lib")
	if err := os.MkdirAll(wheel, 0o755); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(wheel, "libnvrtc.so.12")
	if err := os.WriteFile(lib, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Root: dir, Path: filepath.Join(dir, "absent")}
	if got := candidates(cfg, searchList(cfg)); len(got) == 0 || got[0].path != lib {
		t.Errorf("candidates: %v, want %s first", got, lib)
	}
	if _, err := openNVRTC(lib); err == nil || !strings.Contains(err.Error(), lib) {
		t.Errorf("a file that is no library: %v", err)
	}
}

func TestInspect(t *testing.T) {
	for _, p := range Inspect(t.Context(), Config{Root: filepath.Join("..", "..")}) {
		if p.Found == (p.Install != "") {
			t.Errorf("%s: found %v, install %q", p.Name, p.Found, p.Install)
		}
		if p.Found && (p.Path == "" || p.Version == "") {
			t.Errorf("%s: found without path or version: %+v", p.Name, p)
		}
	}
}

func TestBuildNumberAmongSeveralWheels(t *testing.T) {
	site := t.TempDir()
	for _, dir := range []string{
		"nvidia_cuda_nvrtc-13.0.88.dist-info", "nvidia_cuda_nvrtc_cu12-12.0.140.dist-info",
		"nvidia/cuda_nvrtc/lib",
	} {
		if err := os.MkdirAll(filepath.Join(site, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lib := &nvrtc{
		path: filepath.Join(site, "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12"), major: 12, minor: 0,
	}
	if v := fullVersion(lib); v != "12.0.140" {
		t.Errorf("version %s", v)
	}
	lib.minor = 4
	if v := fullVersion(lib); v != "12.4" {
		t.Errorf("version %s where no build number fits", v)
	}
}

// A complaint's column is the caret's where the line shown is the source's, else that of the
// one name it is about.
func TestColumn(t *testing.T) {
	for _, c := range []struct {
		rest []string
		text string
		msg  string
		want int
	}{
		{[]string{"    x = nope;", "        ^"}, "\tx = nope;", "expected a thing", 6},
		{[]string{"  __attribute__((global)) void k() {", "  ^"}, "__global__ void k() {",
			"expected a thing", 0},
		{nil, "  int i = nope;", `identifier "nope" is undefined`, 11},
		{nil, "  nope = nope;", `identifier "nope" is undefined`, 0},
		{
			nil, "  int i = (float)p;",
			`a value of type "float" cannot be used to initialize an entity of type "int"`, 0,
		},
		{nil, "  x.member = 1;", `class "X" has no member "member"`, 5},
		{nil, "", `identifier "nope" is undefined`, 0},
	} {
		if got := column(c.rest, c.text, c.msg); got != c.want {
			t.Errorf("%q in %q: column %d, want %d", c.msg, c.text, got, c.want)
		}
	}
}
