package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// compilerArg makes the test binary a compiler's process.
const compilerArg = "__compile"

func apart(t *testing.T) *Toolchain {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tc, err := FindToolchain(t.Context(), Config{
		Root: filepath.Join("..", ".."), Compiler: []string{exe, compilerArg},
	})
	if err != nil {
		t.Skipf("no toolchain on this machine: %v", err)
	}
	t.Cleanup(func() { tc.Close() })
	return tc
}

// TestCompilerApart: a process gives the same PTX, errors and version as the library in this one; several
// compile at once, and one stays for the next build.
func TestCompilerApart(t *testing.T) {
	near, tc := toolchain(t), apart(t)
	if near.NVRTCVersion != tc.NVRTCVersion || tc.lib.create != nil {
		t.Fatalf("version %s, in this process %s", tc.NVRTCVersion, near.NVRTCVersion)
	}
	build := func(i int) Build {
		return Build{
			Name:    "k.cu",
			Source:  "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(float* x) { *x = N; }\n",
			Defines: []string{fmt.Sprintf("N=%d", i)}, Arch: "sm_80",
		}
	}
	want, err := near.Compile(t.Context(), build(0))
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for range 3 {
		got, err := tc.Compile(t.Context(), build(0))
		if err != nil || got.Text != want.Text || got.Log != want.Log {
			t.Fatalf("%v, or other PTX", err)
		}
		p := tc.lib.apart.idle[0].cmd.Process.Pid
		if pid != 0 && p != pid {
			t.Errorf("process %d after %d: one is started for each build", p, pid)
		}
		pid = p
	}
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			if _, err := tc.Compile(t.Context(), build(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	bad := build(1)
	bad.Source = "int i = nope;\n"
	var ce *CompileError
	if _, err := tc.Compile(t.Context(), bad); !errors.As(err, &ce) || ce.Diagnostics[0].Line != 1 {
		t.Errorf("got %v", err)
	}
}

// crashing is an NVRTC that overflows its stack for a source with "deep" in it, and compiles
// any other to itself.
const crashing = `#include <string.h>
static const char* src; static volatile int depth;
static int down(volatile char* up) { volatile char here[4096]; here[0] = up[0]; depth++; return down(here) + here[0]; }
int nvrtcVersion(int* a, int* b) { *a = 12; *b = 0; return 0; }
const char* nvrtcGetErrorString(int e) { return "error"; }
int nvrtcCreateProgram(void** p, const char* s, const char* n, int k, void* h, void* i) { src = strdup(s); *p = (void*)src; return 0; }
int nvrtcCompileProgram(void* p, int n, void* o) { char c = 1; return strstr(src, "deep") ? down(&c) : 0; }
int nvrtcDestroyProgram(void** p) { return 0; }
int nvrtcGetProgramLogSize(void* p, size_t* n) { *n = 0; return 0; }
int nvrtcGetProgramLog(void* p, char* t) { return 0; }
int nvrtcGetPTXSize(void* p, size_t* n) { *n = strlen(src) + 1; return 0; }
int nvrtcGetPTX(void* p, char* t) { strcpy(t, src); return 0; }
`

// scriptedNVRTC makes a toolchain whose NVRTC is a C source, and returns its root and the command of its
// compiler's process. Without gcc the test is skipped.
func scriptedNVRTC(t *testing.T, source string) (root string, compiler []string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("no gcc to make a library with: %v", err)
	}
	root = t.TempDir()
	for path, text := range map[string]string{
		"nvrtc.c": source, "include/mma.h": "", "include/crt/mma.h": "",
	} {
		if err := writeBelow(filepath.Join(root, path), text); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O0", "-o", filepath.Join(root, "libnvrtc.so"),
		filepath.Join(root, "nvrtc.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return root, []string{exe, compilerArg}
}

// TestCompilerCrash: a compiler that crashes ends its own process; the error has its last words, and
// the next build works.
func TestCompilerCrash(t *testing.T) {
	root, compiler := scriptedNVRTC(t, crashing)
	tc, err := FindToolchain(t.Context(), Config{Root: root, Path: root, Compiler: compiler})
	if err != nil {
		t.Fatal(err)
	}
	defer tc.Close()
	_, err = tc.Compile(t.Context(), Build{Name: "deep.cu", Source: "deep", Arch: "sm_80"})
	var crash *Crash
	if !errors.As(err, &crash) || !strings.Contains(err.Error(), "the compiler crashed") ||
		!strings.Contains(err.Error(), "SIG") && !strings.Contains(err.Error(), "signal") {
		t.Errorf("got %.300v", err)
	}
	if p, err := tc.Compile(t.Context(), Build{Name: "k.cu", Source: "flat", Arch: "sm_80"}); err != nil ||
		p.Text != "flat" {
		t.Errorf("after a crash: %v", err)
	}
}

// TestCompilerCancelled: a compilation whose context ends is killed at once.
func TestCompilerCancelled(t *testing.T) {
	tc := apart(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	slow := "template<int N> struct F { static constexpr unsigned long v = F<N-1>::v * 3 + F<N-2>::v; };\ntemplate<> struct F<0> { static constexpr unsigned long v = 1; };\ntemplate<> struct F<1> { static constexpr unsigned long v = 1; };\n" +
		"constexpr unsigned f(unsigned n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n__device__ int a[] = {" +
		strings.Repeat("f(24),", 4000) + "0};\n"
	start := time.Now()
	_, err := tc.Compile(ctx, Build{Name: "slow.cu", Source: slow, Arch: "sm_80"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 3*time.Second {
		t.Errorf("after %s: %.200v", time.Since(start), err)
	}
}
