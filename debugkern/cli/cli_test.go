package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// call runs one command line in this process.
func call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = Main(context.Background(), Program{
		Version: "test", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut,
		OpenTerminal: func(context.Context, Terminal) error { return errors.New("the terminal was opened") },
	})
	return out.String(), errOut.String(), code
}

// TestCleanVariantsAgree runs every variant on the small shapes: exit 0 and no finding at all.
func TestCleanVariantsAgree(t *testing.T) {
	for _, target := range []string{"scalar", "stage1", "stage2"} {
		for _, shape := range []string{"small", "validation", "single16", "partial", "partial49"} {
			t.Run(target+" "+shape, func(t *testing.T) {
				t.Parallel()
				rep, code, errText := runJSON(t, "run", target, "--shape", shape, "--backend", "emu")
				if code != 0 || rep.Verdict != "agree" || len(rep.Findings) != 0 {
					t.Fatalf("exit %d %s: %s", code, summary(rep), errText)
				}
				if rep.Output == nil || rep.Output.MaxAbs > 0.04 || rep.Output.MeanAbs > 0.006 {
					t.Errorf("output %+v: over what quantising explains", rep.Output)
				}
				for _, st := range rep.Stages {
					if st.Verdict != "ok" || st.Local.Cells == 0 || st.Global.Cells == 0 {
						t.Errorf("stage %s: %s, %d cells", st.Name, st.Verdict, st.Local.Cells)
					}
				}
			})
		}
	}
}

// TestGatesIsolate plants a fault and looks at it through each gate: it shows under the gate that
// runs its stage only.
func TestGatesIsolate(t *testing.T) {
	for _, c := range []struct{ gate, fault, guilty string }{
		{"qk", "kt-ld", "S"}, {"qk", "u-no-rescale", ""}, {"softmax", "kt-ld", ""},
		{"softmax", "l-no-rescale", "l"}, {"softmax", "p-normalised", "P"}, {"pv", "k-scale-head", ""},
		{"pv", "l-no-rescale", ""}, {"pv", "v-midpoint", "V"}, {"pv", "u-no-rescale", "U"}, {"qk", "", ""},
		{"softmax", "", ""}, {"pv", "", ""},
	} {
		t.Run(c.gate+" "+c.fault, func(t *testing.T) {
			t.Parallel()
			args := []string{"run", "stage2", "--gate", c.gate, "--backend", "emu"}
			if c.fault != "" {
				args = append(args, "--fault", c.fault)
			}
			rep, code, errText := runJSON(t, args...)
			want := 0
			if c.guilty != "" {
				want = 1
			}
			if code != want || c.guilty != "" && (len(rep.Guilty) == 0 || rep.Guilty[0].Stage != c.guilty) {
				t.Errorf("exit %d, want %d; %s %s", code, want, summary(rep), errText)
			}
			if rep.Output != nil {
				t.Error("a gate has no output to judge")
			}
		})
	}
}

// TestUniformInjection feeds the uniform P: O must be the mean of V.
func TestUniformInjection(t *testing.T) {
	for _, shape := range []string{"validation", "partial49"} {
		rep, code, errText := runJSON(t, "run", "stage2", "--gate", "pv", "--inject", "uniform", "--shape",
			shape, "--backend", "emu")
		if code != 0 {
			t.Errorf("%s: exit %d %s: %s", shape, code, summary(rep), errText)
		}
	}
}

