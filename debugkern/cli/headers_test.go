package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
	"tilescope/kernels"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// own are the paths of a run's headers of one origin, compared with their digests where they are files.
func headersOf(t *testing.T, rep *report.Run, origin string) []string {
	t.Helper()
	var out []string
	for _, h := range rep.Build.Headers {
		if h.Origin != origin {
			continue
		}
		out = append(out, filepath.Base(h.Path))
		if origin != cuda.OriginOwn {
			continue
		}
		text, err := os.ReadFile(h.Path)
		if sum := sha256.Sum256(text); err != nil || h.Digest != hex.EncodeToString(sum[:]) ||
			!filepath.IsAbs(h.Path) {
			t.Errorf("%+v: %v", h, err)
		}
	}
	return out
}

var stage2Sets = []string{
	"--shape", "small", "--set", "USE_CP_ASYNC", "--set", "USE_WMMA_PV", "--backend", "emu",
}

// A kernel of one's own is built from one's own headers: the embedded kernels' are not there, one's own file
// of any such name is read, and the document has the digest of all that were read and of no other.
func TestOwnHeadersAreRead(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	path := ownSource(t, func(src string) string {
		return strings.Replace(src, "#include \"cp_async.cuh\"",
			"#include \"macros.h\"\n#if MACROS > 9\n#include \"unread.h\"\n#endif\n#include \"cp_async.cuh\"",
			1)
	})
	dir := filepath.Dir(path)
	put(t, filepath.Join(dir, "macros.h"), "#define MACROS 1\n")
	put(t, filepath.Join(dir, "unread.h"), "#error read\n")
	args := append([]string{"run", path}, stage2Sets...)
	rep, code, errText := runJSON(t, args...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	want := []string{"cp_async.cuh", "m16n8k16.cuh", "macros.h", "simulated_fp8.cuh", "wmma16x16_accum_lut.h"}
	if got := headersOf(t, rep, cuda.OriginOwn); !slices.Equal(got, want) {
		t.Errorf("own headers %v, want %v", got, want)
	}
	if got := headersOf(t, rep, cuda.OriginBuiltin); !slices.Contains(got, "tilescope.cuh") ||
		len(headersOf(t, rep, cuda.OriginEmbedded)) != 0 {
		t.Errorf("builtin %v, embedded %v", got, headersOf(t, rep, cuda.OriginEmbedded))
	}
	text, _, _ := call(t, args...)
	if note := filepath.Join(dir, "simulated_fp8.cuh") +
		" is your own file, and was read"; !strings.Contains(text, note) ||
		!strings.Contains(strings.Join(rep.Build.Notes, "\n"), note) {
		t.Errorf("no line %q in %s", note, text)
	}
	before := rep.Build.Headers
	put(t, filepath.Join(dir, "macros.h"), "#define MACROS 2\n")
	if rep, code, _ = runJSON(t, args...); code != 0 || slices.Equal(rep.Build.Headers, before) {
		t.Errorf("exit %d: an edited header has the old digest", code)
	}
	put(t, filepath.Join(dir, "macros.h"), "#define MACROS 10\n")
	if rep, code, _ = runJSON(t, args...); code != 4 || !strings.Contains(rep.Error.Message, "unread.h") {
		t.Errorf("exit %d, %+v: an edited header did not lead to a new build", code, rep.Error)
	}
	put(t, filepath.Join(dir, "macros.h"), "\n")
	put(t, filepath.Join(dir, "simulated_fp8.cuh"), "#error mine\n")
	if rep, code, _ = runJSON(t, args...); code != 4 || !strings.Contains(rep.Error.Message, "mine") {
		t.Errorf("exit %d, %+v: the file beside the source was not read", code, rep.Error)
	}
	if err := os.Remove(filepath.Join(dir, "simulated_fp8.cuh")); err != nil {
		t.Fatal(err)
	}
	if rep, code, _ = runJSON(t, args...); code != 4 ||
		!strings.Contains(rep.Error.Message, "simulated_fp8.cuh") {
		t.Errorf("exit %d, %+v: an embedded header was handed to a kernel of one's own", code, rep.Error)
	}
}

// A wrong table in one's own header is what the run judges, and one's own stand-ins and probes win too.
func TestOwnHeadersOfOurNames(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	path := ownSource(t, func(src string) string { return "#include <cstdint>\n" + src })
	dir := filepath.Dir(path)
	wrong, err := kernels.Patched("faults/sdpa_fp8_stage_c_wmma/lut-order.patch")
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "wmma16x16_accum_lut.h"), wrong["wmma16x16_accum_lut.h"])
	put(t, filepath.Join(dir, "cstdint"),
		"typedef unsigned char uint8_t;\ntypedef unsigned int uint32_t;\ntypedef unsigned long long uint64_t;\n#define MINE 1\n")
	rep, code, errText := runJSON(t, append([]string{"run", path, "--set", "USE_FUSED_SOFTMAX"},
		stage2Sets...)...)
	if code != 1 || rep.Verdict != report.Diverge {
		t.Errorf("exit %d %s: %s", code, summary(rep), errText)
	}
	if got := headersOf(t, rep, cuda.OriginOwn); !slices.Contains(got, "cstdint") ||
		slices.Contains(headersOf(t, rep, cuda.OriginBuiltin), "cstdint") || len(rep.Build.Notes) < 2 {
		t.Errorf("own headers %v, notes %v", got, rep.Build.Notes)
	}
	put(t, filepath.Join(dir, "tilescope.cuh"), "#error my probes\n")
	if rep, code, _ = runJSON(t, append([]string{"run", path}, stage2Sets...)...); code != 4 ||
		!strings.Contains(rep.Error.Message, "my probes") {
		t.Errorf("exit %d, %+v: one's own tilescope.cuh was not read", code, rep.Error)
	}
}

