package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tilescope/configs"
	"tilescope/configs/schema"
	"tilescope/debugkern/report"
)

const doubleIt = `import triton
import triton.language as tl


@triton.jit
def double_it(x, y, n, BLOCK: tl.constexpr):
    pass
`

// tritonFolder is a folder with a kernel, and a package that stands for Triton.
func tritonFolder(t *testing.T, kernel string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on PATH: init --triton cannot be tested")
	}
	dir := t.TempDir()
	fake, err := os.ReadFile(filepath.Join("testdata", "triton", "triton_fake.py"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"triton.py": string(fake), "k.py": kernel} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// doubled are the options of a launch of double_it.
func doubled(dir string, more ...string) []string {
	return append([]string{
		"init", "--triton", filepath.Join(dir, "k.py") + ":double_it", "--grid", "2", "--arg",
		"x=iota:f32[64]", "--arg", "y=unwritten:f32[64]", "--arg", "n=60", "--arg", "BLOCK=32", "--set",
		"num_warps=1",
	}, more...)
}

// TestInitTriton: of a kernel in Python come a bundle, which checks clean at the lines of the Python file,
// and a manifest of it.
func TestInitTriton(t *testing.T) {
	dir := tritonFolder(t, doubleIt)
	out, errText, code := call(t, doubled(dir, "--trust")...)
	if code != 0 || !strings.Contains(out, "double_it.yaml: entry double_it") ||
		strings.Contains(out, "compiling") {
		t.Fatalf("exit %d: %s%s", code, out, errText)
	}
	m, err := configs.LoadManifest(t.Context(), filepath.Join(dir, "double_it.yaml"))
	if err != nil || len(m.Args) != 4 || m.Args[0].Name != "x" || m.PTX != "double_it.tsl" {
		t.Errorf("%+v, %v", m, err)
	}
	var d report.Check
	code, errText = documentOf(t, &d, "check", filepath.Join(dir, "double_it.tsl"))
	if code != 0 || d.Verdict != report.Clean || *d.Outputs[1].Written != 60 {
		t.Errorf("exit %d: %+v: %s", code, d.Outputs, errText)
	}
	shown, _, _ := call(t, "show", filepath.Join(dir, "double_it.tsl"))
	for _, want := range []string{
		"made by triton (tilescope 0.1.0, triton 0.0.1)", "sources/k.py", "60:i32",
		"256    f32[64], before: all",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in:\n%s", want, shown)
		}
	}
	if _, errText, code := call(t, doubled(dir, "--trust")...); code != 2 ||
		!strings.Contains(errText, "not overwritten") {
		t.Errorf("a second time: exit %d: %s", code, errText)
	}
}

// TestInitTritonLaunchFails: of a kernel that the emulator does not execute the bundle is there, for a GPU,
// and the user is informed.
func TestInitTritonLaunchFails(t *testing.T) {
	dir := tritonFolder(t, doubleIt)
	path := filepath.Join(dir, "double_it.tsl")
	out, errText, code := call(t, doubled(dir, "--trust", "--arch", "sm_90")...)
	if code != 4 || out != "" ||
		!strings.Contains(errText, "tcgen05.fence::before_thread_sync is not modelled") ||
		!strings.Contains(errText, "note: the launch is in "+path) {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	if _, errText, code := call(t, "show", path); code != 0 {
		t.Errorf("show: exit %d: %s", code, errText)
	}
}

// TestInitTritonLeavesNothing: without its manifest there is no bundle either, so that the same command
// can be given again.
func TestInitTritonLeavesNothing(t *testing.T) {
	dir := tritonFolder(t, doubleIt)
	if err := os.Mkdir(filepath.Join(dir, schema.File), 0o755); err != nil {
		t.Fatal(err)
	}
	_, errText, code := call(t, doubled(dir, "--trust")...)
	if code != exitUsage || !strings.Contains(errText, schema.File+": is a directory") {
		t.Errorf("exit %d: %s", code, errText)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "double_it.*")); left != nil {
		t.Errorf("left %q", left)
	}
}

// TestInitTritonTrust: the file of a folder that is not trusted is not imported.
func TestInitTritonTrust(t *testing.T) {
	dir := tritonFolder(t, doubleIt+"open('imported', 'w')\n")
	t.Chdir(t.TempDir())
	_, errText, code := call(t, doubled(dir)...)
	if code != 3 || !strings.Contains(errText, "it is not trusted") ||
		!strings.Contains(errText, "tilescope trust "+dir) {
		t.Errorf("exit %d: %s", code, errText)
	}
	if _, err := os.Stat("imported"); err == nil {
		t.Error("the file was imported")
	}
}