// TestBadInput gives each command something it must refuse, and looks for what the message must name.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	npz := file("broken.npz", "this is no archive")
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown target", []string{"run", "stage22"}, 2, "stage2"},
		{"a kernel's file", []string{"run", "testdata/reference/twice.ptx"}, 2,
			"`tilescope check testdata/reference/twice.ptx` checks a launch of it"},
		{"a kernel's file that is not there", []string{"run", "nosuch.cu"}, 2, "nosuch.cu: no such file"},
		{"its path", []string{"run", "./testdata/reference/twice.ptx"}, 2,
			"`tilescope init ./testdata/reference/twice.ptx` writes a manifest"},
		{"a kernel's file without its launch", []string{"diagnose", "testdata/reference/twice.ptx"}, 2,
			"--grid is missing; expected X[,Y[,Z]], and an --arg for each parameter of twice"},
		{"help on no command", []string{"help", "rnu"}, 2, "unknown command \"rnu\": did you mean run?"},
		{"help on no option", []string{"help", "config", "gte"}, 2, "unknown command \"config gte\""},
		{"a word for a number", []string{"compare", "stage1", "stage2", "--rtol", "abc"}, 2,
			"--rtol abc: expected a number ("},
		{"a fault of no target", []string{"sweep", "stage2", "--faults", "p-stale-m,p-stal", "--out",
			filepath.Join(dir, "sweep")}, 2, `--faults: no target has a fault "p-stal": did you mean`},
		{"no target", []string{"run"}, 2, "TARGET"},
		{"unknown flag", []string{"run", "stage2", "--set", "USE_WMMAPV"}, 2, "USE_WMMA_PV"},
		{"unknown option", []string{"run", "stage2", "--shap", "small"}, 2, "--shap"},
		{"unknown fault", []string{"run", "stage2", "--fault", "kt-rowmajr"}, 2, "kt-rowmajor"},
		{"unknown shape", []string{"run", "stage2", "--shape", "validaton"}, 2, "validation"},
		{"zero dimension", []string{"run", "stage2", "--shape", "1,8,0,64"}, 2, "S is 0"},
		{"terabytes", []string{"run", "stage2", "--shape", "1024,1024,1048576,64"}, 2,
			"the limit is 256 GiB"},
		{"D", []string{"run", "stage2", "--shape", "1,1,32,128"}, 2, "D = 64"},
		{"two gates", []string{"run", "stage2", "--gate", "qk", "--set", "DEBUG_PV_ONLY"}, 2,
			"cannot be combined"},
		{"unknown gate", []string{"run", "stage2", "--gate", "kq"}, 2, "softmax"},
		{"uniform without pv", []string{"run", "stage2", "--inject", "uniform"}, 2, "pv"},
		{
			"fault without its shape",
			[]string{"run", "stage2", "--fault", "mask-zero", "--shape", "validation"}, 2, "partial49",
		},
		{"broken npz", []string{"run", "stage2", "--inputs", npz}, 2, "broken.npz"},
		{"missing npz", []string{"run", "stage2", "--inputs", filepath.Join(dir, "none.npz")}, 2, "none.npz"},
		{"unwritable dump", []string{"run", "stage2", "--dump", filepath.Join(dir, "no", "such", "dir.npz")},
			2, "dir.npz"},
		{"unknown backend", []string{"run", "stage2", "--backend", "gpu"}, 2, "emu"},
		{"unknown builder", []string{"run", "stage2", "--builder", "gcc"}, 2, "nvrtc"},
		{"schedule", []string{"run", "stage2", "--schedule", "sideways"}, 2, "in-order"},
		{"resident", []string{"run", "stage2", "--resident", "-1"}, 2, "--resident -1"},
		{"blocks", []string{"run", "stage2", "--blocks", "9,0,0"}, 2, "0-3"},
		{"stage", []string{"run", "stage2", "--stages", "X"}, 2, "X"},
		{"diagnose without a target", []string{"diagnose"}, 2, "takes one TARGET"},
		{"no schedules", []string{"diagnose", "stage2", "--schedules", "0"}, 2, "--schedules 0"},
		{"schedules that are no number", []string{"diagnose", "stage2", "--schedules", "many"}, 2,
			"--schedules"},
		{"perturb on the emulator", []string{"diagnose", "stage2", "--backend", "emu", "--perturb"}, 2,
			"--perturb"},
		{"perturb without a GPU", []string{"diagnose", "stage2", "--perturb=3", "--device", "99"}, 3,
			"--perturb delays launches on a GPU"},
		{"a seed that is no number", []string{"run", "stage2", "--seed", "x"}, 2,
			"--seed x: expected a whole number"},
		{"tiles backwards", []string{"run", "stage2", "--tiles", "3-1"}, 2, "backwards"},
		{"negative perturb", []string{"diagnose", "stage2", "--perturb=-1"}, 2, "--perturb=-1"},
		{"unwritable SARIF", []string{"diagnose", "stage2", "--sarif", "/nowhere/at/all.sarif"}, 2,
			"--sarif /nowhere/at/all.sarif"},
		{"unwritable page", []string{"diagnose", "stage2", "--html", "/nowhere/at/all.html"}, 2,
			"cannot write in /nowhere/at: no such file"},
		{"two outputs in one file", []string{"diagnose", "stage2", "--sarif", "x", "--html", "x"}, 2,
			"different files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errText, code := call(t, c.args...)
			if code != c.code || !strings.Contains(errText, c.want) {
				t.Errorf("%v: exit %d, want %d naming %q; stderr: %s", c.args, code, c.code, c.want, errText)
			}
			if out != "" || strings.Contains(errText, "goroutine ") {
				t.Errorf("%v: nothing belongs on standard output, and no stack trace anywhere: %q %q", c.args,
					out, errText)
			}
		})
	}
}