// What an archived build says of its headers is what NVRTC says when it builds the same.
func TestEmbeddedHeaders(t *testing.T) {
	t.Parallel()
	needNVRTC(t)
	for _, args := range [][]string{{"stage2"}, {"stage3b", "--fault", "lut-order"}, {"flashcore_vec"}} {
		args = append(append([]string{"run"}, args...), "--shape", "small", "--backend", "emu")
		from := map[string][]report.Header{}
		for _, builder := range []string{"embedded", "nvrtc"} {
			rep, code, errText := runJSON(t, append(args, "--builder", builder)...)
			if code > 1 {
				t.Fatalf("exit %d: %s", code, errText)
			}
			from[builder] = rep.Build.Headers
		}
		if len(from["nvrtc"]) == 0 || !slices.Equal(from["embedded"], from["nvrtc"]) {
			t.Errorf("%v: the archive says %v, NVRTC %v", args, from["embedded"], from["nvrtc"])
		}
	}
}

// otherFolder is ownSource's kernel with a header in a folder of its own, named relative to
// the working directory.
func otherFolder(t *testing.T) (manifest string) {
	t.Helper()
	path := ownSource(t, func(src string) string {
		return strings.Replace(src, "#include \"cp_async.cuh\"",
			"#include <deep/more.h>\nstatic_assert(MORE == WANT && __cplusplus > 201703L);\n#include \"cp_async.cuh\"",
			1)
	})
	dir := filepath.Dir(path)
	put(t, filepath.Join(dir, "include", "deep", "more.h"), "#include \"next.h\"\n")
	put(t, filepath.Join(dir, "include", "deep", "next.h"), "#define MORE 3\n")
	t.Chdir(dir)
	return "own.yaml"
}