// TestInitTritonRefusals: each is one error with its exit code, and neither file is left.
func TestInitTritonRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kernel string
		args   []string // in place of the usual ones, K for the file
		more   []string
		code   int
		want   string
	}{
		"no such kernel": {doubleIt, []string{"--triton", "K:triple_it", "--grid", "1"}, nil, 2,
			"no @triton.jit kernel triple_it (it has double_it)"},
		"no kernel at all": {"x = 1\n", nil, nil, 2, "(it has none)"},
		"another file": {doubleIt, []string{"--triton", "K.txt:double_it", "--grid", "1"}, nil, 2,
			"expected FILE.py:KERNEL"},
		"no file": {doubleIt, []string{"--triton", "none.py:f", "--grid", "1"}, nil,
			2, "none.py"},
		"a file that raises": {"import triton\n\nraise KeyError('a key')\n", nil, nil, 2,
			"KeyError: 'a key' (line 3)"},
		"a file that exits":   {"import sys\nsys.exit(7)\n", nil, nil, 2, "SystemExit: 7 (line 2)"},
		"a file that crashes": {"import os\nos.abort()\n", nil, nil, 4, "signal: aborted"},
		"broken syntax":       {"def f(:\n", nil, nil, 2, "SyntaxError"},
		"Triton refuses": {doubleIt, nil, []string{"--set", "num_warps=3"}, 4,
			"ValueError: num_warps must be a power of 2 at 3:5"},
		"an argument missing": {doubleIt, []string{"--triton", "K:double_it", "--grid", "1", "--arg", "x=1"},
			nil, 2, "no --arg for y; double_it has x, y, n, BLOCK"},
		"an argument too many": {doubleIt, nil, []string{"--arg", "z=1"}, 2, "has no such argument"},
		"twice":                {doubleIt, nil, []string{"--arg", "n=1"}, 2, "--arg n: given twice"},
		"a struct":             {doubleIt, nil, []string{"--arg", "s={0: 1:i32}"}, 2, "numbers and memory"},
		"no such file":         {doubleIt, nil, []string{"--arg", "w=none.npy"}, 2, "none.npy"},
		"no grid":              {doubleIt, []string{"--triton", "K:double_it"}, nil, 2, "--grid is missing"},
		"empty grid": {doubleIt, []string{"--triton", "K:double_it", "--grid", "0"}, nil, 2,
			"from 1 on"},
		"block":        {doubleIt, nil, []string{"--block", "32"}, 2, "--block: is for a file"},
		"definition":   {doubleIt, nil, []string{"-D", "X"}, 2, "for a .cu"},
		"option":       {doubleIt, nil, []string{"--set", "num_warps"}, 2, "expected OPTION=VALUE"},
		"architecture": {doubleIt, nil, []string{"--arch", "volta"}, 2, "--arch volta"},
		"a bundle as output": {doubleIt, nil, []string{"--out", "k.tsl"}, 2,
			"--out k.tsl: it names the manifest"},
		"a file too": {doubleIt, nil, []string{"k.ptx"}, 2, "takes one of them"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tritonFolder(t, c.kernel)
			args := doubled(dir, c.more...)
			if c.args != nil {
				args = append([]string{"init"}, c.args...)
				for i := range args {
					args[i] = strings.Replace(args[i], "K:", filepath.Join(dir, "k.py")+":", 1)
				}
			}
			out, errText, code := call(t, append(args, "--trust")...)
			if code != c.code || out != "" || !strings.Contains(errText, c.want) ||
				strings.Count(strings.TrimSpace(errText), "\n") > 0 {
				t.Errorf("exit %d, want %d and %q: %s%s", code, c.code, c.want, out, errText)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*_it.*")); left != nil {
				t.Errorf("it left %v", left)
			}
		})
	}
}

// TestInitTritonMissing: without Python, and with one that has no Triton, the exit code is that of a
// compiler that is not there.
func TestInitTritonMissing(t *testing.T) {
	dir := tritonFolder(t, doubleIt)
	if err := os.WriteFile(filepath.Join(dir, "triton.py"), []byte("raise ImportError('no Triton here')\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, errText, code := call(t, doubled(dir, "--trust")...); code != 3 ||
		!strings.Contains(errText, "Triton cannot be imported") ||
		!strings.Contains(errText, "pip install triton") {
		t.Errorf("exit %d: %s", code, errText)
	}
	t.Setenv("PATH", t.TempDir())
	if _, errText, code := call(t, doubled(dir, "--trust")...); code != 3 ||
		!strings.Contains(errText, "PATH has no python3") {
		t.Errorf("exit %d: %s", code, errText)
	}
}

// TestInitTritonEnds: a file that does not come to an end is ended with the command.
func TestInitTritonEnds(t *testing.T) {
	dir := tritonFolder(t, "import time\ntime.sleep(600)\n")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	var out, errOut strings.Builder
	code := Main(ctx, Program{
		Version: "test", Args: doubled(dir, "--trust"), Stdin: strings.NewReader(""), Stdout: &out,
		Stderr: &errOut,
	})
	if code == 0 || time.Since(start) > 30*time.Second {
		t.Errorf("exit %d after %v: %s", code, time.Since(start), errOut.String())
	}
}

// TestInitSeed: a seed without anything that is generated by it is refused.
func TestInitSeed(t *testing.T) {
	if _, errText, code := call(t, "init", "k.ptx", "--seed", "3"); code != 2 ||
		!strings.Contains(errText, "--seed is of generated arguments") {
		t.Errorf("exit %d: %s", code, errText)
	}
}