// TestDocumentsAreJSON: every command that prints takes --json, and its standard output is one
// document with a schema.
func TestDocumentsAreJSON(t *testing.T) {
	for _, args := range [][]string{
		{"kernels"}, {"doctor"}, {"version"}, {"config", "show"}, {"config", "path"},
	} {
		out, errText, code := call(t, append(args, "--json")...)
		var doc map[string]any
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 {
			t.Errorf("%v: exit %d, %v: %s", args, code, err, errText)
			continue
		}
		if schema, _ := doc["schema"].(string); !strings.HasPrefix(schema, "tilescope."+args[0]+"/") {
			t.Errorf("%v: schema %q", args, schema)
		}
	}
}

// TestKernelsByName: kernels lists those that are named, by a variant too; an unknown name is refused.
func TestKernelsByName(t *testing.T) {
	out, errText, code := call(t, "kernels", "stage2", "layernorm")
	if code != 0 || !strings.HasPrefix(out, "layernorm: ") || strings.Contains(out, "gemm_wmma: ") ||
		!strings.Contains(out, "\nsdpa_fp8_stage_c_wmma: ") {
		t.Errorf("exit %d: %s%s", code, out, errText)
	}
	_, errText, code = call(t, "kernels", "layernrom")
	if code != 2 || !strings.Contains(errText, "layernorm") {
		t.Errorf("an unknown name: exit %d, %s", code, errText)
	}
}

// TestClosedPipe: a reader that goes away is exit 141, silently.
func TestClosedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	var errOut bytes.Buffer
	code := Main(context.Background(), Program{Args: []string{"kernels"}, Stdout: w, Stderr: &errOut})
	if code != 141 || errOut.Len() != 0 {
		t.Errorf("exit %d, stderr %q; want 141 and silence", code, errOut.String())
	}
}

// TestDebugPrint: what a kernel prints is in the document, with block, warp and lane.
func TestDebugPrint(t *testing.T) {
	rep, code, errText := runJSON(t, "run", "stage3b", "--shape", "small", "--set", "DEBUG_PRINT")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errText)
	}
	want := map[string]int{"m[0]": 1, "l[16]": 1, "U[24]": 1}
	for _, line := range rep.Printed {
		for what := range want {
			if strings.Contains(line, ": "+what+" = ") && strings.HasPrefix(line, "block (0,0,0) warp ") &&
				strings.Contains(line, " lane 0 kv 0") {
				want[what]--
			}
		}
	}
	for what, n := range want {
		if n != 0 {
			t.Errorf("%s printed %d times: %q", what, 1-n, rep.Printed)
		}
	}
	if rep, _, _ := runJSON(t, "run", "stage3b", "--shape", "small"); len(rep.Printed) != 0 {
		t.Errorf("without the flag it prints %q", rep.Printed)
	}
}

// TestLut: the exit codes and the document of the fragment maps. A file without any array is refused before
// a backend is started, which may not be there.
func TestLut(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.h")
	if err := os.WriteFile(none, []byte("int primes[4] = {2, 3, 5, 7};"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"lut", "../../kernels/wmma16x16_accum_lut.h"}, 0, `"ordered": true`},
		{
			[]string{
				"lut", "../../kernels/wmma16x16_accum_lut.h", "--patch",
				"../../kernels/faults/sdpa_fp8_stage_c_wmma/lut-order.patch",
			}, 1, `covers every cell, order wrong: sorted by row`,
		},
		{
			[]string{
				"lut", "../../kernels/wmma16x16_accum_lut.h", "--patch",
				"../../kernels/faults/sdpa_fp8_stage_c_wmma/lut-hole.patch",
			}, 1, `"covered": false`,
		},
		{[]string{"lut", "../../kernels/accum_lut.cu"}, 2, ""},
		{[]string{"lut", "../../kernels/wmma16x16_accum_lut.h", "--dtype", "f16"}, 0, `"ordered": true`},
		{[]string{"lut", "../../kernels/wmma16x16_accum_lut.h", "--kind", "a"}, 2, ""},
		{[]string{"lut", none, "--backend", "cuda"}, 2, ""},
		{[]string{"lut", "--kind", "b", "--layout", "col"}, 0, `"kind": "b"`},
		{[]string{"lut", "--kind", "c"}, 2, ""},
	} {
		out, errText, code := call(t, append(c.args, "--json")...)
		if code != c.code || !strings.Contains(out, c.want) || c.code == 2 && (out != "" || errText == "") {
			t.Errorf("%v: exit %d, want %d\n%s%s", c.args, code, c.code, out, errText)
		}
	}
}

// A range that leaves the first kv tile out is judged from the stages that were captured.
func TestTilesWithoutTheFirst(t *testing.T) {
	rep, code, errText := runJSON(t, "run", "stage2", "--shape", "partial49", "--tiles", "1",
		"--backend", "emu")
	if code != 0 || rep.Verdict != "agree" || rep.Stage("S").Local.Cells == 0 {
		t.Fatalf("exit %d %s: %s", code, summary(rep), errText)
	}
}