// TestCompilerOptions: -I, -D and --std reach the compiler, from the command line and from the manifest, for
// sources that are named relative to the working directory; a definition that the manifest decides about is
// refused.
func TestCompilerOptions(t *testing.T) {
	for _, builder := range []string{"nvrtc", "nvcc"} {
		t.Run(builder, func(t *testing.T) {
			if needNVRTC(t); builder == "nvcc" {
				if _, err := cuda.FindNVCC(t.Context(), cuda.Config{
					Path: os.Getenv("TILESCOPE_TOOLCHAIN"),
				}); err != nil {
					t.Skipf("no nvcc on this machine: %v", err)
				}
			}
			path := otherFolder(t)
			run := append([]string{"run", path, "--builder", builder}, stage2Sets...)
			if _, code, _ := runJSON(t, run...); code != 4 {
				t.Errorf("without options: exit %d", code)
			}
			options := []string{"-I", "include", "-D", "WANT=3", "--std", "c++20"}
			rep, code, errText := runJSON(t, append(run, options...)...)
			if got := headersOf(t, rep, cuda.OriginOwn); code != 0 || !slices.Contains(got, "more.h") ||
				!slices.Contains(got, "next.h") || rep.Backend.Builder != builder {
				t.Fatalf("exit %d, headers %v: %s", code, got, errText)
			}
			if _, code, _ := runJSON(t, append(append(run, options...), "-D", "WANT=4")...); code != 2 {
				t.Errorf("two values of one symbol: exit %d", code)
			}
			for _, bad := range [][]string{
				{"-D", "USE_CP_ASYNC=1"}, {"-D", "FAULT_SOFTMAX_RACE"}, {"-D", "DEBUG_QK_ONLY"},
				{"-D", "TS_PROBES=0"}, {"-D", "1X"}, {"-I", "nowhere"}, {"--std", "f77"},
			} {
				if _, errText, code := call(t, append(run, bad...)...); code != 2 ||
					!strings.Contains(errText, bad[0]) {
					t.Errorf("%v: exit %d: %s", bad, code, errText)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put(t, path, strings.Replace(string(text), "\nentry:",
				"\ninclude: [include]\ndefines: {WANT: 3}\nstd: c++20\nentry:", 1))
			t.Chdir("include") // a manifest's directories are relative to the manifest
			if _, code, errText := runJSON(t, append([]string{"run", "../own.yaml", "--builder", builder},
				stage2Sets...)...); code != 0 {
				t.Errorf("by the manifest: exit %d: %s", code, errText)
			}
		})
	}
}

// A folder of the working directory does not lend its headers to a source that lies elsewhere.
func TestWorkingDirectoryIsNotSearched(t *testing.T) {
	needNVRTC(t)
	path := ownSource(t, func(src string) string { return src })
	cwd := t.TempDir()
	put(t, filepath.Join(cwd, "simulated_fp8.cuh"), "#error another folder's\n")
	t.Chdir(cwd)
	if _, code, errText := runJSON(t, append([]string{"run", path}, stage2Sets...)...); code != 0 {
		t.Errorf("exit %d: %s", code, errText)
	}
}

// init writes down what it compiled with, and its manifest builds.
func TestInitOptions(t *testing.T) {
	needNVRTC(t)
	otherFolder(t)
	if _, errText, code := call(t, "init", "sdpa_fp8_stage_c_wmma.cu", "--out", "include/made.yaml", "-I",
		"include", "-D", "WANT=3", "--std", "c++20"); code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	text, err := os.ReadFile("include/made.yaml")
	if err != nil ||
		!strings.Contains(string(text), "include: [\".\"]\ndefines: {WANT: \"3\"}\nstd: c++20\n") {
		t.Errorf("%v: %s", err, text)
	}
	rep, code, errText := runJSON(t, "run", "include/made.yaml", "--shape", "1,1,32,64", "--backend", "emu")
	if rep.Build.Compiler == "" || len(rep.Build.Headers) == 0 {
		t.Errorf("exit %d, %+v: %s", code, rep.Build, errText)
	}
}
