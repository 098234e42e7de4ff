//go:build unix

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"tilescope/debugkern/cache"
	"tilescope/debugkern/ptx"
)

// scriptedNVCC is an nvcc that does what a shell script says; the script finds the output's path in $out.
func scriptedNVCC(t *testing.T, script string) *NVCC {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "bin", "nvcc")
	text := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; }\nout=$3\n" +
		script + "\n"
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	n, err := FindNVCC(t.Context(), Config{Root: root, Path: root})
	if err != nil {
		t.Fatal(err)
	}
	if n.Path != path || n.Compiler() != "nvcc 13.0.88" {
		t.Fatalf("found %+v", n)
	}
	return n
}

func TestNVCC(t *testing.T) {
	// the script's PTX tells what it was called with, and where the source was
	n := scriptedNVCC(t,
		`{ echo "// $*"; cat "$PWD/headers/own/h.h"; for s; do :; done; echo "	.file	1 \"$PWD/$s\""; echo "// callseq 3, 0"; } > "$out"`)
	n.cache = cache.Open(cache.Options{
		Dir: t.TempDir(), Max: 1 << 20, KeyFile: filepath.Join(t.TempDir(), "key"),
	})
	b := Build{
		Name: "kernels/k.cu", Source: "int main() {}\n", Headers: map[string]string{"own/h.h": "// own\n"},
		Defines: []string{"X=1"}, Arch: "sm_80",
	}
	p, err := n.Compile(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"-ptx ", "-arch=compute_80", "-std=c++17", "-lineinfo", "-fmad=false", "-DX=1", "// own",
		"\t.file\t1 \"kernels/k.cu\"\n",
	} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("%q lacks %q", p.Text, want)
		}
	}
	if again, err := n.Compile(t.Context(), b); err != nil || !again.Cached || again.Text != p.Text {
		t.Errorf("again: %v", err)
	}
	b.Headers["../outside.h"] = ""
	if _, err := n.Compile(t.Context(), b); err == nil || !strings.Contains(err.Error(), "outside.h") {
		t.Errorf("a header outside the build: %v", err)
	}
}

func TestNVCCErrors(t *testing.T) {
	n := scriptedNVCC(t, `cat >&2 <<END
k.cu(2): error: identifier "nope" is undefined
    x[0] = nope;
           ^

$PWD/headers/h.h(1): error: expected a ";"

k.cu:3:10: fatal error: absent.h: No such file or directory
k.cu(1): warning #177-D: variable "y" was declared but never referenced
END
exit 1`)
	b := Build{
		Name: "k.cu", Source: "__global__ void k(float* x) {\n\tx[0] = nope;\n#include <absent.h>\n}\n",
		Headers: map[string]string{"h.h": "int a\n"}, Arch: "sm_80",
	}
	_, err := n.Compile(t.Context(), b)
	var ce *CompileError
	if !errors.As(err, &ce) || !strings.Contains(err.Error(), "k.cu:2:9: identifier") ||
		!strings.Contains(err.Error(), "2 more errors") {
		t.Fatalf("got %v", err)
	}
	want := []Diagnostic{
		{"k.cu", 2, 9, "error", `identifier "nope" is undefined`, "\tx[0] = nope;"},
		{"h.h", 1, 0, "error", `expected a ";"`, "int a"},
		{"k.cu", 3, 10, "fatal error", "absent.h: No such file or directory", "#include <absent.h>"},
		{"k.cu", 1, 0, "warning", `variable "y" was declared but never referenced`,
			"__global__ void k(float* x) {"},
	}
	if fmt.Sprint(ce.Diagnostics) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", ce.Diagnostics, want)
	}
	n = scriptedNVCC(t, `echo "nvcc fatal   : Unsupported gpu architecture 'compute_20'" >&2; exit 1`)
	if _, err := n.Compile(t.Context(), b); err == nil ||
		!strings.Contains(err.Error(), "Unsupported gpu architecture") {
		t.Errorf("no place: %v", err)
	}
	n = scriptedNVCC(t, `echo "out of luck" >&2; exit 7`)
	if _, err := n.Compile(t.Context(), b); err == nil ||
		!strings.Contains(err.Error(), "exit status 7: out of luck") {
		t.Errorf("no diagnostic: %v", err)
	}
}

// Cancelled, nvcc goes, and with it the compilers that it has started.
func TestNVCCCancelled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	started := filepath.Join(t.TempDir(), "pids")
	n := scriptedNVCC(t, `sleep 1000 & echo "$$ $!" > `+started+`.part; mv `+started+`.part `+
		started+`; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := n.Compile(ctx, Build{Name: "k.cu", Arch: "sm_80"})
		done <- err
	}()
	var pids []string
	for pids == nil {
		runtime.Gosched()
		if text, err := os.ReadFile(started); err == nil {
			pids = strings.Fields(string(text))
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		for alive(pid) { // its parent is gone: who reaps it may take a moment
			runtime.Gosched()
		}
	}
}

func TestFindNVCCSaysWhyNot(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CUDA_HOME", "")
	t.Setenv("CUDA_PATH", "")
	t.Setenv("VIRTUAL_ENV", "")
	if isFile("/usr/local/cuda/bin/nvcc") {
		t.Skip("this machine has an nvcc that cannot be hidden")
	}
	if _, err := FindNVCC(t.Context(), Config{Root: t.TempDir()}); !errors.Is(err, ErrNoNVCC) ||
		!strings.Contains(err.Error(), "nvidia-cuda-nvcc==13") {
		t.Errorf("got %v", err)
	}
}

// The real nvcc compiles a source with host code to PTX that our parser takes.
func TestRealNVCC(t *testing.T) {
	n, err := FindNVCC(t.Context(), Config{Root: filepath.Join("..", "..")})
	if err != nil {
		t.Skipf("no nvcc on this machine: %v", err)
	}
	b := Build{Name: "host.cu", Arch: "sm_80", Headers: map[string]string{"one.h": "#define ONE 1.0f\n"},
		Source: `#include <cstdio>
#include "one.h"
extern "C" __global__ void add(float* x) { x[threadIdx.x] += ONE; }
int main() { add<<<1, 32>>>(nullptr); printf("%d\n", (int)cudaDeviceSynchronize()); }
`}
	p, err := n.Compile(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	m, err := ptx.Parse("host.ptx", []byte(p.Text))
	if err == nil {
		err = ptx.Validate(m)
	}
	if err != nil || m.Func("add") == nil || !strings.Contains(p.Text, `"host.cu"`) {
		t.Errorf("%v:\n%s", err, p.Text)
	}
	b.Source = strings.Replace(b.Source, "+= ONE", "+= nope", 1)
	var ce *CompileError
	if _, err := n.Compile(t.Context(), b); !errors.As(err, &ce) || ce.Diagnostics[0].Place() == "" ||
		ce.Diagnostics[0].Line != 3 {
		t.Errorf("got %v", err)
	}
}
