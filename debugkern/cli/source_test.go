package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/kernels"
)

// ownSource writes a copy of the family A manifest next to a copy of its source, changed by edit, and of the
// headers that the source includes: a user's own kernel.
func ownSource(t *testing.T, edit func(string) string) string {
	t.Helper()
	text, err := os.ReadFile(manifestPath)
	if err != nil {
		t.Fatal(err)
	}
	src, ok := kernels.Source("sdpa_fp8_stage_c_wmma.cu")
	if !ok {
		t.Fatal("no embedded source")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "own.yaml")
	for name, data := range map[string]string{
		"own.yaml": string(text), "sdpa_fp8_stage_c_wmma.cu": edit(string(src)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copyHeaders(t, dir)
	return path
}

// copyHeaders writes the embedded kernels' headers into a folder, where they are the user's own.
func copyHeaders(t *testing.T, dir string) {
	t.Helper()
	for _, name := range kernels.Headers() {
		text, _ := kernels.Source(name)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func needNVRTC(t *testing.T) {
	t.Helper()
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN")})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	tc.Close()
}

// TestCompileErrors: every complaint is listed at its line and column with the source line, and the
// document has them all.
func TestCompileErrors(t *testing.T) {
	t.Parallel()
	path := ownSource(t, func(src string) string {
		return strings.Replace(src, "#include \"cp_async.cuh\"",
			"#include <cstdint>\n#include \"beside.h\"\n__device__ int first() { return nope; }\n\t__device__ int second() { return BESIDE + nada; }\n#include \"cp_async.cuh\"",
			1)
	})
	needNVRTC(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "beside.h"), []byte("#define BESIDE 1\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	_, text, code := call(t, "run", path, "--set", "USE_CP_ASYNC")
	for _, want := range []string{
		"does not compile: 2 errors\n",
		":33: error: identifier \"nope\" is undefined\n    __device__ int first() { return nope; }\n                                    ^\n",
		":44: error: identifier \"nada\" is undefined\n    \t__device__ int second() { return BESIDE + nada; }\n    \t                                          ^\n",
	} {
		if code != 4 || !strings.Contains(text, want) {
			t.Errorf("exit %d, %q lacks %q", code, text, want)
		}
	}
	rep, code, _ := runJSON(t, "run", path)
	if code != 4 || rep.Error == nil || rep.Error.Stage != "build" || rep.Error.Source == nil ||
		len(rep.Error.Diagnostics) != 2 {
		t.Fatalf("exit %d, %+v", code, rep.Error)
	}
	first, second := rep.Error.Diagnostics[0], rep.Error.Diagnostics[1]
	if first.File != "sdpa_fp8_stage_c_wmma.cu" || first.Line == 0 || first.Col != 33 ||
		second.Line != first.Line+1 || second.Col != 44 {
		t.Errorf("%+v, %+v", first, second)
	}
	if s := rep.Error.Source; s.File != first.File || s.Line != first.Line || s.Col != 33 ||
		!strings.Contains(s.Text, "return nope;") || !strings.Contains(rep.Error.Message, ":33: identifier") {
		t.Errorf("%+v: %s", s, rep.Error.Message)
	}
}

// TestMalformedPTXIsListed: the parser's complaints come the same way.
func TestMalformedPTXIsListed(t *testing.T) {
	bad := strings.Replace(string(stage2PTX(t, "TS_PROBES=1")), "ret;", "rot.b32 %r1;\n\tret;", 1)
	path := ownManifest(t, []byte(bad), nil)
	_, text, code := call(t, "run", path)
	if code != 4 || !strings.Contains(text, "rot.b32 %r1;\n") || !strings.Contains(text, "own.ptx:") ||
		!strings.Contains(text, "^") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestHostCode: a source with host code goes to nvcc by itself, and the emulator takes its PTX; without one
// NVRTC compiles the device's part. What cannot be had is exit 3.
func TestHostCode(t *testing.T) {
	t.Parallel()
	path := ownSource(t, func(src string) string {
		return src +
			"\n#include <cstdio>\nint main() {\n\tvoid* p = nullptr;\n\tprintf(\"%d\\n\", (int)cudaMalloc(&p, 16));\n}\n"
	})
	_, err := cuda.FindNVCC(t.Context(), cuda.Config{Path: os.Getenv("TILESCOPE_TOOLCHAIN")})
	args := []string{
		"run", path, "--shape", "small", "--set", "USE_CP_ASYNC", "--set", "USE_WMMA_PV", "--backend", "emu",
	}
	builder := "nvcc"
	if err != nil {
		builder = "nvrtc"
		_, text, code := call(t, append(args, "--builder", "nvcc")...)
		if code != 3 || !strings.Contains(text, "nvidia-cuda-nvcc") {
			t.Errorf("exit %d: %s", code, text)
		}
	}
	rep, code, text := runJSON(t, args...)
	skipWithoutNVRTC(t, code, text)
	if code != 0 || rep.Backend.Builder != builder {
		t.Fatalf("exit %d, builder %s, %s: %s", code, rep.Backend.Builder, summary(rep), text)
	}
}
