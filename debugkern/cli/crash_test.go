package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// brokenNVRTC is an NVRTC that dies on a source with "deep" in it, with a word of its own, and takes memory
// until it gets no more on any other; without a limit it gives up at 3 GiB and reports success.
const brokenNVRTC = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char* src;
int nvrtcVersion(int* a, int* b) { *a = 12; *b = 0; return 0; }
const char* nvrtcGetErrorString(int e) { return "error"; }
int nvrtcCreateProgram(void** p, const char* s, const char* n, int k, void* h, void* i) { src = strdup(s); *p = (void*)src; return 0; }
int nvrtcCompileProgram(void* p, int n, void* o) {
	if (strstr(src, "deep")) { fprintf(stderr, "nested too deeply\n"); abort(); }
	for (int i = 0; i < 48; i++) { char* m = malloc(64 << 20); if (!m) { fprintf(stderr, "no memory is left\n"); abort(); } ((volatile char*)m)[0] = 1; }
	return 0;
}
int nvrtcDestroyProgram(void** p) { return 0; }
int nvrtcGetProgramLogSize(void* p, size_t* n) { *n = 0; return 0; }
int nvrtcGetProgramLog(void* p, char* t) { return 0; }
int nvrtcGetPTXSize(void* p, size_t* n) { *n = 1; return 0; }
int nvrtcGetPTX(void* p, char* t) { *t = 0; return 0; }
`

// TestCompilerCrashIsExit4: a source that crashes the compiler, or has it take more memory than memory.max
// allows, ends in exit code 4, one line with the compiler's last words, and, for memory, the setting.
func TestCompilerCrashIsExit4(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("no gcc to make a library with: %v", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools/nvrtc.c": brokenNVRTC, "tools/include/mma.h": "", "tools/include/crt/mma.h": "",
		"deep.cu": "extern \"C\" __global__ void deep() {}\n",
		"grow.cu": "extern \"C\" __global__ void grow() {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tools := filepath.Join(dir, "tools")
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O0", "-o", filepath.Join(tools, "libnvrtc.so"),
		filepath.Join(tools, "nvrtc.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("TILESCOPE_TOOLCHAIN", tools)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		source string
		says   []string
	}{
		{"deep.cu", []string{"the compiler crashed", "nested too deeply"}},
		{
			"grow.cu", []string{
				"the compiler crashed", "no memory is left",
				"it may take 1 GiB of memory (by memory.max: --memory-max raises it)",
			},
		},
	} {
		if c.source == "grow.cu" && runtime.GOOS != "linux" {
			t.Log("a process's memory is limited on Linux alone: grow.cu is left out")
			continue
		}
		out, errText, code := call(t, "init", filepath.Join(dir, c.source), "--out",
			filepath.Join(dir, "k.yaml"), "--trust", "--memory-max", "64MiB")
		if code != 4 || out != "" && !strings.Contains(out, "\"error\"") ||
			strings.Contains(errText, "goroutine ") || strings.Count(errText, "\n") > 2 {
			t.Errorf("%s: exit %d, %q, %q", c.source, code, out, errText)
		}
		for _, want := range c.says {
			if !strings.Contains(errText, want) {
				t.Errorf("%s: %q does not say %q", c.source, errText, want)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "k.yaml")); err == nil {
			t.Errorf("%s: a manifest was written", c.source)
		}
	}
}
