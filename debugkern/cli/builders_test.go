package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tilescope/debugkern/cuda"
	"tilescope/debugkern/report"
)

// bare is the program on a machine with nothing but what the test puts there: started from an empty folder,
// with no Python, no toolkit and no libraries but those of libs.
type bare struct {
	dir, libs string
	env       []string
}

func newBare(t *testing.T) *bare {
	t.Helper()
	for _, path := range []string{"/usr/local/cuda", "/usr/lib/wsl"} {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("%s cannot be hidden", path)
		}
	}
	b := &bare{dir: t.TempDir(), libs: t.TempDir()}
	b.env = []string{
		asProgram + "=1", "HOME=" + b.dir, "XDG_CACHE_HOME=" + b.dir, "XDG_CONFIG_HOME=" + b.dir,
		"PATH=" + b.dir, "LD_LIBRARY_PATH=" + b.libs,
		"TMPDIR=" + os.TempDir(),
	}
	return b
}

// library compiles a shared library of that name from C.
func (b *bare) library(t *testing.T, name, source string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("no gcc to make a library with: %v", err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", filepath.Join(b.libs, name), source).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func (b *bare) call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), exe, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// checks are doctor's, by name.
func (b *bare) checks(t *testing.T) map[string]report.DoctorCheck {
	t.Helper()
	out, errText, code := b.call(t, "doctor", "--json")
	var d report.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, errText)
	}
	found := map[string]report.DoctorCheck{}
	for _, c := range d.Checks {
		found[c.Name] = c
		if !c.OK && c.Detail == "" || !c.OK && c.Install == "" && c.Name != "terminal" {
			t.Errorf("%s: neither why not nor what to install: %+v", c.Name, c)
		}
	}
	return found
}

// has holds doctor to which parts there are.
func (b *bare) has(t *testing.T, want map[string]bool) {
	t.Helper()
	checks := b.checks(t)
	for name, ok := range want {
		if c, there := checks[name]; !there || c.OK != ok {
			t.Errorf("doctor: %s: %+v, want found: %v", name, c, ok)
		}
	}
}

func (b *bare) exits(t *testing.T, want int, says string, args ...string) {
	t.Helper()
	out, errText, code := b.call(t, args...)
	if code != want || !strings.Contains(out+errText, says) {
		t.Errorf("%s: exit %d, want %d with %q: %s%s", strings.Join(args, " "), code, want, says,
			out, errText)
	}
}

// TestNothingInstalled: no driver, no NVRTC, no NVML. What was not asked for by name falls back;
// what was is exit 3.
func TestNothingInstalled(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	b.has(t, map[string]bool{
		"emulator": true, "embedded PTX": true, "NVRTC": false, "headers": false, "ptxas": false,
		"driver": false, "NVML": false, "nvcc": false,
		"compute-sanitizer": false, "cache": true,
	})
	b.exits(t, 0, "prebuilt PTX", "run", "stage2", "--shape", "small")
	b.exits(t, 0, "emulator", "run", "stage2", "--shape", "small", "--backend", "auto", "--builder", "auto")
	b.exits(t, 3, "libcuda.so.1", "run", "stage2", "--shape", "small", "--backend", "cuda")
	b.exits(t, 3, "--backend emu", "run", "stage2", "--shape", "small", "--backend", "both")
	b.exits(t, 3, "no NVRTC found", "run", "stage2", "--shape", "small", "--builder", "nvrtc")
	b.exits(t, 3, "no nvcc found", "run", "stage2", "--shape", "small", "--builder", "nvcc")
	// a combination that is not in the archive needs a compiler
	b.exits(t, 3, "not in the embedded archive", "run", "stage2", "--shape", "validation", "--fault", "kt-ld",
		"--fault", "l-no-rescale")
	b.exits(t, 0, "", "kernels")
}

const fakeCUDA = "../cuda/testdata/fakecuda.c"

// TestDriverAlone: a driver, and neither NVRTC nor NVML.
func TestDriverAlone(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	b.library(t, "libcuda.so.1", fakeCUDA)
	b.has(t, map[string]bool{"driver": true, "GPU 0": true, "NVRTC": false, "NVML": false})
	b.exits(t, 0, "prebuilt PTX", "run", "stage2", "--shape", "small", "--backend", "emu")
	b.exits(t, 3, "no NVRTC found", "run", "stage2", "--shape", "small", "--builder", "nvrtc",
		"--backend", "cuda")
}

// TestBrokenDriver: a driver that does not start is told with the reason; auto goes on
// without, cuda does not.
func TestBrokenDriver(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	b.library(t, "libcuda.so.1", fakeCUDA)
	b.env = append(b.env, "FAKECUDA=cuInit=803")
	if c := b.checks(t)["driver"]; c.OK || !strings.Contains(c.Detail, "different versions") {
		t.Errorf("doctor: %+v", c)
	}
	b.exits(t, 0, "emulator", "run", "stage2", "--shape", "small")
	b.exits(t, 3, "different versions", "run", "stage2", "--shape", "small", "--backend", "cuda")
	b.env[len(b.env)-1] = "FAKECUDA=cuInit=abort"
	b.exits(t, 0, "emulator", "run", "stage2", "--shape", "small")
	b.exits(t, 3, "SIGABRT", "run", "stage2", "--shape", "small", "--backend", "cuda")
	b.env[len(b.env)-1] = "FAKECUDA_DEVICES=0"
	b.exits(t, 0, "emulator", "run", "stage2", "--shape", "small")
	b.exits(t, 3, "counts 0", "run", "stage2", "--shape", "small", "--backend", "cuda")
}

// TestNVMLAlone: telemetry is there, and nothing else of a GPU.
func TestNVMLAlone(t *testing.T) {
	t.Parallel()
	b := newBare(t)
	source := filepath.Join(t.TempDir(), "nvml.c")
	text := "#include <string.h>\nint nvmlInit_v2(void) { return 0; }\nint nvmlInitWithFlags(unsigned f) { return 0; }\nint nvmlShutdown(void) { return 0; }\n" +
		"int nvmlSystemGetDriverVersion(char* s, unsigned n) { strncpy(s, \"580.1\", n); return 0; }\nint nvmlSystemGetNVMLVersion(char* s, unsigned n) { strncpy(s, \"13.580.1\", n); return 0; }\n" +
		"const char* nvmlErrorString(int e) { return \"an error\"; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.library(t, "libnvidia-ml.so.1", source)
	checks := b.checks(t)
	if strings.Contains(checks["NVML"].Detail, "cgo") {
		t.Skip("this build has no NVML")
	}
	if c := checks["NVML"]; !c.OK || c.Version != "13.580.1" || checks["driver"].OK || checks["NVRTC"].OK {
		t.Errorf("NVML %+v, driver %+v", c, checks["driver"])
	}
	b.exits(t, 0, "emulator", "run", "stage2", "--shape", "small")
	b.exits(t, 3, "libcuda.so.1", "run", "stage2", "--shape", "small", "--backend", "cuda")
}

// TestNVRTCAlone: a compiler and no GPU. It builds what the archive has not; what it built is in the
// cache for the next run.
func TestNVRTCAlone(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	tc, err := cuda.FindToolchain(t.Context(), cuda.Config{Root: root})
	if err != nil {
		t.Skipf("no NVRTC on this machine: %v", err)
	}
	tc.Close()
	b := newBare(t)
	b.env = append(b.env, "TILESCOPE_TOOLCHAIN="+tc.NVRTC)
	args := []string{"run", "stage2", "--shape", "validation", "--fault", "kt-ld", "--fault", "l-no-rescale"}
	b.has(t, map[string]bool{"NVRTC": true, "headers": true, "driver": false})
	b.exits(t, 1, "built with NVRTC", args...)
	entries := func() []string {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(b.dir, "tilescope", "builds", "*.entry"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d entries in the cache, %v", len(files), err)
		}
		return files
	}
	before := entries()
	b.exits(t, 1, "built with NVRTC", args...)
	if after := entries(); !slices.Equal(after, before) {
		t.Errorf("the second run added to %v: %v", before, after)
	}
	if c := b.checks(t)["cache"]; !c.OK || !strings.Contains(c.Detail, "entries") ||
		!strings.HasSuffix(c.Path, "builds") {
		t.Errorf("doctor: %+v", c)
	}
	b.env = append(b.env, "TILESCOPE_CACHE_MAX=0")
	if c := b.checks(t)["cache"]; c.OK || c.Detail != "switched off" {
		t.Errorf("doctor: %+v", c)
	}
	// a place that cannot be written to is told once, and the run goes on
	b.env[len(b.env)-1] = "TILESCOPE_CACHE_DIR=/dev/null/below"
	_, errText, code := b.call(t, args...)
	if code != 1 || strings.Count(errText, "are not kept") != 1 {
		t.Errorf("exit %d: %s", code, errText)
	}
	if c := b.checks(t)["cache"]; c.OK || c.Install == "" {
		t.Errorf("doctor: %+v", c)
	}
}
